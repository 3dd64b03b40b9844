"""--dlbench-ab with a --dlbench-budget on real processes: tests take turns, and each is reported once.

How long steps take is staged, by model, so that it is known how many pairs a case needs.
"""

import json
from xml.etree import ElementTree as ET

import pytest

# The new side is so much worse, in logarithms. At 5 % three pairs do not decide the first two: a fourth one decides the
# second, of which one pair would have to take five times as long as one of the first to be put off.
STAGED = """
from dataclasses import replace
from math import exp
from types import MappingProxyType
from pytest_dlbench.judging import METRICS
from pytest_dlbench.plugin import hooks
WORSE = {"softmax": 0.045, "two-layers": 0.024, "three-layers": 0.0}

def staged(run):
    (worse,) = (amount for model, amount in WORSE.items() if f"-{model}-" in run.case)
    return exp(worse) if "-same-" in run.case else 1.0

found = {name: replace(METRICS[name], value=staged) for name in ("step_time", "step_time_median")}
# What is not staged is not judged.
found |= {name: replace(METRICS[name], tolerance=None) for name in ("accuracy", "peak_rss")}
hooks.KNOWN = replace(hooks.KNOWN, metrics=MappingProxyType({**METRICS, **found}))
"""
HARD, EASY, AT_ONCE = ("softmax", "two-layers", "three-layers")
USUAL = ("--dlbench-ab=numpy,same", "--dlbench-max-runs=8", "--dlbench-allow=invalid")
NOTED = """
import pytest

@pytest.fixture(scope="module", autouse=True)
def of_module():
    with open("fixtures.txt", "a") as file:
        file.write("module ")

@pytest.fixture(autouse=True)
def of_test():
    yield
    with open("fixtures.txt", "a") as file:
        file.write("test ")

def test_training(dlbench, framework, model, dataset, device, record_property):
    record_property("said", "once")
    dlbench.train(framework, model, dataset, device)
"""


@pytest.fixture
def staged(suite):
    def write(*models, **more):
        suite.write(builder="numpy_softmax", models=models, more={"same": "numpy_softmax"}, **more)
        conftest = suite.path / "conftest.py"
        conftest.write_text(conftest.read_text() + STAGED)
        return suite

    return write


def entries(suite):
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    return [json.loads(line) for line in journal.read_text().splitlines()]


def pairs(suite):
    """The model of each pair, in the order in which they were run."""
    cases = [entry["run"]["case"] for entry in entries(suite) if entry.get("run")]
    return [next(model for model in (EASY, AT_ONCE, HARD) if f"-{model}-" in case) for case in cases[::2]]


def outcomes(suite):
    results = [entry["result"] for entry in entries(suite) if entry.get("result")]
    return {result["case"]["model"]: result["outcome"] for result in results}


def test_the_case_that_is_decided_soonest_goes_on_and_each_test_is_reported_once(staged):
    suite = staged(HARD, EASY, test=NOTED)
    result = suite.run(*USUAL, "--dlbench-budget=1h", "--junitxml=all.xml", "-ojunit_family=xunit1", "-v")
    assert result.ret == 0
    assert pairs(suite) == [HARD] * 3 + [EASY] * 4 + [HARD] * 3
    assert outcomes(suite) == {EASY: "passed", HARD: "inconclusive"}
    result.assert_outcomes(passed=2)
    assert sum("PASSED" in line for line in result.outlines) == 2
    cases = list(ET.parse(suite.path / "all.xml").iter("testcase"))
    told = [[item.get("name") for item in case.iter("property")] for case in cases]
    assert [names.count("said") for names in told] == [names.count("dlbench_outcome") for names in told] == [1, 1]
    # Two turns of the one and one of the other; the module's fixtures outlive them.
    assert (suite.path / "fixtures.txt").read_text().split() == ["module", *["test"] * 3]


