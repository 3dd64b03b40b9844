"""Two data-parallel workers of a framework have the losses of one: with its own exchange of gradients.

In the framework's highest precision they are workers of one run, as users have them. Other runs of a framework share
their workers (tests/worker/teams.py): most of such a run's time goes into starting, importing and meeting.
"""

import json
import socket
from dataclasses import replace
from functools import cache
from signal import SIGKILL

import numpy as np
import psutil
import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.environments.supports import has_workers, shared_operators
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
from pytest_dlbench.model.operators import AllReduce
from pytest_dlbench.planning.operators import operator_spec
from pytest_dlbench.planning.plan import RunSettings, synthetic_for
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Machine, Run, RunOutcome
from pytest_dlbench.records.problems import OfWorkers, WorkerDied, WorkersDiffer
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from tests.worker.places import own_core, place_of
from tests.worker.teams import Teams

# The same builder, for a version whose DistributedDataParallel is for GPUs.
TOO_OLD = "pytorch-1.0"
PARALLEL = sorted({name for name, framework in FRAMEWORKS.items() if has_workers(framework)} - {TOO_OLD})
# Those that sum arrays of all workers.
SUMMING = sorted(name for name in PARALLEL if "all_reduce" in shared_operators(FRAMEWORKS[name]))
CPU = DEVICES["cpu"]
# The others meet in a file.
LISTENING = sorted({*PARALLEL} - {"chainer", "keras-torch", "pytorch", "pytorch-compile"})
# Of losses, relative. Rounding alone: the sum over a batch is that of two parts.
BOUNDS = {"float64": 1e-12, "float32": 1e-5}
# There Keras has no float64 at all.
SINGLE_ONLY = {"keras-jax", "keras-torch"}
PRECISIONS = [
    (name, precision) for name in PARALLEL for precision in BOUNDS if name not in SINGLE_ONLY or "32" in precision
]
PRECISE = {name: "float32" if name in SINGLE_ONLY else "float64" for name in PARALLEL}
# One framework of each exchange.
SYNCHRONISED = ("chainer", "jax", "keras-jax", "keras-tensorflow", "keras-torch", "mxnet", "pytorch")
STEPS = 10
# Workers that are devices of one process.
IN_ONE_PROCESS = sorted(name for name, framework in FRAMEWORKS.items() if has_workers(framework, is_one_process=True))
# Other ways to the same losses, with the settings that choose them.
VARIANTS = [
    ("pytorch", {"exchange": "sharded"}),
    *((name, {"placement": "one_process"}) for name in IN_ONE_PROCESS),
    ("mxnet", {"placement": "one_process", "exchange": "device"}),
]
VARIANT_IDS = ["-".join((name, *settings.values())) for name, settings in VARIANTS]
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
# Which layers compute from the whole batch, or from the part of it that a worker has.
OF_THE_BATCH = (Conv2D(8, 3), BatchNorm(), ReLU(), Flatten(), Dropout(0.5), Dense(10))


def spec(
    name: str,
    workers: int,
    precision: str = "float32",
    *,
    layers: tuple[Layer, ...] = MODEL.layers,
    recipe: Recipe = RECIPE,
    model: Model = MODEL,
    exchange: str = "full",
    placement: str = "together",
) -> NetworkSpec:
    asked = {"exchange": (exchange, "full"), "placement": (placement, "together")}
    changes = tuple(Change(name=name, value=value) for name, (value, usual) in asked.items() if value != usual)
    settings = replace(SETTINGS, workers=workers, changes=changes)
    model = model if model is READER else replace(model, layers=layers)
    data = synthetic_for(model)
    prepare(data)
    recipe = replace(recipe, precision=precision)
    return settings.spec(FRAMEWORKS[name], model, data, DEVICES["cpu"], recipe=recipe, steps=STEPS)


@pytest.fixture(scope="module")
def fresh():
    """A run of two workers of its own, as users have them, in the framework's highest precision."""
    return cache(lambda name, **what: train_once(spec(name, 2, PRECISE[name], **what), 0))


@pytest.fixture(scope="module")
def earlier():
    """The processes that earlier tests of this process left: not those of a worker here."""
    return psutil.Process().children(recursive=True)


@pytest.fixture(scope="module")
def teams(earlier):
    """The workers of the last framework, which stay from run to run."""
    with Teams() as teams:
        yield teams
    assert teams.survivors == []


