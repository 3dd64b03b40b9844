"""Metrics of hooks are shown and judged by every reader, without the hooks: their facts are stored with the record."""

import json
from dataclasses import replace

import pytest

from pytest_dlbench import judging
from pytest_dlbench.cli.main import main
from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.records import MetricFacts
from pytest_dlbench.reporting.page.gathering import gather
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records

PLUG = Metric(
    name="plug_energy",
    unit="J",
    better="lower",
    kind="ratio",
    value=lambda run: run.hooked.get("plug_energy"),
    tolerance=0.05,
    label="plug",
    default_views=("table", "page", "side_by_side", "history"),
)
FACTS = judging.facts({**METRICS, PLUG.name: PLUG})


def recorded(folder, joules, metrics=FACTS):
    """A journal of one session of one case."""
    journal = Journal(folder, "s")
    for number, run in enumerate(records.runs()):
        hooked = {"plug_energy": joules + 0.01 * number}
        journal.append(Entry(run=replace(run, hooked=hooked), context=records.context()))
    figures = {**records.case_result().figures, "plug_energy": joules}
    verdicts = (records.verdict(metric="plug_energy", old=30.0, new=joules, change=joules / 30),)
    result = records.case_result(figures=figures, verdicts=verdicts)
    journal.append(Entry(result=result, recipe=records.RECIPE, metrics=metrics))
    return journal.path


@pytest.fixture
def journal(tmp_path):
    return recorded(tmp_path / "now", 36.0)


def test_the_facts_of_a_metric_are_all_that_is_needed_to_judge_it():
    restored = judging.described(FACTS)["plug_energy"]
    for field in Metric.__dataclass_fields__:
        if field not in ("value", "cell", "is_optional"):
            assert getattr(restored, field) == getattr(PLUG, field), field


def test_no_file_redefines_a_built_in_metric():
    accuracy = MetricFacts(name="accuracy", unit="J", better="lower", kind="ratio", run_sd=1.0, session_sd=1.0)
    assert judging.described([accuracy])["accuracy"] is METRICS["accuracy"]


def test_built_in_metrics_are_not_stored():
    assert [facts.name for facts in FACTS] == ["plug_energy"]


def test_compare_judges_it(tmp_path, journal, capsys):
    assert main(["compare", str(recorded(tmp_path / "before", 18.0)), str(journal)]) == 3
    assert "plug_energy      suspect      18.0 J → 36.0 J, ratio 1.999" in capsys.readouterr().out


def test_compare_takes_a_tolerance_for_it(tmp_path, journal, capsys):
    old = recorded(tmp_path / "before", 35.9)
    assert main(["compare", str(old), str(journal), "--tolerance", "plug_energy:30%"]) in (0, 3)
    assert "tolerance 30%" in capsys.readouterr().out


def test_compare_reads_older_records_without_the_facts(tmp_path, capsys):
    old, new = recorded(tmp_path / "before", 18.0, ()), recorded(tmp_path / "now", 36.0, ())
    assert main(["compare", str(old), str(new)]) == 3
    assert (
        "  plug_energy      not judged   18.0 → 36.0: its unit and direction are not stored" in capsys.readouterr().out
    )


def test_runs_show_has_its_unit(journal, capsys):
    assert main(["runs", "show", "pytorch", "--records", str(journal)]) == 0
    assert "36.0 J" in capsys.readouterr().out


def test_runs_show_has_its_value_without_the_facts(tmp_path, capsys):
    assert main(["runs", "show", "pytorch", "--records", str(recorded(tmp_path, 36.0, ()))]) == 0
    shown = capsys.readouterr().out
    assert "plug_energy" in shown
    assert "36.0" in shown


@pytest.mark.parametrize("command", [["runs", "table"], ["runs", "journal"]])
def test_tables_have_a_column_of_it(journal, capsys, command):
    assert main([*command, str(journal)]) == 0
    shown = capsys.readouterr().out
    assert "plug" in shown
    assert "36.0 J" in shown


def test_the_report_has_its_facts(journal):
    metric = gather([journal]).metrics["plug_energy"]
    assert (metric.unit, metric.better, metric.tolerance) == ("J", "lower", 0.05)


def test_a_document_keeps_its_facts(tmp_path, journal, capsys):
    assert main(["export", "json", str(journal), "-o", str(tmp_path / "session.json")]) == 0
    (case,) = json.loads((tmp_path / "session.json").read_text())["cases"]
    assert case["record"]["metrics"][0]["unit"] == "J"
    assert "36.0 J" in case["result"]["message"] or "plug_energy" in case["result"]["figures"]
    assert main(["compare", str(tmp_path / "session.json"), str(journal)]) == 3
    assert "plug_energy      inconclusive 36.0 J → 36.0 J" in capsys.readouterr().out


def test_the_history_shows_it_with_its_unit(tmp_path, journal, capsys):
    address = str(tmp_path / "history")
    assert main(["history", "--history", address, "--add", str(journal)]) == 0
    assert main(["history", "--history", address, records.case().id]) == 0
    shown = capsys.readouterr().out
    assert "plug_energy" in shown
    assert "36.0 J" in shown


def test_the_history_shows_a_metric_without_facts_by_its_name(tmp_path, capsys):
    address = str(tmp_path / "history")
    assert main(["history", "--history", address, "--add", str(recorded(tmp_path / "now", 36.0, ()))]) == 0
    assert main(["history", "--history", address, "*", "--json"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text[text.index("[\n") :])[0]["figures"]["plug_energy"] == pytest.approx(36.01)


def test_all_exports_take_it(journal, capsys):
    for name in ("csv", "bencher", "json", "pytest-benchmark", "github-action-benchmark", "mllog"):
        assert main(["export", name, str(journal)]) == 0
