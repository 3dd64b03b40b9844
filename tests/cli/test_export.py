"""``dlbench export``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.reporting.exports import FORMATS
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records


@pytest.fixture
def journal(tmp_path):
    """A journal of one judged case."""
    journal = Journal(tmp_path / "journals")
    for run in records.runs():
        journal.append(Entry(run=run, context=records.context()))
    journal.append(Entry(result=records.case_result(), recipe=records.RECIPE))
    return journal.path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_to_a_file(name, journal, tmp_path, capsys):
    path = tmp_path / "out"
    assert main(["export", name, str(journal.parent), "-o", str(path)]) == 0
    assert path.stat().st_size > 0
    assert capsys.readouterr().out == f"{path}\n"


def test_without_a_file_the_export_goes_to_standard_output(journal, capfdbinary):
    assert main(["export", "json", str(journal)]) == 0
    assert len(json.loads(capfdbinary.readouterr().out)["cases"]) == 1


def test_a_json_export_can_be_exported_again(journal, tmp_path, capfdbinary):
    main(["export", "json", str(journal), "-o", str(tmp_path / "one.json")])
    main(["export", "csv", str(journal), "-o", str(tmp_path / "one.csv")])
    capfdbinary.readouterr()
    assert main(["export", "csv", str(tmp_path / "one.json")]) == 0
    assert capfdbinary.readouterr().out == (tmp_path / "one.csv").read_bytes()


def test_the_schema_can_be_printed(capfdbinary):
    assert main(["export", "schema"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["title"] == "A session of pytest-dlbench"


def test_damage_is_reported_and_the_rest_is_exported(journal, tmp_path, capsys):
    journal.write_bytes(journal.read_bytes() + b"{rub")
    assert main(["export", "csv", str(journal), "-o", str(tmp_path / "out.csv")]) == 1
    assert "line 5" in capsys.readouterr().err
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4


def test_an_export_without_records_is_a_usage_error(capsys):
    assert main(["export", "csv"]) == 2
    assert "name journals" in capsys.readouterr().err


def test_the_help_names_every_format(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in FORMATS)
