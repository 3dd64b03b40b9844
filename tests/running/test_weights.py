"""Weights from a file, in place of drawn ones."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.errors import ModelError
from pytest_dlbench.judging import read_all
from pytest_dlbench.model import SGD, BatchNorm, Conv2D, Dense, Flatten, Model, Recipe, ReLU, SoftmaxCrossEntropy, infer
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.planning.plan import RunSettings, with_weights
from pytest_dlbench.records import Machine, RunOutcome
from pytest_dlbench.records.problems import OtherOutputs
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from pytest_dlbench.running.weights import given_weights, read_weights
from pytest_dlbench.workflows.validity import Examiner
from tests.running.specs import BUILDERS, CLASSES, spec

NORMALISED = Model(
    name="normalised",
    family="cnn",
    input_shape=(2, 5, 5),
    layers=(Conv2D(3, 3), BatchNorm(epsilon=0.1), ReLU(), Flatten(), Dense(12)),
    head=SoftmaxCrossEntropy(classes=12),
    recipe=Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)),
)
NETWORK = infer(NORMALISED)
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="smoke", threads=1, seed=3, timeout_seconds=120.0)


def no_probe(threads, precision):
    """The machine's speed is not measured."""


def arrays(network=NETWORK, **changes):
    return {**initial_weights(network, seed=5), **changes}


@pytest.fixture
def written(tmp_path):
    def written(**found):
        path = tmp_path / "given.npz"
        np.savez(path, **{name: array for name, array in found.items() if array is not None})
        return given_weights(path)

    return written


def test_a_file_with_all_arrays_is_read_in_the_order_of_the_model(written):
    found = read_weights(NETWORK, written(**dict(reversed(arrays().items()))))
    assert list(found) == list(NETWORK.parameters)
    assert np.array_equal(found["conv1.weight"], arrays()["conv1.weight"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conv1.bias": None}, "do not fit normalised: it lacks conv1.bias\n  names and shapes: dlbench models"),
        ({"fc.weight": np.zeros(2)}, "the model has no fc.weight"),
        ({"conv1.weight": np.zeros((3, 3, 2, 3))}, "conv1.weight is 3×3×2×3 instead of 3×2×3×3"),
        ({"bn1.mean": np.zeros(3)}, "it lacks bn1.variance"),
        ({"bn1.mean": np.zeros(3), "bn1.variance": np.full(3, -1.0)}, "bn1.variance has negative values"),
        ({"conv1.bias": np.full(3, np.nan)}, "conv1.bias has values that are not finite"),
        ({"conv1.bias": np.zeros(3, dtype=int)}, "conv1.bias has the type int64"),
        (dict.fromkeys([*NETWORK.parameters][:5]), "it lacks conv1.weight, conv1.bias, bn1.scale and 2 more"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_names_of_its_arrays(written, changes, message):
    with pytest.raises(ModelError, match=message):
        read_weights(NETWORK, written(**arrays(**changes)))


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), (b"torch", "not an .npz file of arrays"), ("npy", "a single array")],
)
def test_a_file_of_another_kind_is_refused(tmp_path, content, message):
    path = tmp_path / "given.npz"
    if content == "npy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif content:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        read_weights(NETWORK, given_weights(path))


def applied(path, name, folder, **recipe):
    """A run of inference with the weights of a file."""
    data = synthetic(NORMALISED.input_shape, 12)
    asked = SETTINGS.spec(
        FRAMEWORKS[name],
        NORMALISED,
        data,
        DEVICES["cpu"],
        recipe=replace(NORMALISED.recipe, **recipe),
        purpose="inference",
        steps=2,
        weights=path,
    )
    return replace(asked, data=prepare(data, folder)), prepare(data, folder)


