"""Every flipped bit of a journal, a document or a file of the history is noticed, or changes no figure."""

import json
import subprocess
from dataclasses import replace
from random import Random

import pyarrow.parquet as pq
import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import codec
from pytest_dlbench.reporting.exports import document
from pytest_dlbench.reporting.exports.rows import remember
from pytest_dlbench.storing import Damage, Entry, Journal, read_journal
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.journal import read_lines
from pytest_dlbench.storing.recorded import Recorded, decode_document, read, read_document
from tests.doubles import records
from tests.storing.test_calibrations import FOUND

# Few steps, so that the files are small and every bit can be tried.
RUN = replace(records.run(), training=records.training((0.01, 0.01)), log=("größer",))
CASE = Recorded(record=records.record([RUN]), result=records.case_result(runs=1))
PARQUET_FLIPS = 500


def flipped(content):
    """A file with one flipped bit, for every byte of this one; which bit of it is drawn."""
    random = Random(1)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << random.randrange(8)
        yield place, bytes(changed)


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "journals", session="s")
    journal.append(Entry(run=RUN, context=records.context(), conditions="c"))
    journal.append(Entry(result=CASE.result, recipe=records.RECIPE))
    return journal.path


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "session.json"
    path.write_bytes(document.write([CASE]))
    return path


def test_every_flipped_bit_of_a_journal_is_noticed_or_changes_no_figure(journal):
    content = journal.read_bytes()
    sound = list(read_lines(content, "here"))
    unnoticed = [
        place
        for place, changed in flipped(content)
        if (found := list(read_lines(changed, "here"))) != sound
        and not any(isinstance(entry, Damage) for entry in found)
    ]
    assert unnoticed == []


def test_a_flipped_bit_in_one_line_leaves_the_other_line(journal):
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first.replace(b'"accuracy"', b'"accurbcy"').replace(b"0.01,", b"0.03,", 1) + second)
    damage, entry = read_journal(journal)
    assert isinstance(entry, Entry)
    assert damage.message.startswith(f"{journal}, line 1: the checksum is that of other content @ $.checksum;")


def document_or_none(content):
    try:
        return decode_document(content, "here")
    except FileFormatError:
        return None


def test_every_flipped_bit_of_a_document_is_noticed_or_changes_no_figure(written):
    content = written.read_bytes()
    sound = decode_document(content, "here")
    unnoticed = [
        place
        for place, changed in flipped(content)
        if (found := document_or_none(changed)) is not None and found != sound
    ]
    assert unnoticed == []


def test_a_document_that_was_edited_is_refused_with_its_name_and_the_reason(written):
    written.write_text(written.read_text().replace('"batch_size": 64', '"batch_size": 65'))
    with pytest.raises(FileFormatError, match=r"session\.json: the checksum is that of other content .* edited"):
        read_document(written)


def test_a_document_without_its_checksum_is_refused(written):
    lines = written.read_text().splitlines(keepends=True)
    written.write_text("".join([lines[0], *lines[2:]]))
    with pytest.raises(FileFormatError, match="there is no checksum, which format 3 must have"):
        read_document(written)


def test_flipped_bits_of_the_history_are_noticed_or_change_no_figure(tmp_path):
    history = History(address=str(tmp_path / "history"))
    (path,) = map(type(tmp_path), remember(history, [CASE]))
    content, sound = path.read_bytes(), history.read().rows
    unnoticed = []
    for place in Random(1).choices(range(8 * len(content)), k=PARQUET_FLIPS):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        found = history.read()
        if not found.damages and not found.rows.equals(sound):
            unnoticed.append(place)
    assert unnoticed == []


def test_pages_of_the_history_have_checksums_for_other_readers(tmp_path):
    (path,) = map(type(tmp_path), remember(History(address=str(tmp_path / "history")), [CASE]))
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    # The last byte of the first column, which is in its data page.
    content[column.dictionary_page_offset + column.total_compressed_size - 1] ^= 1
    renamed = path.with_name("20261121T000000-0123456789ab.parquet")
    renamed.write_bytes(content)
    with pytest.raises(OSError, match="checksum"):
        pq.ParquetFile(renamed, page_checksum_verification=True).read()


def test_a_damaged_page_of_a_history_without_checksums_in_its_names_is_named(tmp_path):
    history = History(address=str(tmp_path / "history"))
    (path,) = map(type(tmp_path), remember(history, [CASE]))
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    content[column.dictionary_page_offset + column.total_compressed_size - 1] ^= 1
    path.unlink()
    path.with_name("20261121T000000-0123456789ab.parquet").write_bytes(content)
    (damage,) = history.read().damages
    assert "20261121T000000-0123456789ab.parquet: not a readable Parquet file" in damage


def test_a_flipped_bit_of_a_calibration_is_refused(tmp_path):
    store = CalibrationStore(folder=tmp_path)
    path = store.write(FOUND)
    path.write_bytes(path.read_bytes().replace(b'"pairs": 10', b'"pairs": 11'))
    with pytest.raises(FileFormatError, match="the checksum is that of other content"):
        store.read(records.case(), records.machine())


# Any tool can compute them; docs/how-to/records.md has these commands


def shell(command, *arguments):
    done = subprocess.run(["sh", "-c", command, "sh", *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


def test_the_checksum_of_a_journals_line_is_that_of_sha256sum(journal):
    command = """sed -n 1p "$1" | sed 's/,"checksum":"[0-9a-f]*"}$/}/' | tr -d '\\n' | sha256sum"""
    assert shell(command, journal) == json.loads(journal.read_text().splitlines()[0])["checksum"]


def test_the_checksum_of_a_document_is_that_of_sha256sum(written):
    assert (
        shell("""grep -v '^  "checksum": ' "$1" | sha256sum""", written) == json.loads(written.read_text())["checksum"]
    )


def test_the_checksum_in_a_name_of_the_history_is_that_of_sha256sum(tmp_path):
    (path,) = map(type(tmp_path), remember(History(address=str(tmp_path / "history")), [CASE]))
    assert shell('sha256sum "$1"', path).startswith(path.stem.rpartition("-")[2])


# Older formats


def test_lines_without_a_checksum_of_the_first_format_are_read(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_bytes(codec.encode_line(Entry(format=1, run=RUN, context=records.context())))
    (entry,) = read_journal(path)
    assert entry.run == RUN


def test_a_line_without_a_checksum_of_this_format_is_damaged(tmp_path):
    path = tmp_path / "new.jsonl"
    path.write_bytes(codec.encode_line(Entry(run=RUN, context=records.context())))
    (damage,) = read_journal(path)
    assert "line 1: there is no checksum, which format 3 must have @ $.checksum" in damage.message


def test_a_document_without_a_checksum_of_the_first_format_is_read(written):
    lines = written.read_text().splitlines(keepends=True)
    written.write_text("".join([lines[0], *lines[2:]]).replace('"format": 3', '"format": 1'))
    (case,) = read([written]).cases
    assert case.record == CASE.record
