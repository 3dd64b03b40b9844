"""Checks what docs/ says of each framework: pins, threads, repeatability, precisions, devices, operators."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

import pytest

from pytest_dlbench.data import Prepared, synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import infer
from pytest_dlbench.running.messages import BrokenDown, Built, Counted, Failed, Hello, Profiled
from tests.worker.places import place_of
from tests.worker.sessions import Session, session
from tests.worker.test_builders_agree import CLASSES, OWN, PADDINGS, PRECISE, TRAINED, WITH_DROPOUT
from tests.worker.theano_compiler import ON_THEANO

DOCUMENTS = Path(__file__).parents[2] / "docs" / "reference"
MIXED = {"bfloat16", "float16"}
SINGLE = replace(PRECISE, precision="float32")
PROFILED_STEPS = 5


def rows(heading: str, document: str = "frameworks.md") -> dict[str, dict[str, str]]:
    """The table below a heading, as {framework: {column: text}}."""
    lines = iter((DOCUMENTS / document).read_text().split(f"## {heading}\n")[1].split("\n## ")[0].splitlines())
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    columns, _, *body = table
    return {row[0].strip("`"): dict(zip(columns[1:], row[1:], strict=True)) for row in body}


Losses = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The answers of a fresh process with two threads, and the training of another."""

    hello: Hello
    double: Built | Failed
    gpu: Built | Failed
    losses: Losses
    losses_again: Losses
    profiled: Profiled | Failed
    profiled_within_seconds: float
    broken_down: BrokenDown
    counted: Counted
    counted_again: Counted


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare(synthetic(PADDINGS.input_shape, CLASSES), tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=TRAINED)
def name(request) -> str:
    place_of(request.param, "table")
    return request.param


@pytest.fixture(scope="module")
def seen(name, data, tmp_path_factory) -> Seen:
    """Two fresh processes; the second one trains only."""
    threads = int(rows("Checked")[name]["threads"])
    with _greeted(name, threads, tmp_path_factory.mktemp(name)) as (asked, hello):
        losses = _losses(asked, data)
        counted = asked.ask("count")
        began = monotonic()
        profiled = asked.ask("profile", steps=PROFILED_STEPS)
        within = monotonic() - began
        broken_down = asked.ask("break_down", steps=20, rounds=1, checks=1)
        double = asked.build(infer(WITH_DROPOUT), PRECISE)
        asked.hello(threads=threads, device="gpu")
        gpu = asked.build(infer(WITH_DROPOUT), SINGLE)
        asked.ask("close")
    with _greeted(name, threads, tmp_path_factory.mktemp(name)) as (asked, _):
        again = _losses(asked, data)
        counted_again = asked.ask("count")
    trained = {"losses": losses, "losses_again": again, "profiled": profiled, "profiled_within_seconds": within}
    counts = {"counted": counted, "counted_again": counted_again, "broken_down": broken_down}
    return Seen(hello=hello, double=double, gpu=gpu, **trained, **counts)


@contextmanager
def _greeted(name: str, threads: int, folder: Path) -> Iterator[tuple[Session, Hello]]:
    # What Theano's modules compute does not depend on how they are optimised, and other tests compile them, too.
    is_optimised = name not in ON_THEANO
    with session(FRAMEWORKS[name], folder, threads=threads, is_optimised=is_optimised) as asked:
        hello = asked.hello(threads=threads)
        assert isinstance(hello, Hello), hello.message
        yield asked, hello


def _losses(asked: Session, data: Prepared) -> Losses:
    """Losses that depend on the framework's own weights and masks, and on the sums of convolutions and windows."""
    found = []
    for model, recipe in ((WITH_DROPOUT, OWN), (PADDINGS, SINGLE)):
        asked.build(infer(model), recipe)
        found.append(asked.train(data, recipe, 20).losses)
    return tuple(found)


def test_every_framework_has_a_row_in_each_table():
    assert list(rows("Checked")) == TRAINED
    assert list(rows("How each builder works")) == TRAINED
    assert list(rows("Profilers by framework", "profilers.md")) == TRAINED
    assert list(rows("Counts by framework", "profilers.md")) == TRAINED
    assert list(rows("Phases of a step by framework", "profilers.md")) == TRAINED