def expected(found, images):
    """What the network computes of images, in NumPy and float64."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(2, 3))
    convolved = np.einsum("nchwij,ocij->nohw", windows, found["conv1.weight"]) + found["conv1.bias"][:, None, None]
    mean, variance, scale, shift = (
        found[f"bn1.{name}"][:, None, None] for name in ("mean", "variance", "scale", "shift")
    )
    normalised = np.maximum(scale * (convolved - mean) / np.sqrt(variance + 0.1) + shift, 0)
    return normalised.reshape(len(images), -1) @ found["fc1.weight"] + found["fc1.bias"]


def test_frameworks_apply_given_weights_and_running_statistics_alike(tmp_path):
    generator, path = np.random.default_rng(2), tmp_path / "given.npz"
    found = arrays(**{"bn1.mean": generator.normal(size=3), "bn1.variance": generator.uniform(0.2, 3, size=3)})
    np.savez(path, **found)
    examiner, runs = Examiner(probe=no_probe), []
    for name in ("pytorch", "jax"):
        asked, data = applied(path, name, tmp_path)
        runs.append(examiner.examine(asked, train_once(asked, 0)))
        assert runs[-1].outcome is RunOutcome.FINISHED, problems.of_run(runs[-1])
    inputs, labels = (np.load(data.part(f"test_{part}")) for part in ("inputs", "labels"))
    logits = expected(found, inputs.astype(np.float64))
    for run in runs:
        assert run.evaluation.correct == (logits.argmax(axis=1) == labels).sum()
        assert run.evaluation.top5_correct == (np.argsort(logits)[:, -5:] == labels[:, None]).sum()
    assert [run.inference.reference for run in runs] == ["pytorch", "pytorch"]
    assert runs[0].inference.deviation == 0 < runs[1].inference.deviation < 1e-5
    shown = read_all(runs)
    assert len(shown["applied_accuracy"]) == len(shown["applied_top5_accuracy"]) == len(shown["output_deviation"]) == 2


def test_the_hash_of_the_file_is_part_of_the_case_and_of_its_context(written, tmp_path):
    given = written(**arrays())
    asked, _ = applied(given.path, "pytorch", tmp_path)
    assert asked.case.id.endswith(f"-weights_{given.digest[:8]}")
    assert asked.case.settings["weights"] == SETTINGS.context(asked).weights == given.digest


@pytest.fixture
def twice(tmp_path):
    """One run with drawn weights, and a function that examines it, with other outputs, as a second framework's."""
    planned = spec("numpy_softmax", tmp_path, purpose="inference")
    examiner = Examiner(probe=no_probe)
    first = examiner.examine(planned, train_once(planned, 0))
    assert first.outcome is RunOutcome.FINISHED, problems.of_run(first)

    def again(factor, examiner=examiner, **changes):
        other = replace(planned, framework=Framework(name="other", builder="numpy_softmax", folders=(BUILDERS,)))
        sketch = tuple(factor * value for value in first.inference.sketch)
        second = replace(first, inference=replace(first.inference, sketch=sketch, deviation=None))
        return examiner.examine(replace(other, **changes), second)

    return again


def test_outputs_that_differ_from_those_of_another_framework_fail_a_run(twice):
    run = twice(1.01)
    assert run.outcome is RunOutcome.FAILED
    assert isinstance(run.problem, OtherOutputs)
    assert "outputs differ by" in problems.of_run(run)
    assert "from those of numpy_softmax" in problems.of_run(run)


def test_outputs_are_compared_with_those_of_a_run_that_a_resumed_session_does_not_repeat(tmp_path, twice):
    planned = spec("numpy_softmax", tmp_path, purpose="inference")
    resumed = Examiner(probe=no_probe)
    resumed.remember(planned, train_once(planned, 0))
    assert isinstance(twice(1.01, examiner=resumed).problem, OtherOutputs)


def test_outputs_within_rounding_are_equal_and_their_deviation_is_recorded(twice):
    run = twice(1 + 1e-6)
    assert run.outcome is RunOutcome.FINISHED
    assert 0 < run.inference.deviation < 1e-5


def test_given_weights_are_evaluated_only_where_the_labels_are_the_model_s(written, tmp_path):
    network = infer(spec("numpy_softmax", tmp_path).network.model)
    given = written(**arrays(network))
    planned = spec("numpy_softmax", tmp_path, purpose="inference")
    assert with_weights(planned, given.path).has_labels
    others = prepare(synthetic((1, 4, 5), CLASSES + 1), tmp_path)
    assert not with_weights(replace(planned, data=others), given.path).has_labels
