"""dlbench.measure in a repository: a program is a case like any other."""

import json
import sys

import pytest

from pytest_dlbench.storing import recorded

PROGRAM = """
import numpy as np
from rates import RATE

def build(run):
    draw = np.random.default_rng(run.seed)
    weights = np.zeros((8, run.parameters["classes"]))

    def step(number):
        values = draw.normal(size=(64, 8))
        error = values @ weights - values[:, : weights.shape[1]]
        weights[:] -= RATE * values.T @ error / 64
        return (error ** 2).mean()

    def evaluate():
        return {"accuracy": 0.9, "tokens": 500.0}

    return {"step": step, "evaluate": evaluate, "samples_per_step": 64}
"""
TEST = """
import pytest

@pytest.mark.dlbench(tolerance={"step_time": "900%", "peak_rss": "50%"})
def test_ours(dlbench):
    result = dlbench.measure("programs/ours.py", steps=60, classes=3)
    assert result.accuracy.mean == 0.9
"""
CASE = "program-current-programs.ours-cpu-classes3"


@pytest.fixture
def repository(suite, monkeypatch):
    """A repository with a program and its test."""
    # Python takes bytecode for that of a file with the same size, written in the same second: a session is shorter.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    suite.path.joinpath("programs").mkdir()
    suite.path.joinpath("programs", "ours.py").write_text(PROGRAM)
    suite.path.joinpath("programs", "rates.py").write_text("RATE = 0.1\n")
    suite.conftest = ""
    suite.pytester.makepyfile(test_suite=TEST)
    return suite


def case_of(suite):
    (case,) = recorded.read([max(suite.path.glob(".dlbench/*.jsonl"))]).cases
    return case


def test_is_measured_recorded_and_reported(repository):
    result = repository.run("--dlbench-allow=invalid", "--dlbench-json=told.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"{CASE} * 90.00 % *"])
    record = case_of(repository).record
    assert (record.program.source, record.program.function) == ("programs/ours.py", "build")
    assert (record.program.parameters, record.recipe) == ({"classes": 3}, {})
    assert record.runs[0].work is None
    assert record.runs[0].flop_utilisation is None
    told = json.loads((repository.path / "told.json").read_text())
    assert CASE in json.dumps(told)


def test_a_changed_file_is_printed_and_compared_with_the_baseline_anyway(repository):
    repository.save("--dlbench-allow=invalid")
    repository.path.joinpath("programs", "rates.py").write_text("RATE = 0.2\n")
    loss = PROGRAM.replace('"accuracy": 0.9', '"accuracy": 0.5')
    repository.path.joinpath("programs", "ours.py").write_text(loss)
    repository.pytester.makepyfile(test_suite=TEST.replace("== 0.9", "== 0.5"))
    result = repository.run("--dlbench-allow=invalid")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"regressed: {CASE}",
            "*accuracy *regressed *90.00 % → 50.00 %*",
            "what changed in between:",
            "*file programs/ours.py*",
            "*file programs/rates.py*",
        ]
    )


def test_both_sides_of_a_pair_run_it(repository):
    repository.conftest = (
        "from pytest_dlbench.environments import Framework\n"
        "def pytest_dlbench_frameworks():\n    return [Framework(name=name) for name in ('one', 'two')]\n"
    )
    repository.pytester.makepyfile(
        test_suite=TEST.replace("(dlbench)", "(dlbench, framework)").replace('ours.py"', 'ours.py", framework')
    )
    result = repository.run("--dlbench-ab=one,two", "--dlbench-allow=invalid")
    assert result.ret == 0, result.stdout.str()
    found = case_of(repository)
    assert found.result.pairing.old.framework == "one"
    assert found.old.program == found.record.program


def test_a_function_of_the_test_module_is_a_program(repository):
    repository.pytester.makepyfile(
        test_suite="def ours(run):\n    return {'step': lambda number: number + 1.0}\n"
        "def test_ours(dlbench):\n    dlbench.measure(ours, steps=20)\n"
    )
    result = repository.run("--dlbench-allow=invalid")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["program-current-test_suite.ours-cpu *"])


def test_the_mark_says_where_it_runs(repository):
    repository.pytester.makepyfile(test_suite=TEST.replace("(tolerance", f"(environment={sys.executable!r}, tolerance"))
    result = repository.run("--dlbench-allow=invalid")
    assert result.ret == 0
    assert case_of(repository).record.runs[0].versions["environment"] == sys.executable


