"""Portable baselines in sessions with real workers: what a first session on another machine says."""

import json
import shutil
from xml.etree import ElementTree as ET

import pytest

from pytest_dlbench.cli.main import main

ALIKE = "portable: numpy-softmax-digits-cpu: parameters equivalent, first_loss equivalent, accuracy equivalent"


@pytest.fixture
def elsewhere(suite):
    """The suite on a machine that has no baseline of its own, with a portable one from another session."""
    suite.saved_earlier()
    portable = ["baseline", "portable", str(suite.path / ".dlbench"), "--all", "--reason=first"]
    assert main([*portable, "--baselines", str(suite.path / "kept")]) == 0
    for name in ("baselines", ".dlbench"):
        shutil.rmtree(suite.path / name)
    (suite.path / "baselines").mkdir()
    (suite.path / "kept" / "portable").rename(suite.path / "baselines" / "portable")
    return suite


def test_a_first_session_passes_and_says_what_is_alike_and_a_strict_gate_fails(elsewhere):
    result = elsewhere.run("--dlbench-json=session.json", "--junitxml=junit.xml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *no_baseline", "no_baseline: 1 × *", ALIKE])
    (case,) = json.loads((elsewhere.path / "session.json").read_text())["cases"]
    assert [reason["kind"] for reason in case["result"]["reasons"]] == ["portable", "no_baseline"]
    properties = {one.get("name"): one.get("value") for one in ET.parse(elsewhere.path / "junit.xml").iter("property")}
    assert properties["dlbench_accuracy_verdict"] == "equivalent"
    assert properties["dlbench_outcome"] == "no_baseline"
    assert elsewhere.run("--dlbench-compare").ret == 1


def test_lost_accuracy_fails_a_first_session(elsewhere):
    elsewhere.write(rate=1e-4)
    result = elsewhere.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*regressed: training-numpy-softmax-digits-cpu-smoke", "*accuracy * regressed *"])


def test_portable_baselines_next_to_the_tests_are_found_and_saving_ends_their_use(elsewhere):
    result = elsewhere.run("--dlbench-baselines=mine", "--dlbench-save", "--dlbench-reason=own")
    result.stdout.fnmatch_lines([ALIKE])
    assert ALIKE not in elsewhere.run("--dlbench-baselines=mine").outlines
