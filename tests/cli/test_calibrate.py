"""``dlbench calibrate`` on real worker processes of a NumPy double."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_dlbench.cli import calibrate
from pytest_dlbench.cli.main import main
from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import Calibration, Case, Machine, codec
from pytest_dlbench.records.reasons import NoDropout
from pytest_dlbench.storing import resuming
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.workflows import calibrate as workflow
from tests.doubles import records
from tests.storing.test_calibrations import FOUND

ROOT = Path(__file__).parents[2]
CASE = "-steady-versioned-softmax-digits-cpu-smoke"
USUAL = (
    "calibrate",
    *("--frameworks", "steady", "--models", "versioned-softmax", "--datasets", "digits", "--scale", "smoke"),
    *("--allow", "invalid", "-p", "tests.doubles.versioned"),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def here(tmp_path, monkeypatch, cache):
    """An empty folder to calibrate in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def test_a_calibration_is_stored_where_the_gate_reads_it(here, capsys):
    status = main([*USUAL, "--pairs", "5", "--max-runs", "3", "--json"])
    answer = json.loads(capsys.readouterr().out)
    # On a busy machine any status is possible except that of a usage error.
    assert status in (0, 1, 3)
    assert not answer["failed"]
    (found,) = (codec.convert(one, Calibration, "the answer") for one in answer["calibrations"])
    assert found.case.id == f"training{CASE}"
    assert {"step_time", "step_time_median", "accuracy", "peak_rss"} <= found.spreads.keys()
    assert found.spreads.keys() == found.smallest.keys()
    assert CalibrationStore(folder=here / "baselines").read(found.case, found.context.machine) == found
    names = ["10 % slower", "5 % slower", "2 % slower", "1 % slower", "half the learning rate", "dropout off"]
    assert [fault.name for fault in found.faults] == names
    assert found.faults[-1].not_planted == NoDropout(model="versioned-softmax")
    assert all(fault.pairs >= 3 or fault.not_planted for fault in found.faults)
    # Runs with a fault are no runs of the case.
    cases = {json.loads(line)["run"]["case"] for line in Path(answer["journal"]).read_text().splitlines()}
    names = ("calibration", "calibration_slower10", "calibration_half_rate")
    assert {f"{name}-training{CASE}" for name in names} <= cases


def test_a_framework_that_does_not_run_is_reported(here, capsys):
    assert main([*USUAL, "--frameworks", "chainer==7.7.0", "--pairs", "5"]) == 1
    assert "chainer==7.7.0-versioned-softmax-digits-cpu: " in capsys.readouterr().out


def test_ctrl_c_reports_what_was_measured_and_ends_within_30_seconds(here):
    # A shell that runs these tests in the background may make them ignore SIGINT.
    handler = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{handler}; from pytest_dlbench.cli.main import main; raise SystemExit(main())"
    command = [sys.executable, "-c", code, *USUAL]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Progress is printed as soon as a run has ended: the worker of the next run is active by then.
    line = process.stderr.readline()
    assert "pair 1 of" in line
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.startswith("journal: ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--pairs", "4"], "--pairs: expected 5 or more"),
        (["--pairs", "many"], "--pairs: expected a whole number"),
        (["--models", "nosuch"], "unknown model 'nosuch'"),
        (["--frameworks", "nosuch"], "unknown framework 'nosuch'"),
    ],
)
def test_a_usage_error_is_refused_before_anything_runs(arguments, expected, here, capsys):
    assert main([*USUAL, *arguments]) == 2
    assert expected in capsys.readouterr().err


def test_the_store_has_no_calibration_of_an_unknown_case(tmp_path):
    case = Case(id="x", framework="f", model="m", dataset="d", device="cpu", scale="smoke", threads=1)
    machine = Machine(name="here", cpu_model="", cores=1, memory_gib=1, os_family="linux")
    assert CalibrationStore(folder=tmp_path).read(case, machine) is None


def test_each_case_is_reported_by_the_tolerances_of_its_own_test(tmp_path, monkeypatch, capsys):
    def subject(name, tolerance):
        policy = SimpleNamespace(tolerances={"step_time": tolerance})
        storage = SimpleNamespace(baselines=tmp_path)
        settings = SimpleNamespace(metrics=METRICS, machine=records.machine())
        journal = SimpleNamespace(path=tmp_path / "journal")
        session = SimpleNamespace(policy=policy, storage=storage, settings=settings, journal=journal)
        return calibrate._Subject(name=name, session=session, spec=lambda: name)

    def attempt(_session, spec_of, _pairs, keep):
        keep(replace(FOUND, case=records.case(spec_of())))

    subjects = [subject("wide", 0.3), subject("narrow", 0.01)]
    monkeypatch.setattr(calibrate, "_of_matrix", lambda _: (subjects, SimpleNamespace(clear=lambda: None)))
    monkeypatch.setattr(workflow, "attempt", attempt)
    # Pairs support no tolerance below 3 %.
    assert main(["calibrate"]) == 3
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  step_time ")]
    assert [(line[4], "narrow" in line) for line in lines] == [("30%", False), ("1%", True)]


PROGRAMS = """
def build(run):
    def step(number):
        return float(sum(range(20_000))) / (number + 1)
    return {"step": step}

def main(run):
    for number in run.steps():
        run.report(loss=float(sum(range(20_000))) / (number + 1))
"""
TESTS = """
import pytest

@pytest.mark.dlbench(tolerance={"step_time": "30%"})
@pytest.mark.parametrize("function", ["build", "main"])
def test_ours(dlbench, function):
    dlbench.measure(f"ours.py::{function}", steps=30)
"""


@pytest.mark.parametrize("function", ["build", "main"])
def test_what_a_test_measures_is_calibrated_where_its_gate_reads_it(here, capsys, monkeypatch, function):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delitem(sys.modules, "test_programs_here", raising=False)
    here.joinpath("ours.py").write_text(PROGRAMS)
    here.joinpath("test_programs_here.py").write_text(TESTS)
    here.joinpath("pytest.ini").write_text("[pytest]\n")
    test = f"test_programs_here.py::test_ours[{function}]"
    status = main(["calibrate", test, "--pairs", "5", "--max-runs", "3", "--allow", "invalid", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert status in (0, 1, 3)
    assert not answer["failed"]
    (found,) = (codec.convert(one, Calibration, "the answer") for one in answer["calibrations"])
    assert found.case.id == "program-current-ours-cpu"
    assert "accuracy" not in found.spreads
    assert {"step_time", "peak_rss"} <= found.spreads.keys()
    assert CalibrationStore(folder=here / "baselines").read(found.case, found.context.machine) == found
    # Its journal is not that of an interrupted session of pytest.
    assert resuming.resume(Path(answer["journal"]).parent, resuming.NEWEST) is None
    # A program's learning is its own: no fault of it is planted.
    assert [fault.name for fault in found.faults] == [f"{share} % slower" for share in (10, 5, 2, 1)]
    assert found.faults[0].verdict.metric == "step_time"
