"""Hostile text in records, baselines and workers, through everything that shows it."""

import json
from dataclasses import replace
from functools import partial
from io import StringIO

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import CaseOutcome, RunOutcome, SkippedCell
from pytest_dlbench.records.problems import DeviceBusy, Holder, OfWorkers, OtherFiles
from pytest_dlbench.records.reasons import (
    DamagedBaseline,
    Difference,
    Incomparable,
    Invalid,
    InvalidRun,
    InvalidRuns,
    NotProfiled,
    Saved,
    Survivors,
    Unavailable,
    Unfinished,
)
from pytest_dlbench.reporting import annotations, explain, foreign, junit, markdown, skips, tables, terminal
from pytest_dlbench.reporting.annotations import Failure
from pytest_dlbench.reporting.columns import Layout
from pytest_dlbench.reporting.exports import FORMATS
from pytest_dlbench.reporting.progress import Counted, Live
from pytest_dlbench.running import conditions
from pytest_dlbench.running.waits import Wait
from pytest_dlbench.sampling import noise
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.recorded import read
from tests.doubles import records, sessions
from tests.doubles.hostile import NAME, TEXT, acted_on

HOLDER = Holder(user=TEXT, pid=1, command=TEXT, since=1.8e9)
PROBLEMS = (
    DeviceBusy(device=TEXT, limit_seconds=1.0, holders=(HOLDER,)),
    OtherFiles(modules=(TEXT,), repository=TEXT, revision=TEXT),
    OfWorkers(ranks=(1,), workers=2, said=TEXT),
)
REASONS = (
    Saved(path=TEXT, session=1, why=TEXT),
    Incomparable(differences=(Difference(name=TEXT, baseline=TEXT, candidate=[TEXT]),), saved=TEXT),
    DamagedBaseline(path=TEXT, problem=TEXT),
    records.compared(why=TEXT, saved=TEXT, again=records.again(node=TEXT)),
    Unfinished(index=0, seed=1, outcome=RunOutcome.CRASHED, message=TEXT, log=(TEXT, TEXT)),
    *(Unfinished(index=0, seed=1, outcome=RunOutcome.FAILED, message="", problem=problem) for problem in PROBLEMS),
    Invalid(runs=(InvalidRun(index=0, seed=1, reasons=(TEXT,)),)),
    NotProfiled(problem=TEXT),
    Unavailable(problem=TEXT),
)
CAUTIONS = (InvalidRuns(invalid=1, runs=3, first=TEXT), Survivors(names=(TEXT,)))


def case(name="x"):
    return records.case(
        f"training-{TEXT}-{name}", framework=TEXT, model=TEXT, dataset=TEXT, scale=TEXT, settings={TEXT: TEXT}
    )


def result(outcome=CaseOutcome.CRASHED, **changes):
    hooked = {"step_time": 0.01, "throughput": 100.0, TEXT: 1.0}
    usual = {"outcome": outcome, "reasons": REASONS, "cautions": CAUTIONS, "figures": hooked}
    return records.case_result(case=case(), **usual, **changes)


def runs():
    versions, message = {"torch": TEXT, TEXT: TEXT}, {"message": TEXT, "log": (TEXT,)}
    return [
        replace(run, versions=versions, invalid=(TEXT,), hooked={TEXT: 1.0}, survivors=(TEXT,), **message)
        for run in records.runs()
    ]


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """A journal of two sides, with hostile text wherever a record has text."""
    monkeypatch.chdir(tmp_path)
    context = records.context(machine=records.machine(name=NAME, cpu_model=TEXT, gpus=(TEXT,)))
    given = {"case": case(), "reasons": REASONS, "cautions": CAUTIONS, "outcome": CaseOutcome.CRASHED}
    return sessions.write(tmp_path / ".dlbench", "a", runs(), context, **given)


@pytest.mark.parametrize("outcome", CaseOutcome)
def test_the_end_of_a_session(outcome):
    found = result(outcome)
    shown = [*terminal.notes([found]), *tables.tables([tables.Row(result=found, test=TEXT)], Layout())]
    shown += skips.lines([SkippedCell(id=TEXT, reason=TEXT)], is_listed=True)
    # As the plugin prints them.
    assert acted_on("\n".join(foreign.lines(shown))) == []


def test_a_cell_of_a_table_does_not_start_a_line():
    grid = terminal.grid("case", right=(TEXT,))
    grid.add_row(TEXT, TEXT)
    assert len(terminal.lines(grid)) == 2
    assert acted_on("\n".join(terminal.lines(grid))) == []


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: type(reason).__name__)
def test_the_text_of_a_failed_test(reason):
    assert acted_on(explain.message(replace(result(), reasons=(reason,)))) == []


def test_what_junit_gets():
    found = junit.properties(result())
    assert acted_on("\n".join(f"{name} {value}" for name, value in found)) == []


class Screen:
    """Where progress goes."""

    columns = 200

    def __init__(self, *, is_rewritable):
        self.is_rewritable, self.text = is_rewritable, StringIO()

    def write(self, text):
        self.text.write(text)


