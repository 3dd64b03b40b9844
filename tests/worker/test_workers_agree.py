"""Two data-parallel workers of a framework have the losses of one: with its own exchange of gradients."""

import json
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL

import numpy as np
import psutil
import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.supports import has_workers
from pytest_dlbench.model import (
    SGD,
    Adam,
    AdamW,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Layer,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SequenceCrossEntropy,
    SoftmaxCrossEntropy,
)
from pytest_dlbench.planning.plan import RunSettings, synthetic_for
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Machine, Run, RunOutcome
from pytest_dlbench.records.problems import OfWorkers, WorkerDied, WorkersDiffer
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from tests.worker.places import place_of

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
# Keras would put what it builds on the first worker's device.
REFUSING = "keras-jax"
# The same builder, for a version whose DistributedDataParallel is for GPUs.
TOO_OLD = "pytorch-1.0"
PARALLEL = sorted({name for name, framework in FRAMEWORKS.items() if has_workers(framework)} - {TOO_OLD, REFUSING})
# The others meet in a file.
LISTENING = sorted({*PARALLEL} - {"chainer", "keras-torch", "pytorch", "pytorch-compile"})
# Of losses, relative. Rounding alone: the sum over a batch is that of two parts.
BOUNDS = {"float64": 1e-12, "float32": 1e-5}
# There Keras has no float64 at all.
SINGLE_ONLY = {"keras-torch"}
PRECISIONS = [
    (name, precision) for name in PARALLEL for precision in BOUNDS if name not in SINGLE_ONLY or "32" in precision
]
STEPS = 10
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=1, seed=3, timeout_seconds=300.0)
# Momentum and weight decay reveal a wrong optimiser, and gradients that are summed.
RECIPE = Recipe(batch_size=16, epochs=1, optimizer=SGD(0.02, momentum=0.9, weight_decay=1e-4))
MODEL = Model(
    name="cnn",
    family="cnn",
    input_shape=(1, 12, 12),
    layers=(Conv2D(8, 3), ReLU(), MaxPool(2), Flatten(), Dense(16), ReLU(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=RECIPE,
)

# Of sequences that end before their padding, whose labels are ignored there: not as many in one part of a batch as in
# another.
READER = Model(
    name="reader",
    family="rnn",
    input_shape=(6,),
    vocabulary=12,
    layers=(Embedding(12, 5, padding=0, limit=1.0), Dense(12)),
    head=SequenceCrossEntropy(classes=12, ignored=0),
    recipe=RECIPE,
)

# Far more bytes of gradients than of anything else that workers send.
WIDE = (Flatten(), Dense(512), ReLU(), Dense(512), ReLU(), Dense(10))


def train(
    framework: Framework,
    workers: int,
    precision: str = "float32",
    layers: Sequence[Layer] = MODEL.layers,
    recipe: Recipe = RECIPE,
    *,
    model: Model = MODEL,
    changes: tuple[Change, ...] = (),
) -> Run:
    settings = replace(SETTINGS, workers=workers, changes=changes)
    model = model if model is READER else replace(model, layers=tuple(layers))
    data = synthetic_for(model)
    prepare(data)
    recipe = replace(recipe, precision=precision)
    spec = settings.spec(framework, model, data, DEVICES["cpu"], recipe=recipe, steps=STEPS)
    return train_once(spec, 0)


def deviation(run: Run, other: Run) -> float:
    """The largest relative difference between the losses."""
    ours, theirs = (np.array(one.training.losses) for one in (run, other))
    assert len(ours) == len(theirs) == STEPS
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs)))


@pytest.mark.parametrize(("name", "precision"), PRECISIONS)
def test_two_workers_have_the_losses_of_one(name, precision):
    place_of(name, "workers")
    one, two = (train(FRAMEWORKS[name], workers, precision) for workers in (1, 2))
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert deviation(two, one) <= BOUNDS[precision]
    assert two.survivors == ()
    assert two.evaluation.loss == pytest.approx(one.evaluation.loss, rel=5 * BOUNDS[precision])


@pytest.mark.parametrize("name", PARALLEL)
def test_the_exchange_is_seen_on_the_loopback_interface_and_steps_without_it_were_taken(name):
    place_of(name, "workers")
    run = train(FRAMEWORKS[name], 2)
    values = sum(int(np.prod(shape)) for shape in run.parameters.values())
    # Each worker of two sends at least half of the gradient, in float32, and gets the other half.
    assert run.usage["train"].readings["loopback_bytes"] >= 4 * values * STEPS
    assert all(share.cpu_seconds > 0 for share in run.workers)
    assert len(run.exchange.alone_seconds) > 0