@pytest.fixture(scope="module")
def kept(teams):
    """A run by workers that stay, each asked for once; evaluated twice, which must be equal, unless it has a fault."""

    @cache
    def kept(name: str, workers: int, precision: str = "float32", *, fault: str = "none", **what) -> Run:
        evaluations = 2 if fault in ("none", "unsynchronised") else 0
        cores = own_core() if workers == 1 else frozenset()
        asked = replace(spec(name, workers, precision, **what), is_timed=False, evaluations=evaluations, cores=cores)
        return teams.run(asked, fault)

    return kept


def deviation(run: Run, other: Run) -> float:
    """The largest relative difference between the losses."""
    ours, theirs = (np.array(one.training.losses) for one in (run, other))
    assert len(ours) == len(theirs) == STEPS
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs)))


def require_alike(two: Run, one: Run, precision: str) -> None:
    """Both finish, with equal losses."""
    assert one.outcome is two.outcome is RunOutcome.FINISHED, problems.of_run(one) + problems.of_run(two)
    assert deviation(two, one) <= BOUNDS[precision], json.dumps([one.training.losses, two.training.losses])


@pytest.mark.parametrize(("name", "precision"), PRECISIONS)
def test_two_workers_have_the_losses_of_one(fresh, kept, name, precision):
    place_of(name, "workers")
    one = kept(name, 1, precision)
    two = fresh(name) if precision == PRECISE[name] else kept(name, 2, precision)
    require_alike(two, one, precision)
    assert two.survivors == ()
    assert two.evaluation.loss == pytest.approx(one.evaluation.loss, rel=5 * BOUNDS[precision])


@pytest.mark.parametrize("name", PARALLEL)
def test_the_exchange_is_seen_on_the_loopback_interface_and_steps_without_it_were_taken(fresh, name):
    place_of(name, "workers")
    run = fresh(name)
    values = sum(int(np.prod(shape)) for shape in run.parameters.values())
    # Each worker of two sends at least half of the gradient, and gets the other half.
    assert run.usage["train"].readings["loopback_bytes"] >= np.dtype(PRECISE[name]).itemsize * values * STEPS
    assert all(share.cpu_seconds > 0 for share in run.workers)
    assert len(run.exchange.alone_seconds) > 0


@pytest.mark.parametrize("name", SUMMING)
def test_two_workers_sum_their_arrays(name):
    place_of(name, "workers")
    operator = AllReduce(numbers=1001)
    run = train_once(operator_spec(replace(SETTINGS, scale="smoke", workers=2), operator, FRAMEWORKS[name], CPU), 0)
    # The sum of both workers is NumPy's, or the run failed.
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert run.operation.passes["forward"].bus_bytes == 4 * 1001
    assert run.survivors == ()


@pytest.mark.parametrize("name", ["pytorch"])
def test_an_exchange_in_16_bits_sends_fewer_bytes_and_changes_the_losses(kept, name):
    place_of(name, "workers")
    full, lossy = (kept(name, 2, layers=WIDE, exchange=exchange) for exchange in ("full", "fp16"))
    assert full.outcome is lossy.outcome is RunOutcome.FINISHED, problems.of_run(full) + problems.of_run(lossy)
    sent, sent_lossy = (run.usage["train"].readings["loopback_bytes"] for run in (full, lossy))
    assert sent_lossy < 0.6 * sent
    assert 0 < deviation(lossy, full) < 0.1


@pytest.mark.parametrize("name", PARALLEL)
def test_labels_that_count_have_the_same_weight_on_all_workers(kept, name):
    place_of(name, "workers")
    one, two = (kept(name, workers, PRECISE[name], model=READER) for workers in (1, 2))
    require_alike(two, one, PRECISE[name])


