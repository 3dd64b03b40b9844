"""Invalid runs: in these tests every run is one."""

import json

import pytest

from pytest_dlbench.judging import invalid

# Thresholds that no machine meets, so that runs are always invalid for the same reason.
SPOILED = {"SHORTEST_SECONDS": 0.0, "FOREIGN_CPUS": float("inf"), "SWAPPED_IN_BYTES": -1, "SWAPPED_FAULTS": -1}


@pytest.fixture
def spoiled(suite, monkeypatch):
    for name, threshold in SPOILED.items():
        monkeypatch.setattr(invalid, name, threshold)
    return suite


def test_are_repeated_and_reported_and_not_compared(spoiled):
    result = spoiled.run("--dlbench-runs=1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["numpy-softmax-digits-cpu *invalid", "*invalid, as were 2 repetitions; neither compared*"]
    )
    (journal,) = (spoiled.path / ".dlbench").glob("*.jsonl")
    # Three runs, the result, and the end of the session.
    assert len(journal.read_text().splitlines()) == 5


def test_fail_a_gate_and_a_save(spoiled):
    for asked in (["--dlbench-compare"], ["--dlbench-save", "--dlbench-reason=first", "--dlbench-runs=3"]):
        result = spoiled.run(*asked)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["invalid: training-numpy-softmax-digits-cpu-smoke"])
    assert not (spoiled.path / "baselines").exists()


def test_are_kept_and_marked_if_allowed(spoiled):
    spoiled.save("--dlbench-allow=invalid")
    result = spoiled.run("--dlbench-allow=invalid", "--dlbench-tolerance=step_time:400%")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*warning: *3 of 3 runs are invalid: memory was swapped: *"])


@pytest.mark.parametrize("mode", ["save", "baseline", "pairs"])
def test_that_are_kept_are_passed_nowhere(spoiled, mode):
    options = (
        "--dlbench-allow=invalid",
        "--dlbench-tolerance=step_time:400%",
        "--dlbench-tolerance=peak_rss:50%",
    )
    files = ("--junitxml=junit.xml", "--dlbench-json=found.json", "--dlbench-html=page.html")
    if mode == "save":
        result = spoiled.save(*options, *files)
    elif mode == "baseline":
        spoiled.save(*options)
        result = spoiled.run(*options, *files)
    else:
        spoiled.write(more={"same": "clocked"})
        result = spoiled.run(*options, *files, "--dlbench-ab=numpy,same")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*-softmax-digits-cpu * invalid"])
    assert result.outlines[-1].partition(";")[0] == "dlbench: 1 invalid"
    assert 'name="dlbench_outcome" value="invalid"' in (spoiled.path / "junit.xml").read_text()
    (case,) = json.loads((spoiled.path / "found.json").read_text())["cases"]
    assert case["result"]["outcome"] == "invalid"
    assert 'class="outcome passed"' not in (spoiled.path / "page.html").read_text()
