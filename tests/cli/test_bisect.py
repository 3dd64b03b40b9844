"""``dlbench bisect`` on real worker processes: a NumPy double in versions of its own."""

import json
import sys
from pathlib import Path

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import Calibration, Case
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.storing.journal import Entry, read_journal
from tests.doubles import versioned

CASE = "versioned-softmax-digits-cpu-smoke"
# The tolerance is so wide that few pairs decide.
USUAL = ("--tolerance", "40%", "--max-runs", "15", "--allow", "invalid", "-p", "tests.doubles.versioned")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bisect(tmp_path, monkeypatch, capsys, cache):
    """Bisect named versions; returns the exit status and the output."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    installed = versioned.install(tmp_path, sys.executable, {"v1": 1, "v2": 1, "v3": None, "v4": 3})

    def call(*versions, options=()):
        good, *among, bad = (installed[version] for version in versions)
        ends = ("--good", good, "--bad", bad, "--among", ",".join(among))
        return main(["bisect", "versioned", CASE, *ends, *USUAL, *options]), capsys.readouterr().out

    return call


def test_a_version_that_does_not_run_is_skipped_and_remains_a_suspect(bisect):
    status, out = bisect("v1", "v2", "v3", "v4")
    assert status == 3
    lines = [" ".join(line.split()) for line in out.replace(str(Path.cwd()), "").splitlines()]
    assert lines[1].startswith("/v2/bin/python good step_time equivalent")
    assert lines[2].startswith("/v3/bin/python skipped run 1 (seed 1)")
    assert lines[2].endswith("this version cannot be imported")
    assert lines[3].startswith("/v4/bin/python bad step_time regressed")
    assert lines[4] == "the first bad version: /v3/bin/python or /v4/bin/python; the last good one: /v2/bin/python"
    assert "versioned v2 → v4" in lines


def test_of_two_adjacent_versions_the_first_bad_one_is_exact(bisect):
    status, out = bisect("v2", "v4", options=("--json",))
    answer = json.loads(out)
    assert status == 0
    assert [row["answer"] for row in answer["asked"]] == ["good", "bad"]
    assert answer["first_bad"] == [answer["versions"][1]]
    assert "versioned v2 → v4" in answer["differences"]


def test_a_calibrated_spread_counts_in_a_bisection_as_in_pairs(bisect):
    options = ("--max-runs", "3")
    assert bisect("v2", "v4", options=options)[0] == 0
    (journal,) = Path(".dlbench").glob("*.jsonl")
    context = next(entry.context for entry in read_journal(journal) if isinstance(entry, Entry) and entry.context)
    case = Case(
        id=f"training-versioned-{CASE}",
        framework="versioned",
        model="versioned-softmax",
        dataset="digits",
        device="cpu",
        scale="smoke",
        threads=1,
    )
    CalibrationStore(folder=Path("baselines")).write(
        Calibration(
            case=case,
            context=context,
            versions={},
            date="",
            alpha=0.005,
            max_pairs=20,
            pairs=10,
            spreads={"step_time": 3.0},
            smallest={},
            verdicts=(),
            exchanged={},
            design="alternating",
        )
    )
    assert bisect("v2", "v4", options=options)[0] == 3


def test_the_search_ends_if_the_bad_version_is_not_worse(bisect):
    status, out = bisect("v1", "v3", "v2")
    assert status == 1
    assert "is not known to be worse than" in out
    assert "v3" not in out


def test_a_good_version_that_does_not_run_has_exit_status_2(bisect, capsys):
    assert bisect("v3", "v4")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pytorhc", CASE], "did you mean 'pytorch'"),
        (["versioned", "softmax"], "is not a case; expected MODEL-DATASET-DEVICE"),
        (["versioned", CASE], "no package is known for 'versioned'"),
        (["versioned", f"training-versioned-{CASE}"], "no package is known for 'versioned'"),
        (["versioned", f"versioned==2.9-{CASE}"], "no package is known for 'versioned'"),
        (["versioned", f"training-{CASE}"], "no package is known for 'versioned'"),
        (["versioned", CASE, "--scale", "smoke"], "no package is known for 'versioned'"),
        (["versioned", f"inference-versioned-{CASE}"], "name the TEST that measures it in place of its id"),
        (["versioned", f"big-batch-versioned-{CASE}"], "begins with 'big-batch-versioned', but a CASE is a training"),
        (["versioned", f"training-steady-{CASE}"], "is a case of steady, not of versioned"),
        (["versioned", f"steady-{CASE}"], "to search versions of versioned, name it without 'steady'"),
        (["versioned", CASE, "--scale", "full"], f"--scale full: '{CASE}' is of scale smoke; drop one of both"),
        (["pytorch", CASE, "--good", "2.14"], "the good version must be older than the bad one, got 2.14 and 2.13"),
        (["pytorch", CASE, "--good", "best"], "expected a version such as 2.9.0"),
        (["versioned", CASE, "--among", "", "--metric", "throughput"], "it has no default tolerance"),
        (["versioned", CASE, "--among", "", "--metric", "speed"], "unknown metric 'speed'"),
        (["versioned", CASE, "--among", "", "--tolerance", "5pp"], "step_time is judged in %"),
        (["versioned", CASE, "--among", "", "--set", "batch_size=2,4"], "this command has no axes"),
        (["versioned", CASE, "-p", "no_such_module"], "cannot be imported"),
    ],
)
def test_a_usage_error_is_refused_before_anything_runs(arguments, expected, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    usual = ["bisect", "-p", "tests.doubles.versioned", "--good", "2.9", "--bad", "2.13"]
    assert main([*usual, *arguments]) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
