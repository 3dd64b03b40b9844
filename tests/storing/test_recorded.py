"""Cases read from journals, documents and folders of them."""

from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import CaseOutcome, Pairing, codec
from pytest_dlbench.storing import Entry, Journal
from pytest_dlbench.storing.recorded import read
from tests.doubles import records


def journal(folder, name, *, result=True, context=True):
    journal = Journal(folder, name)
    for run in records.runs():
        journal.append(Entry(run=run, context=records.context() if context else None))
    if result:
        journal.append(Entry(result=records.case_result(), recipe=records.RECIPE))
    return journal.path


def test_runs_and_their_result_are_joined(tmp_path):
    (case,) = read([journal(tmp_path, "a")]).cases
    assert case.record == records.record()
    assert case.result == records.case_result()


def test_the_last_repetition_of_a_run_counts(tmp_path):
    journal = Journal(tmp_path, "a")
    invalid = replace(records.run(1, step=0.9), invalid=("others used 1.7 CPUs",))
    for run in (invalid, *records.runs()):
        journal.append(Entry(run=run, context=records.context()))
    journal.append(Entry(result=records.case_result(), recipe=records.RECIPE))
    (case,) = read([journal.path]).cases
    assert case.record == records.record()


def test_a_case_run_in_pairs_has_both_sides(tmp_path):
    journal, old = Journal(tmp_path, "a"), records.case("training-pytorch-2.12-mnist-cnn-digits28-cpu-quick")
    for run in records.runs():
        journal.append(Entry(run=replace(run, case=old.id), context=records.context()))
        journal.append(Entry(run=run, context=records.context()))
    pairing = Pairing(old=old, screened=3, confirmed=0, alpha=0.001, new_first=(False,) * 3, reasons={})
    journal.append(Entry(result=records.case_result(pairing=pairing), recipe=records.RECIPE))
    (case,) = read([journal.path]).cases
    assert (case.old.case, len(case.old.runs)) == (old, 3)
    assert (case.record.case, len(case.record.runs)) == (records.case(), 3)


def test_runs_without_a_result_are_ignored(tmp_path):
    found = read([journal(tmp_path, "a", result=False)])
    assert (found.cases, found.damages) == ((), ())


def test_all_files_of_a_folder_are_read(tmp_path):
    for name in ("b", "a"):
        journal(tmp_path, name)
    assert len(read([tmp_path]).cases) == 2


def test_an_empty_folder_is_an_error_that_says_what_should_be_in_it(tmp_path):
    with pytest.raises(FileFormatError, match=r"no journal \(\.jsonl, \.jsonl\.gz\)"):
        read([tmp_path])


def test_a_result_without_its_context_is_skipped_and_reported(tmp_path):
    found = read([journal(tmp_path, "a", context=False)])
    assert found.cases == ()
    (damage,) = found.damages
    assert records.case().id in damage


def test_a_damaged_line_is_reported_and_the_other_cases_are_kept(tmp_path):
    path = journal(tmp_path, "a")
    path.write_bytes(b"{rubbish\n" + path.read_bytes())
    found = read([path])
    assert len(found.cases) == 1
    assert "line 1" in found.damages[0]


def test_a_case_run_twice_is_read_as_two_cases(tmp_path):
    path = journal(tmp_path, "a")
    path.write_bytes(path.read_bytes() * 2)
    assert [len(case.record.runs) for case in read([path]).cases] == [3, 3]


def test_a_second_result_of_a_case_replaces_the_first_and_keeps_its_runs(tmp_path):
    path = journal(tmp_path, "a")
    failed = records.case_result(outcome=CaseOutcome.FAILED)
    with path.open("ab") as file:
        file.write(codec.checked_line(Entry(result=failed)))
    found = read([path])
    (case,) = found.cases
    assert (case.record, case.result, found.damages) == (records.record(), failed, ())
