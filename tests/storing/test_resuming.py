"""Which runs of an interrupted session need not be made again."""

from dataclasses import replace

import pytest

from pytest_dlbench.records.reasons import NotExamined, NotTimed
from pytest_dlbench.storing.journal import Entry, Journal
from pytest_dlbench.storing.resuming import FinishedRuns
from tests.doubles import records


@pytest.mark.parametrize(("trouble", "is_taken"), [(NotTimed(), True), (NotExamined(said="KeyboardInterrupt"), False)])
def test_a_run_that_nothing_examined_is_made_again(tmp_path, trouble, is_taken):
    journal = Journal.at(tmp_path / "journal.jsonl", "session")
    run = replace(records.run(), invalid=(trouble,))
    journal.append(Entry(run=run, context=records.context(), conditions="same"))
    assert (FinishedRuns.of(journal.path).take(run.case, run.seed, "same") == run) is is_taken