@pytest.mark.parametrize("name", ["pytorch"])
def test_losses_reveal_labels_that_are_averaged_by_each_worker(teams, kept, monkeypatch, name):
    place_of(name, "workers")
    one = kept(name, 1, PRECISE[name], model=READER)
    monkeypatch.setattr("pytest_dlbench.running.training._weighed", lambda *_: {})
    averaged = teams.run(spec(name, 2, PRECISE[name], model=READER))
    assert deviation(averaged, one) > 30 * BOUNDS["float32"]


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=VARIANT_IDS)
def test_variants_have_the_losses_of_one_worker_in_both_precisions(fresh, kept, name, settings):
    place_of(name, "workers")
    run = fresh(name, **settings)
    require_alike(run, kept(name, 1, PRECISE[name]), PRECISE[name])
    require_alike(kept(name, 2, **settings), kept(name, 1), "float32")
    assert run.evaluation.loss == pytest.approx(kept(name, 1, PRECISE[name]).evaluation.loss, rel=1e-5)
    assert len(run.exchange.alone_seconds) > 0
    assert len(run.workers) == (1 if "placement" in settings else 2)


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=VARIANT_IDS)
def test_labels_that_count_have_the_same_weight_in_variants(kept, name, settings):
    place_of(name, "workers")
    one, two = kept(name, 1, PRECISE[name], model=READER), kept(name, 2, PRECISE[name], model=READER, **settings)
    require_alike(two, one, PRECISE[name])


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=VARIANT_IDS)
def test_variants_clip_gradients_and_adapt_rates_as_one_worker_does(kept, name, settings):
    place_of(name, "workers")
    recipe = replace(RECIPE, optimizer=Adam(0.01), clip_norm=0.1)
    one, two = kept(name, 1, PRECISE[name], recipe=recipe), kept(name, 2, PRECISE[name], recipe=recipe, **settings)
    require_alike(two, one, PRECISE[name])


@pytest.mark.parametrize("fault", ["summed", "one part"])
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=VARIANT_IDS)
def test_losses_reveal_faults_of_variants(kept, name, settings, fault):
    place_of(name, "workers")
    run = kept(name, 2, fault=fault, **settings)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert deviation(run, kept(name, 1)) > 100 * BOUNDS["float32"], json.dumps(run.training.losses)


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=VARIANT_IDS)
def test_one_step_without_exchange_is_revealed_in_variants(kept, name, settings):
    place_of(name, "workers")
    run = kept(name, 2, fault="unsynchronised", **settings)
    if settings == {"exchange": "sharded"}:
        # There is one copy of each weight, in parts: losses show what its gradients lack.
        assert deviation(run, kept(name, 1)) > 100 * BOUNDS["float32"], json.dumps(run.training.losses)
    else:
        assert run.problem == WorkersDiffer(aspect="weights", ranks=(2,), workers=2)


@pytest.mark.parametrize("name", ["mxnet"])
def test_servers_of_mxnet_that_update_the_weights_have_the_losses_of_one_worker(kept, name):
    place_of(name, "workers")
    adam = replace(RECIPE, optimizer=Adam(0.01))
    one, two = kept(name, 1, "float64", recipe=adam), kept(name, 2, "float64", recipe=adam, exchange="server")
    require_alike(two, one, "float64")
    assert two.evaluation.loss == pytest.approx(one.evaluation.loss, rel=5 * BOUNDS["float64"])


@pytest.mark.parametrize("name", ["mxnet"])
def test_servers_of_mxnet_get_fewer_bytes_in_two_bits_for_each_value(kept, name):
    place_of(name, "workers")
    full, lossy = (kept(name, 2, layers=WIDE, exchange=exchange) for exchange in ("full", "2bit"))
    assert full.outcome is lossy.outcome is RunOutcome.FINISHED, problems.of_run(full) + problems.of_run(lossy)
    sent, sent_lossy = (run.usage["train"].readings["loopback_bytes"] for run in (full, lossy))
    # Sums come back in full: half of the bytes, and a sixteenth of the other half.
    assert sent_lossy < 0.6 * sent
    assert deviation(lossy, full) > 0
    assert lossy.training.losses[-1] < lossy.training.losses[0]
    refused = kept(name, 2, "float64", exchange="2bit")
    assert refused.outcome is RunOutcome.UNSUPPORTED
    assert "compresses gradients in float32 only" in problems.of_run(refused)


@pytest.mark.parametrize("name", ["pytorch"])
def test_two_workers_crop_and_flip_images_as_one_does(kept, name):
    place_of(name, "workers")
    plain = replace(RECIPE, input="pipeline")
    augmented = replace(plain, crop_padding=1, flips=True)
    one, two = (kept(name, workers, recipe=augmented) for workers in (1, 2))
    require_alike(two, one, "float32")
    assert deviation(one, kept(name, 1, recipe=plain)) > 100 * BOUNDS["float32"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *((name, "summed") for name in ("chainer", "jax", "keras-jax", "mxnet", "pytorch", "tensorflow")),
        *((name, "one part") for name in SYNCHRONISED),
        # Its first update only makes the weights equal, which they are.
        ("chainer", "broadcast"),
    ],
)
def test_losses_reveal_gradients_that_are_summed_or_not_used_and_workers_that_read_the_same_part(kept, name, fault):
    place_of(name, "workers")
    run = kept(name, 2, fault=fault)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert deviation(run, kept(name, 1)) > 100 * BOUNDS["float32"], json.dumps(run.training.losses)