def test_frameworks_that_are_gone_are_listed():
    gone = {name: framework.unsupported for name, framework in FRAMEWORKS.items() if framework.unsupported}
    assert {name: row["why"] for name, row in rows("No longer installable").items()} == gone


def test_environment_and_python_are_the_declared_ones():
    for name, row in rows("Checked").items():
        environment = FRAMEWORKS[name].environments[0]
        (pin,) = (pin for pin in environment.requirements if pin.startswith(f"{FRAMEWORKS[name].package}=="))
        assert (row["Python"], row["pin"]) == (environment.python, pin)


def test_threads_are_read_back_or_not(name, seen):
    threads = seen.hello.threads
    assert rows("Checked")[name]["read back"] == ("no" if threads is None else "yes")
    assert threads in (None, int(rows("Checked")[name]["threads"]))


def test_two_processes_train_alike_to_the_bit_or_not(name, seen):
    documented = rows("Checked")[name]["repeatable"]
    assert documented == ("yes" if seen.losses == seen.losses_again else "no")


def test_double_precision_is_supported_or_not(name, seen):
    assert ("float64" in rows("Checked")[name]["precisions"]) == isinstance(seen.double, Built)


def test_mixed_precisions_are_those_that_the_builder_names(name):
    documented = [precision for precision in rows("Checked")[name]["precisions"].split(", ") if precision in MIXED]
    # PyTorch 1.0 has the builder of PyTorch 2, which refuses them there.
    assert set(documented) == (set() if name == "pytorch-1.0" else supports(FRAMEWORKS[name]) & MIXED)


def test_a_missing_or_unusable_gpu_is_refused_and_never_replaced_by_the_cpu(name, seen):
    # The driver hides this machine's GPUs from these processes.
    assert rows("Checked")[name]["devices"] in ("cpu", "cpu, gpu")
    assert isinstance(seen.gpu, Failed)
    assert seen.gpu.kind == "unsupported"


def test_a_profile_has_the_frameworks_own_operator_names_or_the_reason_why_there_is_none(name, seen):
    row = rows("Profilers by framework", "profilers.md")[name]
    if row["profiler"] == "none":
        assert isinstance(seen.profiled, Failed)
        assert seen.profiled.message == row["names"]
        return
    assert isinstance(seen.profiled, Profiled), seen.profiled.message
    operators = seen.profiled.operator_seconds
    for documented in (row["a convolution"], row["a product of matrices"]):
        assert any(documented.strip("`") in operator for operator in operators), (documented, list(operators))


def test_times_of_operators_are_positive_and_fit_into_the_profile_on_all_threads(name, seen):
    if isinstance(seen.profiled, Failed):
        assert rows("Profilers by framework", "profilers.md")[name]["profiler"] == "none"
        return
    seconds = seen.profiled.operator_seconds.values()
    assert min(seconds) > 0
    assert sum(seconds) * PROFILED_STEPS < int(rows("Checked")[name]["threads"]) * seen.profiled_within_seconds


def exact(counted):
    """All counts except instructions, which vary."""
    return {name: number for name, number in counted.counts.items() if name != "instructions"}


def test_counts_are_those_that_the_framework_is_documented_to_tell(name, seen):
    documented = rows("Counts by framework", "profilers.md")[name]["counts"]
    named = set() if documented == "none" else set(documented.split(", "))
    assert set(exact(seen.counted)) == named, seen.counted.absent
    # What is not known has a reason.
    assert "operations" in seen.counted.counts or seen.counted.absent["operations"]


def test_two_processes_have_the_same_counts(name, seen):
    assert exact(seen.counted) == exact(seen.counted_again)


def test_a_step_does_something_and_compiles_nothing_it_had_compiled(name, seen):
    counts = exact(seen.counted)
    assert all(counts[count] > 0 for count in ("operations", "allocated_bytes") if count in counts)
    assert counts.get("recompilations", 0) == counts.get("graph_breaks", 0) == 0


def test_steps_have_the_phases_that_are_documented_or_the_reason_why_they_have_none(name, seen):
    row, found = rows("Phases of a step by framework", "profilers.md")[name], seen.broken_down
    assert isinstance(found, BrokenDown), found.message
    if row["phases"] == "none":
        assert found.cause is not None
        assert found.what in row["how"]
        return
    assert sorted(found.phase_seconds) == sorted(row["phases"].split(", "))
    assert found.copy_seconds.keys() == found.phase_seconds.keys()