def test_an_exchange_in_16_bits_sends_fewer_bytes_and_changes_the_losses():
    place_of("pytorch", "workers")
    changes = ((), (Change(name="exchange", value="fp16"),))
    full, lossy = (train(FRAMEWORKS["pytorch"], 2, layers=WIDE, changes=change) for change in changes)
    assert full.outcome is lossy.outcome is RunOutcome.FINISHED, problems.of_run(full) + problems.of_run(lossy)
    sent, sent_lossy = (run.usage["train"].readings["loopback_bytes"] for run in (full, lossy))
    assert sent_lossy < 0.6 * sent
    assert 0 < deviation(lossy, full) < 0.1


@pytest.mark.parametrize("name", PARALLEL)
def test_labels_that_count_have_the_same_weight_on_all_workers(name):
    place_of(name, "workers")
    precision = "float32" if name in SINGLE_ONLY else "float64"
    one, two = (train(FRAMEWORKS[name], workers, precision, model=READER) for workers in (1, 2))
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert deviation(two, one) <= BOUNDS[precision]


def test_losses_reveal_labels_that_are_averaged_by_each_worker(monkeypatch):
    place_of("pytorch", "workers")
    one = train(FRAMEWORKS["pytorch"], 1, model=READER)
    monkeypatch.setattr("pytest_dlbench.running.training._weighed", lambda *_: {})
    assert deviation(train(FRAMEWORKS["pytorch"], 2, model=READER), one) > 30 * BOUNDS["float32"]


def test_servers_of_mxnet_that_update_the_weights_have_the_losses_of_one_worker():
    place_of("mxnet", "workers")
    adam = replace(RECIPE, optimizer=Adam(0.01))
    one, two = (
        train(FRAMEWORKS["mxnet"], workers, "float64", recipe=adam, changes=(Change(name="exchange", value="server"),))
        for workers in (1, 2)
    )
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert deviation(two, one) <= BOUNDS["float64"]
    assert two.evaluation.loss == pytest.approx(one.evaluation.loss, rel=5 * BOUNDS["float64"])


def test_servers_of_mxnet_get_fewer_bytes_in_two_bits_for_each_value():
    place_of("mxnet", "workers")
    changes = ((), (Change(name="exchange", value="2bit"),))
    full, lossy = (train(FRAMEWORKS["mxnet"], 2, layers=WIDE, changes=change) for change in changes)
    assert full.outcome is lossy.outcome is RunOutcome.FINISHED, problems.of_run(full) + problems.of_run(lossy)
    sent, sent_lossy = (run.usage["train"].readings["loopback_bytes"] for run in (full, lossy))
    # Sums come back in full: half of the bytes, and a sixteenth of the other half.
    assert sent_lossy < 0.6 * sent
    assert deviation(lossy, full) > 0
    assert lossy.training.losses[-1] < lossy.training.losses[0]
    refused = train(FRAMEWORKS["mxnet"], 2, "float64", changes=changes[1])
    assert refused.outcome is RunOutcome.UNSUPPORTED
    assert "compresses gradients in float32 only" in problems.of_run(refused)


def test_two_workers_crop_and_flip_images_as_one_does():
    place_of("pytorch", "workers")
    plain = replace(RECIPE, input="pipeline")
    augmented = replace(plain, crop_padding=1, flips=True)
    one, two = (train(FRAMEWORKS["pytorch"], workers, recipe=augmented) for workers in (1, 2))
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert deviation(two, one) <= BOUNDS["float32"]
    assert deviation(one, train(FRAMEWORKS["pytorch"], 1, recipe=plain)) > 100 * BOUNDS["float32"]


def faulty(name: str, fault: str) -> Run:
    """A run of two workers of a framework whose exchange has a fault."""
    variables = (*FRAMEWORKS[name].more_variables, ("FAULT", fault), ("OF", FRAMEWORKS[name].builder))
    return train(replace(FRAMEWORKS[name], builder="faulty_workers", folders=(BUILDERS,), more_variables=variables), 2)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *((name, "summed") for name in ("chainer", "jax", "mxnet", "pytorch")),
        *((name, "one part") for name in ("chainer", "jax", "keras-tensorflow", "keras-torch", "mxnet", "pytorch")),
        # Its first update only makes the weights equal, which they are.
        ("chainer", "broadcast"),
    ],
)
def test_losses_reveal_gradients_that_are_summed_or_not_used_and_workers_that_read_the_same_part(name, fault):
    place_of(name, "workers")
    run = faulty(name, fault)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert deviation(run, train(FRAMEWORKS[name], 1)) > 100 * BOUNDS["float32"], json.dumps(run.training.losses)