def test_what_has_no_time_left_is_inconclusive_and_says_so(staged):
    suite = staged(HARD, EASY)
    result = suite.run(*USUAL, "--dlbench-budget=0.001s", "--dlbench-compare")
    assert result.ret == 1
    result.assert_outcomes(failed=2)
    assert pairs(suite) == [HARD, EASY]
    spent = "  no time was left for more pairs: --dlbench-budget is spent"
    result.stdout.fnmatch_lines(["inconclusive: training-same-softmax-*", spent, "  step_time: too few pairs"])


FAILING = """
from pathlib import Path

def test_training(dlbench, framework, model, dataset, device):
    turns = Path("turns.txt")
    turns.open("a").write(model.name + " ")
    if turns.read_text().split().count(model.name) == 2:
        raise ValueError("of the body")
    dlbench.train(framework, model, dataset, device)
"""


def test_a_body_that_fails_in_a_later_turn_fails_once_and_stops_the_session(staged):
    suite = staged(EASY, HARD, test=FAILING)
    result = suite.run(*USUAL, "--dlbench-budget=1h", "-x")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *ValueError: of the body",
            "1 test was begun and not at an end when the session stopped; runs are in *.jsonl:",
            "  test_suite.py::test_training*softmax*",
        ]
    )
    assert pairs(suite) == [EASY] * 3 + [HARD] * 3


SEVERAL = """
def test_training(dlbench, framework, dataset, device):
    try:
        for model in ("three-layers", "two-layers"):
            assert dlbench.train(framework, model, dataset, device).verdict.case.model == model
    except Exception:
        raise SystemError("to be set aside is no exception that a body can catch") from None

def test_what_follows():
    pass
"""


def test_a_test_of_several_cases_goes_on_with_the_one_that_it_was_set_aside_in(staged):
    suite = staged(EASY, test=SEVERAL)
    result = suite.run(*USUAL, "--dlbench-budget=1h")
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert pairs(suite) == [AT_ONCE] * 3 + [EASY] * 4
    assert outcomes(suite) == {AT_ONCE: "passed", EASY: "passed"}


DISTRIBUTED = """
import os
from pathlib import Path

def test_training(dlbench, framework, model, dataset, device):
    turns = Path("turns.txt")
    turns.open("a").write("turn ")
    if {dies} and turns.read_text().count("turn") == 2:
        os._exit(1)
    dlbench.train(framework, model, dataset, device)

def test_plain():
    assert {passes}

def test_last():
    pass
"""


def test_a_worker_of_xdist_takes_turns_and_its_controller_sees_one_outcome_a_test(staged):
    suite = staged(HARD, test=DISTRIBUTED.format(dies=False, passes=True))
    flags = ("-n2", "--dlbench-budget=1h", "--dlbench-max-runs=4", "--dlbench-compare", "--junitxml=all.xml", "-v")
    result = suite.run(*USUAL, *flags)
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)
    # The test that was set aside has its second turn behind all others of its worker.
    assert (suite.path / "turns.txt").read_text() == "turn turn "
    found = [case for case in ET.parse(suite.path / "all.xml").iter("testcase") if HARD in case.get("name")]
    assert [[child.tag for child in case] for case in found] == [["properties", "failure"]]
    (failed,) = json.loads((suite.path / ".pytest_cache/v/cache/lastfailed").read_text())
    assert HARD in failed
    assert result.outlines[-1].startswith("dlbench: 1 inconclusive;")


def test_a_test_that_was_set_aside_in_a_worker_that_dies_fails(staged):
    suite = staged(HARD, test=DISTRIBUTED.format(dies=True, passes=True))
    result = suite.run(*USUAL, "-n1", "--dlbench-budget=1h")
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["crashed: the worker of pytest-xdist died after*", f"FAILED *{HARD}*"])


def test_a_failure_elsewhere_stops_the_turns_of_a_worker(staged):
    suite = staged(HARD, test=DISTRIBUTED.format(dies=True, passes=False))
    result = suite.run(*USUAL, "-n2", "--dlbench-budget=1h", "-x")
    assert result.ret in {1, 2}
    result.assert_outcomes(passed=1, failed=1)
    assert (suite.path / "turns.txt").read_text() == "turn "
    result.stdout.fnmatch_lines(["1 test was begun and not at an end when *:", f"  test_suite.py::*{HARD}*"])