def test_a_wrong_program_fails_its_test_with_its_own_frames(repository):
    repository.path.joinpath("programs", "rates.py").write_text("RATE = 1 / 0\n")
    result = repository.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"failed: {CASE}",
            "run 1 (seed 1): importing programs/ours.py: ZeroDivisionError: division by zero",
            "  programs/ours.py:3 in <module>",
            "  programs/rates.py:1 in <module>",
        ]
    )
    result.stdout.no_fnmatch_line("*dlworker*")


def test_metrics_of_hooks_read_what_it_reported_and_are_judged(repository):
    repository.conftest = (
        "from pytest_dlbench import Metric\n"
        "def pytest_dlbench_record():\n"
        "    return [Metric(name='tokens', unit='tokens', better='higher', kind='ratio', tolerance=0.05,\n"
        "                   value=lambda run: run.reported.values.get('tokens'))]\n"
    )
    repository.save("--dlbench-allow=invalid")
    repository.path.joinpath("programs", "ours.py").write_text(PROGRAM.replace("500.0", "100.0"))
    verdicts = {one.metric: one.outcome for one in (repository.run(), case_of(repository).result.verdicts)[1]}
    assert verdicts["tokens"] in ("regressed", "suspect")


def test_an_interrupted_session_goes_on_with_its_finished_runs(repository):
    repository.run("--dlbench-allow=invalid")
    (journal,) = repository.path.glob(".dlbench/*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))
    result = repository.run("--dlbench-resume", "--dlbench-allow=invalid")
    assert result.ret == 0
    assert len(case_of(repository).record.runs) == 3
    assert journal.read_bytes().startswith(b"".join(lines[:2]))


DECLARED = """
import pytest
from pytest_dlbench import Metric

TOKENS = Metric(name="tokens", unit="tokens", better="higher", tolerance=0.05)

@pytest.mark.dlbench(tolerance={"step_time": "900%", "peak_rss": "50%"}, metrics=[TOKENS])
def test_ours(dlbench):
    result = dlbench.measure("programs/ours.py", steps=60, classes=3)
    result.require(tokens=50)
"""


def test_a_metric_that_the_test_declares_is_shown_and_judged_against_the_baseline(repository):
    repository.pytester.makepyfile(test_suite=DECLARED)
    saved = repository.save("--dlbench-allow=invalid")
    saved.stdout.fnmatch_lines(["case * tokens *", f"{CASE} * 500 tokens *"])
    repository.path.joinpath("programs", "ours.py").write_text(PROGRAM.replace("500.0", "100.0"))
    result = repository.run("--dlbench-json=told.json")
    result.stdout.fnmatch_lines(["*tokens * 500 tokens → 100 tokens*"])
    verdicts = {one.metric: one for one in case_of(repository).result.verdicts}
    assert verdicts["tokens"].outcome in ("regressed", "suspect")
    assert verdicts["tokens"].tolerance == 0.05
    (case,) = json.loads((repository.path / "told.json").read_text())["cases"]
    assert [(one["name"], one["unit"], one["better"]) for one in case["record"]["metrics"]] == [
        ("tokens", "tokens", "higher")
    ]


def test_a_metric_that_the_test_declares_is_judged_in_pairs(repository):
    repository.pytester.makepyfile(test_suite=DECLARED.replace("classes=3", "classes=3, tokens=500"))
    text = PROGRAM.replace("500.0", 'float(run.parameters["tokens"])')
    repository.path.joinpath("programs", "ours.py").write_text(text)
    result = repository.run("--dlbench-ab=set:tokens=500,set:tokens=400", "--dlbench-allow=invalid,inconclusive")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*tokens *regressed *500 tokens → 400 tokens*"])


def test_the_command_line_overrides_the_tolerance_that_a_test_declares(repository):
    repository.pytester.makepyfile(test_suite=DECLARED)
    repository.save("--dlbench-allow=invalid")
    repository.path.joinpath("programs", "ours.py").write_text(PROGRAM.replace("500.0", "100.0"))
    repository.run("--dlbench-allow=invalid")
    verdicts = {one.metric: one for one in case_of(repository).result.verdicts}
    assert (verdicts["tokens"].tolerance, verdicts["tokens"].outcome in ("regressed", "suspect")) == (0.05, True)
    repository.run("--dlbench-tolerance=tokens:900%", "--dlbench-allow=invalid")
    verdicts = {one.metric: one for one in case_of(repository).result.verdicts}
    assert (verdicts["tokens"].tolerance, verdicts["tokens"].outcome in ("regressed", "suspect")) == (9.0, False)


def test_the_command_line_overrides_the_tolerance_of_a_declared_metric_in_pairs(repository):
    repository.pytester.makepyfile(test_suite=DECLARED.replace("classes=3", "classes=3, tokens=500"))
    text = PROGRAM.replace("500.0", 'float(run.parameters["tokens"])')
    repository.path.joinpath("programs", "ours.py").write_text(text)
    sides = "--dlbench-ab=set:tokens=500,set:tokens=460"
    repository.run(sides, "--dlbench-tolerance=tokens:20%", "--dlbench-allow=invalid,inconclusive")
    verdicts = {one.metric: one for one in case_of(repository).result.verdicts}
    assert (verdicts["tokens"].tolerance, verdicts["tokens"].outcome) == (0.2, "equivalent")


def test_a_tolerance_of_a_metric_that_no_test_declares_is_a_usage_error(repository):
    repository.pytester.makepyfile(test_suite=DECLARED)
    for given, message in (
        ("tokes:5%", "*unknown metric 'tokes'*"),
        ("tokens:5pp", "*tokens is judged in %*"),
        ("tokens", "*expected METRIC:AMOUNT*"),
    ):
        result = repository.run(f"--dlbench-tolerance={given}")
        assert result.ret == 4
        result.stderr.fnmatch_lines([message])


def test_a_declared_metric_is_shown_under_xdist(repository):
    repository.pytester.makepyfile(test_suite=DECLARED)
    result = repository.run("-n2", "--dlbench-allow=invalid")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["case * tokens *", f"{CASE} * 500 tokens *"])