@pytest.mark.parametrize("is_rewritable", [True, False])
def test_the_progress_line(is_rewritable):
    screen = Screen(is_rewritable=is_rewritable)
    live = Live(screen, Counted(1))
    live.building(TEXT, TEXT)
    live.waiting(case(), Wait(device=TEXT, holders=(HOLDER,), seconds=60.0))
    live.run_started(case(), 0, 2, TEXT)
    live.phase_began(TEXT)
    live.run_finished(case(), records.unfinished(RunOutcome.CRASHED, TEXT), 0, 2, TEXT)
    live.case_finished(result())
    assert acted_on(screen.text.getvalue().replace("\r\x1b[2K", "")) == []


def test_an_annotation_is_one_command():
    command = annotations.annotation(Failure(path=TEXT, line=1, title=TEXT, message=TEXT))
    assert command.startswith("::error file=")
    assert acted_on(command.removeprefix("::error ")) == []


@pytest.mark.parametrize("outcome", CaseOutcome)
def test_the_summary_on_github(outcome):
    text = markdown.summary([result(outcome)], [SkippedCell(id=TEXT, reason=TEXT)], TEXT)
    assert acted_on(text) == []
    assert "<script" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("runs", "list"),
        ("runs", "show", "training"),
        ("runs", "table", ".dlbench"),
        ("runs", "journal", "JOURNAL"),
        ("compare", ".dlbench", ".dlbench"),
        ("baseline", "accept", ".dlbench", "--reason", TEXT),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_commands_that_show_records(journal, capsys, arguments, more):
    main([*(str(journal) if one == "JOURNAL" else one for one in arguments), *more])
    shown = capsys.readouterr()
    assert "forged" in shown.out + shown.err
    assert acted_on(shown.out) == acted_on(shown.err) == []
    if more:
        json.loads(shown.out)


def test_a_table_in_markdown_has_no_html_and_its_own_rows_only(journal, capsys):
    context = records.context(machine=records.machine(name=NAME, cpu_model=TEXT, gpus=(TEXT,)))
    sound = {"case": replace(case(), framework="sound"), "outcome": CaseOutcome.NO_BASELINE}
    sessions.write(journal.parent, "b", context=context, **sound)
    main(["runs", "table", ".dlbench"])
    lines = capsys.readouterr().out.splitlines()
    assert "<script" not in "".join(lines)
    assert sum(line.startswith("| ") for line in lines) == 3


@pytest.mark.parametrize(
    "arguments", [("list",), ("list", "*"), ("anchor", "--all", "--last"), ("prune", "--older-than=1")], ids=" ".join
)
def test_commands_that_show_baselines(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    session = replace(records.baseline_session(), reason=TEXT, commit=TEXT, accepted=(TEXT,))
    stored = replace(records.baseline(), case=records.case(framework=TEXT), sessions=(session,), anchor=session.id)
    BaselineStore(folder=tmp_path / "baselines").write(stored)
    main(["baseline", *arguments])
    shown = capsys.readouterr()
    assert shown.out
    assert acted_on(shown.out) == acted_on(shown.err) == []


def test_a_damaged_baseline_is_quoted_harmlessly(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "baselines" / "m" / "a.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"format": 1, TEXT: {TEXT: TEXT}, "case": {TEXT: 1}}))
    assert main(["baseline", "list"]) == 1
    assert acted_on(capsys.readouterr().err) == []


def test_a_history(journal, tmp_path, capsys):
    assert main(["history", "--add", str(journal)]) == 0
    main(["history"])
    main(["history", "*"])
    main(["history", "nothing"])
    shown = capsys.readouterr()
    assert "red" in shown.out
    assert acted_on(shown.out) == acted_on(shown.err) == []


def test_the_error_for_an_unknown_case(journal, capsys):
    assert main(["runs", "show", "unknown"]) == 2
    assert acted_on(capsys.readouterr().err) == []


def test_what_the_doctor_read(tmp_path, monkeypatch, capsys):
    file = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    monkeypatch.setattr(conditions, "findings", partial(noise.findings, tmp_path))
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "forged" in shown
    assert acted_on(shown) == []


@pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if row.is_text and name != "json"])
def test_exports(journal, name):
    text = FORMATS[name].write(read([journal]).cases).decode()
    assert acted_on(text.replace(":::MLLOG ", "")) == []
    if name not in ("csv", "mllog"):
        json.loads(text)


def test_our_own_document_keeps_every_sign(journal, tmp_path):
    path = tmp_path / "copy.json"
    path.write_bytes(FORMATS["json"].write(read([journal]).cases))
    assert read([path]).cases[0].record == read([journal]).cases[0].record


def test_a_formula_in_a_csv_file_is_text(tmp_path):
    path = sessions.write(tmp_path, "a", case=records.case(dataset="=HYPERLINK(1)"))
    assert ",'=HYPERLINK(1)," in FORMATS["csv"].write(read([path]).cases).decode()