@pytest.mark.parametrize("name", ["chainer", "jax", "keras-tensorflow", "keras-torch", "mxnet", "pytorch"])
def test_weights_reveal_one_step_without_exchange(name):
    place_of(name, "workers")
    run = faulty(name, "unsynchronised")
    assert run.outcome is RunOutcome.FAILED
    assert run.problem == WorkersDiffer(aspect="weights", ranks=(2,), workers=2)


@pytest.mark.parametrize("name", PARALLEL)
def test_a_killed_worker_is_named_and_no_process_is_left(name):
    place_of(name, "workers")
    run = faulty(name, "dies")
    assert run.outcome is RunOutcome.CRASHED
    died = WorkerDied(request="train", cause="signal", number=SIGKILL)
    assert run.problem == OfWorkers(ranks=(2,), workers=2, problem=died)
    assert run.survivors == ()
    assert psutil.Process().children(recursive=True) == []


@pytest.mark.parametrize("name", LISTENING)
def test_a_port_that_is_taken_is_named(name, monkeypatch):
    place_of(name, "workers")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1]] * 2
        monkeypatch.setattr("pytest_dlbench.running.addresses.free_ports", lambda *_: ports)
        run = train(FRAMEWORKS[name], 2)
    assert run.outcome is RunOutcome.FAILED
    assert f"the workers cannot meet at port {ports[0]} of 127.0.0.1: Address already in use" in run.problem.said


@pytest.mark.parametrize("name", ["jax"])
def test_batch_norm_and_dropout_are_of_the_whole_batch(name):
    place_of(name, "workers")
    layers = (Conv2D(8, 3), BatchNorm(), ReLU(), Flatten(), Dropout(0.5), Dense(10))
    one, two = (train(FRAMEWORKS[name], workers, "float64", layers) for workers in (1, 2))
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert deviation(two, one) <= BOUNDS["float64"]


@pytest.mark.parametrize("name", ["keras-tensorflow", "keras-torch"])
def test_batch_norm_and_dropout_of_each_part_train_and_are_evaluated(name):
    place_of(name, "workers")
    layers = (Conv2D(8, 3), BatchNorm(), ReLU(), Flatten(), Dropout(0.5), Dense(10))
    run = train(FRAMEWORKS[name], 2, layers=layers)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert run.training.losses[-1] < run.training.losses[0]
    assert np.isfinite(run.evaluation.loss)
    assert run.survivors == ()


# Keras has optimisers of its own, which add the gradients up or are given their sum.
@pytest.mark.parametrize("optimizer", [Adam(0.01), AdamW(0.01, weight_decay=0.1)], ids=["adam", "adamw"])
@pytest.mark.parametrize("name", ["keras-tensorflow", "keras-torch"])
def test_two_workers_of_keras_have_the_losses_of_one_with_other_optimisers(name, optimizer):
    place_of(name, "workers")
    precision = "float32" if name in SINGLE_ONLY else "float64"
    one, two = (
        train(FRAMEWORKS[name], workers, precision, recipe=replace(RECIPE, optimizer=optimizer)) for workers in (1, 2)
    )
    assert deviation(two, one) <= BOUNDS[precision], json.dumps([one.training.losses, two.training.losses])


@pytest.mark.parametrize("name", [TOO_OLD])
def test_a_version_whose_workers_need_gpus_says_so(name):
    place_of(name, "workers")
    run = train(FRAMEWORKS[name], 2)
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert "DistributedDataParallel of PyTorch 1.0.1 is for GPUs" in run.problem.said


@pytest.mark.parametrize("name", [REFUSING])
def test_a_back_end_whose_workers_cannot_train_says_so(name):
    place_of(name, "workers")
    run = train(FRAMEWORKS[name], 2)
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert "on JAX that is another worker's" in run.problem.said


@pytest.mark.parametrize("name", ["keras-tensorflow"])
def test_clipping_before_the_exchange_is_refused(name):
    place_of(name, "workers")
    run = train(FRAMEWORKS[name], 2, recipe=replace(RECIPE, clip_norm=1.0))
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert "clips each one's gradients before it adds them up" in run.problem.said
