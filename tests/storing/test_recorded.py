"""Cases read from journals, documents and folders of them."""

import gzip
import lzma
from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import CaseOutcome, Pairing, codec
from pytest_dlbench.storing import Entry, Journal
from pytest_dlbench.storing.recorded import files, read, session_of
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


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_compressed_journal_is_the_session_of_its_name(tmp_path, ending, compress):
    plain = journal(tmp_path, "1.2")
    compressed = plain.with_name(f"{plain.name}{ending}")
    compressed.write_bytes(compress(plain.read_bytes()))
    assert read([compressed]) == read([plain])
    assert session_of(compressed) == session_of(plain) == plain.name.removesuffix(".jsonl")
    assert [*files(tmp_path)] == [plain, compressed]


@pytest.mark.parametrize(
    ("ending", "compress", "message"),
    [(".gz", gzip.compress, "gzip file .*again with gzip -n"), (".xz", lzma.compress, "xz file .*again with xz")],
)
@pytest.mark.parametrize("changed", [lambda content: content[:-20], lambda content: content[:40] + b"x" + content[41:]])
def test_a_damaged_compressed_journal_is_an_error(tmp_path, ending, compress, message, changed):
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(changed(compress(journal(tmp_path, "a").read_bytes())))
    with pytest.raises(FileFormatError, match=f"not a complete {message}"):
        read([path])


def test_an_empty_folder_is_an_error_that_says_what_should_be_in_it(tmp_path):
    with pytest.raises(FileFormatError, match=r"no journal \(\.jsonl, \.jsonl\.gz, \.jsonl\.xz\)"):
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