def test_a_declared_metric_that_is_not_reported_fails_its_test(repository):
    repository.pytester.makepyfile(test_suite=DECLARED)
    repository.path.joinpath("programs", "ours.py").write_text(PROGRAM.replace(', "tokens": 500.0', ""))
    result = repository.run("--dlbench-allow=invalid")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*declares the metric 'tokens', which not every run of the program reported; *"])


def test_wrong_declarations_are_usage_errors(repository):
    for wrong, message in (
        ('metrics=["tokens"]', "*: expected metrics=[[]Metric(name=*"),
        ('metrics=[Metric(name="accuracy", unit="share", better="higher")]', "*there is a metric 'accuracy' already*"),
        ('metrics=[Metric(name="n", unit="n", better="higher", tolerance=50)]', "*expected a tolerance above 0 and*"),
    ):
        repository.pytester.makepyfile(test_suite=DECLARED.replace("metrics=[TOKENS]", wrong))
        result = repository.run()
        assert result.ret == 4
        result.stderr.fnmatch_lines([message])


def test_two_tests_give_one_metric_one_meaning_and_tolerances_of_their_own(repository):
    other = '\n@pytest.mark.dlbench(metrics=[Metric(name="tokens", unit="%s", better="higher", tolerance=0.1)])\n'
    more = other + "def test_theirs(dlbench):\n    pass\n"
    repository.pytester.makepyfile(test_suite=DECLARED + more % "tokens")
    assert repository.run("--collect-only").ret == 0
    repository.pytester.makepyfile(test_suite=DECLARED + more % "bytes")
    result = repository.run("--collect-only")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*declare different metrics named 'tokens'; give one of them another name"])


SEVERAL = """
import pytest

@pytest.mark.dlbench(tolerance={"step_time": "900%", "peak_rss": "50%"})
@pytest.mark.parametrize("classes", [2, 3])
def test_ours(dlbench, classes):
    dlbench.measure("programs/ours.py", steps=60, classes=classes)
"""


def test_the_plan_has_the_time_of_stored_runs_of_the_same_case_and_says_where_there_are_none(repository):
    repository.pytester.makepyfile(test_suite=SEVERAL)
    unknown = "* 60 * 3 * – *runs (how long is unknown: no run of it is stored)"
    result = repository.run("--dlbench-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"test_ours?2? {unknown}", f"test_ours?3? {unknown}"])
    result.stdout.fnmatch_lines(["total: 2 cases, 6 runs, ~0 s (2 of unknown length)"])
    repository.run("--dlbench-allow=invalid", "-k", "test_ours[2]")
    result = repository.run("--dlbench-plan")
    result.stdout.fnmatch_lines(["test_ours?2? * 60 * 3 * s  runs", f"test_ours?3? {unknown}"])
    result.stdout.fnmatch_lines(["total: 2 cases, 6 runs, ~* s (1 from the journals, 1 of unknown length)"])
    # Another number of steps is another length.
    repository.pytester.makepyfile(test_suite=SEVERAL.replace("steps=60", "steps=50"))
    result = repository.run("--dlbench-plan")
    result.stdout.fnmatch_lines(["*(2 of unknown length)"])


def test_the_plan_says_that_a_program_is_not_there(repository):
    repository.pytester.makepyfile(test_suite=TEST.replace("programs/ours.py", "programs/theirs.py"))
    repository.run("--dlbench-plan").stdout.fnmatch_lines(["test_ours * fails: dlbench.measure: there is no file *"])
