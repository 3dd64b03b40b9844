"""From journals to the cases of a report."""

import pytest

from pytest_dlbench.errors import FileFormatError, OptionError
from pytest_dlbench.reporting.page.gathering import gather
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records
from tests.doubles.judged import judged, write


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path)
    write(journal, [judged(), judged("jax")])
    return journal


def test_a_case_has_its_runs_and_what_they_ran_in(journal):
    first, second = gather([journal.path]).cases
    assert (len(first.finished), first.case.framework, second.case.framework) == (3, "pytorch", "jax")
    assert first.context == records.context()
    assert first.session == journal.path.stem


def test_a_folder_gives_all_its_journals(journal, tmp_path):
    write(Journal(tmp_path, "gw1"), [judged("mxnet")])
    found = gather([tmp_path])
    assert {case.case.framework for case in found.cases} == {"pytorch", "jax", "mxnet"}
    assert len(found.sessions) == 2


def test_runs_without_a_verdict_are_named(journal):
    journal.append(Entry(run=records.run(case="cut-short")))
    assert gather([journal.path]).unjudged == ("cut-short",)


def test_a_damaged_line_is_named_and_the_rest_is_kept(journal):
    journal.path.write_bytes(journal.path.read_bytes()[:-20])
    found = gather([journal.path])
    assert [case.case.framework for case in found.cases] == ["pytorch"]
    assert "line 8" in found.damages[0]


def test_a_folder_without_journals_says_where_they_are(tmp_path):
    with pytest.raises(OptionError, match=r"no journal in this folder; sessions write them to \.dlbench"):
        gather([tmp_path])


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileFormatError, match="No such file"):
        gather([tmp_path / "none.jsonl"])
