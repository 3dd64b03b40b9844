"""``dlbench report``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.reporting import extras
from pytest_dlbench.storing import Journal
from tests.doubles.judged import judged, write


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "journals")
    write(journal, [judged(), judged("jax", step=0.02)])
    return journal.path


def test_the_page_is_written_with_every_chart_as_svg_and_png(journal, tmp_path, capsys):
    assert main(["report", str(journal.parent), "-o", str(tmp_path / "out")]) == 0
    charts = {path.stem for path in (tmp_path / "out" / "charts").iterdir()}
    files = [*(f"charts/{name}.{kind}" for name in charts for kind in ("svg", "png")), "report.html"]
    assert "frameworks" in charts
    assert all((tmp_path / "out" / file).stat().st_size for file in files)
    assert f"2 cases, {len(charts)} charts" in capsys.readouterr().out


def test_the_page_can_be_written_without_images(journal, tmp_path):
    assert main(["report", str(journal), "-o", str(tmp_path / "out"), "--no-pictures"]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


@pytest.fixture
def other(tmp_path):
    """A journal of a single framework, of which there is no chart of frameworks side by side."""
    journal = Journal(tmp_path / "others")
    write(journal, [judged()])
    return journal.path


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def test_charts_of_an_earlier_report_are_removed_and_other_files_kept(journal, other, tmp_path):
    charts, alone = tmp_path / "out" / "charts", tmp_path / "alone"
    assert main(["report", str(journal), "-o", str(charts.parent)]) == 0
    assert {"frameworks.svg", "frameworks.png"} <= names_in(charts)
    for mine in ("mine.svg", "frameworks.txt"):
        (charts / mine).write_text("mine")
    assert main(["report", str(other), "-o", str(charts.parent)]) == 0
    assert main(["report", str(other), "-o", str(alone)]) == 0
    assert names_in(charts) == names_in(alone / "charts") | {"mine.svg", "frameworks.txt"}
    assert "frameworks.svg" not in names_in(charts)


def test_without_images_none_of_an_earlier_report_remains(journal, tmp_path):
    arguments = ["report", str(journal), "-o", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert main([*arguments, "--no-pictures"]) == 0
    assert names_in(tmp_path / "out" / "charts") == set()


def test_a_damaged_line_is_reported_and_the_rest_is_shown(journal, tmp_path, capsys):
    journal.write_bytes(journal.read_bytes()[:-20])
    assert main(["report", str(journal), "-o", str(tmp_path / "out"), "--no-pictures"]) == 1
    assert f"{journal}, line 8" in capsys.readouterr().err
    assert "line 8" in (tmp_path / "out" / "report.html").read_text()


def test_without_the_extra_the_error_says_what_to_install(journal, capsys, monkeypatch):
    monkeypatch.setattr(extras, "REPORT", {"a_module_that_nobody_has": "altair"})
    assert main(["report", str(journal)]) == 2
    assert 'needs altair: pip install "pytest-dlbench[report]"' in capsys.readouterr().err


def test_a_history_is_added_to_the_page_and_a_missing_one_is_reported(journal, tmp_path, capsys):
    main(["history", "--history", str(tmp_path / "history"), "--add", str(journal)])
    arguments = ["report", str(journal), "-o", str(tmp_path / "out"), "--no-pictures", "--json", "--history"]
    capsys.readouterr()
    assert main([*arguments, str(tmp_path / "history")]) == 0
    assert json.loads(capsys.readouterr().out)["cases"] == 2
    assert main([*arguments, str(tmp_path / "none")]) == 1
    assert "there is no history at" in capsys.readouterr().err
