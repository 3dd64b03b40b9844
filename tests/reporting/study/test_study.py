"""The study: made from journals, byte for byte, and nothing of it is typed by hand."""

import gzip
import lzma
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import Contention, codec
from pytest_dlbench.reporting.charts import ranks
from pytest_dlbench.reporting.study import pictures, study
from pytest_dlbench.storing import Entry, Journal, read_journal
from pytest_dlbench.storing.packing import pack
from tests.doubles.judged import judged, measured, workloads, write

COMMITTED = Path(__file__).parents[3] / "docs" / "study"


def recorded(folder, cases):
    """A study's folder with one compressed journal of these cases."""
    journal = Journal(folder)
    write(journal, cases)
    journals = folder / "journals"
    journals.mkdir()
    (journals / "20261121T114113-7501.jsonl.gz").write_bytes(gzip.compress(journal.path.read_bytes()))
    journal.path.unlink()
    return folder


@pytest.fixture
def made(tmp_path):
    """A study of eight networks in three frameworks, as written."""
    folder = recorded(tmp_path / "study", workloads(8))
    assert main(["study", str(folder)]) == 0
    return folder


@pytest.fixture
def committed(tmp_path):
    """A copy of the committed study."""
    return Path(shutil.copytree(COMMITTED, tmp_path / "committed"))


def checked(folder, capsys):
    capsys.readouterr()
    status = main(["study", str(folder), "--check"])
    return status, capsys.readouterr().out


def test_the_committed_study_is_what_its_journals_give(capsys):
    status, out = checked(COMMITTED, capsys)
    assert status == 0, out


def test_a_changed_figure_in_a_journal_fails_the_check(committed, capsys):
    path = min((committed / "journals").glob("*.jsonl.xz"))
    _change_steps(path)
    status, out = checked(committed, capsys)
    assert status == 1
    assert "index.md: differs from what the journals give" in out
    assert "study.html: differs" in out


def _change_steps(path):
    """Make the steps of the first run ten times as long, with a new checksum for its line."""
    first, *others = [entry for entry in read_journal(path) if isinstance(entry, Entry)]
    training = first.run.training
    longer = replace(training, step_seconds=tuple(10 * seconds for seconds in training.step_seconds))
    changed = replace(first, run=replace(first.run, training=longer))
    path.write_bytes(lzma.compress(b"".join(map(codec.checked_line, (changed, *others)))))


def test_a_number_typed_into_the_page_fails_the_check(committed, capsys):
    page = committed / "index.md"
    text = page.read_text("utf-8")
    typed = re.sub(r"\d+ runs", "999 runs", text, count=1)
    assert typed != text
    page.write_text(typed, encoding="utf-8")
    status, out = checked(committed, capsys)
    assert status == 1
    assert out.startswith(f"{page}: differs from what the journals give\n")
    assert "study.html" not in out


def test_a_damaged_journal_fails_the_check(made, capsys):
    path = next((made / "journals").iterdir())
    path.write_bytes(path.read_bytes()[:-20])
    assert main(["study", str(made), "--check"]) == 2
    assert "not a complete gzip file" in capsys.readouterr().err


def test_a_picture_that_the_study_no_longer_has_fails_the_check_and_is_removed(made, capsys):
    old = made / "pictures" / "old.svg"
    old.write_text("<svg/>", encoding="utf-8")
    status, out = checked(made, capsys)
    assert status == 1
    assert "pictures/old.svg" in out
    assert main(["study", str(made)]) == 0
    assert not old.exists()


def test_without_journals_it_says_where_to_put_them(tmp_path, capsys):
    assert main(["study", str(tmp_path)]) == 2
    said = f"dlbench study {tmp_path} --add .dlbench/*.jsonl puts journals there"
    assert said in capsys.readouterr().err


def test_a_journal_that_is_added_is_compressed_and_on_the_page(tmp_path, capsys):
    journal = Journal(tmp_path)
    write(journal, workloads(8))
    folder = tmp_path / "study"
    assert main(["study", str(folder), "--add", str(journal.path)]) == 0
    assert [path.name for path in (folder / "journals").iterdir()] == [f"{journal.path.name}.xz"]
    assert "## Ranks over all workloads" in (folder / "index.md").read_text("utf-8")
    assert checked(folder, capsys)[0] == 0


