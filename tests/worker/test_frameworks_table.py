"""docs/frameworks.md says of each framework what is checked here: pins, threads, repeatability, precisions, devices."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Absent, Places
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import infer
from pytest_dlbench.running.messages import Built, Failed, Hello
from tests.worker.sessions import session
from tests.worker.test_builders_agree import CLASSES, OWN, PADDINGS, PRECISE, TRAINED, WITH_DROPOUT

DOCUMENT = Path(__file__).parents[2] / "docs" / "frameworks.md"
MIXED = {"bfloat16", "float16"}
SINGLE = replace(PRECISE, precision="float32")


def rows(heading: str) -> dict[str, dict[str, str]]:
    """The table below a heading, as {framework: {column: text}}."""
    lines = iter(DOCUMENT.read_text().split(f"## {heading}\n")[1].split("\n## ")[0].splitlines())
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    columns, _, *body = table
    return {row[0].strip("`"): dict(zip(columns[1:], row[1:], strict=True)) for row in body}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one fresh process with two threads answered."""

    hello: Hello
    double: Built | Failed
    gpu: Built | Failed
    losses: tuple[tuple[float, ...], ...]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare(synthetic(PADDINGS.input_shape, CLASSES), tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=TRAINED)
def name(request) -> str:
    place = Places().find(FRAMEWORKS[request.param])
    if isinstance(place, Absent):
        if request.param in os.environ.get("DLBENCH_REQUIRE_FRAMEWORKS", "").split(","):
            pytest.fail(f"DLBENCH_REQUIRE_FRAMEWORKS asks for it: {place.reason}")
        pytest.skip(place.reason)
    return request.param


@pytest.fixture(scope="module")
def seen(name, data, tmp_path_factory) -> list[Seen]:
    """Two fresh processes."""
    return [_see(name, data, tmp_path_factory.mktemp(name)) for _ in range(2)]


def _see(name, data, folder) -> Seen:
    threads = int(rows("Checked")[name]["threads"])
    with session(FRAMEWORKS[name], folder, threads=threads) as asked:
        hello = asked.hello(threads=threads)
        assert isinstance(hello, Hello), hello.message
        losses = []
        for model, recipe in ((PADDINGS, SINGLE), (WITH_DROPOUT, SINGLE), (WITH_DROPOUT, OWN)):
            asked.build(infer(model), recipe)
            losses.append(asked.train(data, recipe, 20).losses)
        double = asked.build(infer(WITH_DROPOUT), PRECISE)
        asked.hello(threads=threads, device="gpu")
        gpu = asked.build(infer(WITH_DROPOUT), SINGLE)
        asked.ask("close")
    return Seen(hello=hello, double=double, gpu=gpu, losses=tuple(losses))


def test_every_framework_has_a_row_in_each_table():
    assert list(rows("Checked")) == TRAINED
    assert list(rows("How")) == TRAINED


def test_frameworks_that_are_gone_are_told():
    gone = {name: framework.unsupported for name, framework in FRAMEWORKS.items() if framework.unsupported}
    assert {name: row["why"] for name, row in rows("Gone").items()} == gone


def test_environment_and_python_are_the_declared_ones():
    for name, row in rows("Checked").items():
        environment = FRAMEWORKS[name].environments[0]
        (pin,) = (pin for pin in environment.requirements if pin.startswith(f"{FRAMEWORKS[name].package}=="))
        assert (row["Python"], row["pin"]) == (environment.python, pin)


def test_threads_are_read_back_or_not(name, seen):
    threads = seen[0].hello.threads
    assert rows("Checked")[name]["read back"] == ("no" if threads is None else "yes")
    assert threads in (None, int(rows("Checked")[name]["threads"]))


def test_two_processes_train_alike_to_the_bit_or_not(name, seen):
    told = rows("Checked")[name]["repeatable"]
    assert told == ("yes" if seen[0].losses == seen[1].losses else "no")


def test_double_precision_is_there_or_not(name, seen):
    assert ("float64" in rows("Checked")[name]["precisions"]) == isinstance(seen[0].double, Built)


def test_mixed_precisions_are_those_that_the_builder_names(name):
    told = [precision for precision in rows("Checked")[name]["precisions"].split(", ") if precision in MIXED]
    # PyTorch 1.0 has the builder of PyTorch 2, which refuses them there.
    assert set(told) == (set() if name == "pytorch-1.0" else supports(FRAMEWORKS[name]) & MIXED)


def test_a_gpu_that_is_not_there_or_cannot_be_used_is_refused_and_never_replaced_by_the_cpu(name, seen):
    # From these processes the driver hides the cards that are here.
    assert rows("Checked")[name]["devices"] in ("cpu", "cpu, gpu")
    assert isinstance(seen[0].gpu, Failed)
    assert seen[0].gpu.kind == "unsupported"