@pytest.mark.parametrize("name", SYNCHRONISED)
def test_weights_reveal_one_step_without_exchange(kept, name):
    place_of(name, "workers")
    run = kept(name, 2, fault="unsynchronised")
    assert run.outcome is RunOutcome.FAILED
    assert run.problem == WorkersDiffer(aspect="weights", ranks=(2,), workers=2)


@pytest.mark.parametrize("name", ["jax", "keras-jax"])
def test_batch_norm_and_dropout_are_of_the_whole_batch(kept, name):
    place_of(name, "workers")
    one, two = (kept(name, workers, PRECISE[name], layers=OF_THE_BATCH) for workers in (1, 2))
    require_alike(two, one, PRECISE[name])


@pytest.mark.parametrize("name", ["keras-tensorflow", "keras-torch"])
def test_batch_norm_and_dropout_of_each_part_train_and_are_evaluated(kept, name):
    place_of(name, "workers")
    run = kept(name, 2, layers=OF_THE_BATCH)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert run.training.losses[-1] < run.training.losses[0]
    assert np.isfinite(run.evaluation.loss)


# Keras has optimisers of its own, which add the gradients up or are given their sum.
@pytest.mark.parametrize("optimizer", [Adam(0.01), AdamW(0.01, weight_decay=0.1)], ids=["adam", "adamw"])
@pytest.mark.parametrize("name", ["keras-jax", "keras-tensorflow", "keras-torch"])
def test_two_workers_of_keras_have_the_losses_of_one_with_other_optimisers(kept, name, optimizer):
    place_of(name, "workers")
    recipe = replace(RECIPE, optimizer=optimizer)
    one, two = (kept(name, workers, PRECISE[name], recipe=recipe) for workers in (1, 2))
    require_alike(two, one, PRECISE[name])


@pytest.mark.parametrize("name", [TOO_OLD])
def test_a_version_whose_workers_need_gpus_says_so(name):
    place_of(name, "workers")
    run = train_once(spec(name, 2), 0)
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert "DistributedDataParallel of PyTorch 1.0.1 is for GPUs" in run.problem.said


@pytest.mark.parametrize("name", ["keras-tensorflow"])
def test_clipping_before_the_exchange_is_refused(kept, name):
    place_of(name, "workers")
    run = kept(name, 2, recipe=replace(RECIPE, clip_norm=1.0))
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert "clips each one's gradients before it adds them up" in run.problem.said


# The first worker of the run; it reports this before it meets the other one.
@pytest.mark.parametrize("name", LISTENING)
def test_a_port_that_is_taken_is_named_by_the_worker(teams, kept, name):
    place_of(name, "workers")
    assert kept(name, 1).outcome is RunOutcome.FINISHED
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = teams.joined(port)
    assert answer["status"] == "failed"
    assert f"the workers cannot meet at port {port} of 127.0.0.1: Address already in use" in answer["message"]


@pytest.mark.parametrize("name", ["jax"])
def test_a_run_whose_port_is_taken_names_it(name, monkeypatch):
    place_of(name, "workers")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1]] * 2
        monkeypatch.setattr("pytest_dlbench.running.addresses.free_ports", lambda *_: ports)
        run = train_once(spec(name, 2), 0)
    assert run.outcome is RunOutcome.FAILED
    assert f"the workers cannot meet at port {ports[0]} of 127.0.0.1: Address already in use" in run.problem.said


# The last test: it ends the framework's workers.
@pytest.mark.parametrize("name", PARALLEL)
def test_a_killed_worker_is_named_and_no_process_is_left(earlier, teams, kept, name):
    place_of(name, "workers")
    run = kept(name, 2, fault="dies")
    assert run.outcome is RunOutcome.CRASHED
    died = WorkerDied(request="train", cause="signal", number=SIGKILL)
    assert run.problem == OfWorkers(ranks=(2,), workers=2, problem=died)
    teams.close()
    assert teams.survivors == []
    assert [left for left in psutil.Process().children(recursive=True) if left not in earlier] == []