def test_a_journal_that_is_added_replaces_its_other_forms_and_no_document_of_its_name(tmp_path):
    journal = Journal(tmp_path / "journals")
    write(journal, workloads(8))
    document = journal.path.with_suffix(".json")
    document.write_text("{}", encoding="utf-8")
    packed = pack(journal.path, journal.path.parent)
    assert {*journal.path.parent.glob("2*")} == {packed, document}


def test_a_damaged_journal_is_not_added(tmp_path, capsys):
    journal = Journal(tmp_path)
    write(journal, workloads(8))
    journal.path.write_bytes(journal.path.read_bytes()[:-20])
    folder = tmp_path / "study"
    assert main(["study", str(folder), "--add", str(journal.path)]) == 2
    assert "a journal is packed only if all of its lines can be read" in capsys.readouterr().err
    assert not folder.exists()


def test_a_section_without_figures_is_not_on_the_page_and_its_command_is(made):
    text = (made / "index.md").read_text("utf-8")
    assert "## Scaling with threads" not in text
    _, _, missing = text.partition("## Not recorded yet")
    assert "Scaling with threads: " in missing
    assert "--dlbench-threads 1,2" in missing
    assert "## Ranks over all workloads" in text


def test_scaling_is_on_the_page_if_it_was_recorded(tmp_path):
    folder = recorded(tmp_path / "study", [judged("jax", threads=count, step=0.02 / count) for count in (1, 2)])
    made = study.make(folder)
    assert "## Scaling with threads" in made.files["index.md"].decode()
    assert "pictures/threads-1.svg" in made.files


def test_where_the_time_goes_is_shown_for_the_cell_that_most_frameworks_trained(tmp_path):
    cases = [*(judged(name, model="small") for name in ("jax", "pytorch", "mxnet")), judged("jax"), judged("pytorch")]
    text = study.make(recorded(tmp_path / "study", cases)).files["index.md"].decode()
    (line,) = (line for line in text.splitlines() if line.startswith("![Where the time goes"))
    assert re.match(r"!\[Where the time goes, small: seconds of jax [\d.]+; pytorch [\d.]+; mxnet [\d.]+\]", line)


def test_what_accuracy_costs_is_shown_for_whole_recipes_only(tmp_path):
    cases = [judged(name, scale="full") for name in ("jax", "pytorch")]
    whole = [replace(case, context=replace(case.context, recipe_steps=case.context.steps)) for case in cases]
    short = [replace(case, context=replace(case.context, recipe_steps=case.context.steps + 1)) for case in cases]
    assert "pictures/pareto-1.svg" in study.make(recorded(tmp_path / "whole", whole)).files
    assert "pictures/pareto-1.svg" not in study.make(recorded(tmp_path / "short", short)).files
    quick = [judged(name, scale="quick") for name in ("jax", "pytorch")]
    assert "pictures/pareto-1.svg" not in study.make(recorded(tmp_path / "quick", quick)).files


def test_the_page_says_from_the_witnesses_how_busy_the_machine_was(tmp_path):
    calm, busy = judged("jax"), judged("pytorch")
    busy = replace(busy, runs=tuple(replace(run, contention=Contention(steps=3, is_cut=False)) for run in busy.runs))
    made = study.make(recorded(tmp_path / "study", [calm, busy]))
    text = made.files["index.md"].decode()
    assert "The machine was busy with other work in 3 of 6 runs." in text
    assert "scale quick" in text


def test_pictures_have_words_and_a_sign_for_each_framework_beside_its_colour(made):
    text = (made / "index.md").read_text("utf-8")
    assert "![Mean ranks, 1 is the fastest: jax 1.00; mxnet 2.00; pytorch 3.00](pictures/ranks.svg)" in text
    assert 'role="img" aria-label="Mean ranks' in (made / "study.html").read_text("utf-8")
    cases = measured(*workloads(8))
    svg = pictures.drawn(ranks.chart(cases), cases, name="ranks", alt="ranks").svg
    marks = re.findall(r'<path aria-label="mean rank[^>]* d="([^"]*)"', svg)
    assert len(set(marks)) == 3


def test_pictures_have_neither_times_nor_other_ids_when_drawn_again(made):
    first = study.make(made).files
    assert study.make(made).files == first
    assert not re.search(r"20\d\d-\d\d-\d\d", (made / "pictures" / "ranks.svg").read_text("utf-8"))
