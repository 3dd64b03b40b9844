"""Finished journals in few bytes, to be committed: with the digits that this version records, compressed with xz."""

from dataclasses import replace
from pathlib import Path

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import codec, digits
from pytest_dlbench.storing.files import write_whole
from pytest_dlbench.storing.journal import COMPRESSED, Damage, Entry, read_journal
from pytest_dlbench.storing.recorded import session_of


def pack(path: Path, folder: Path) -> Path:
    """Write a journal into a folder as NAME.jsonl.xz; one of this name there, compressed or not, is replaced.

    Returns its path. Raises FileFormatError if the journal cannot be read or has a damaged line, and StorageError if
    the folder cannot be written.
    """
    content = b"".join(codec.checked_line(_shortened(entry)) for entry in _whole(path))
    name = session_of(path)
    packed = folder / f"{name}.jsonl.xz"
    write_whole(packed, _compressed(content, path))
    for ending in ("", *COMPRESSED):
        other = folder / f"{name}.jsonl{ending}"
        if other != packed:
            other.unlink(missing_ok=True)
    return packed


def _whole(path: Path) -> list[Entry]:
    entries = []
    for entry in read_journal(path):
        if isinstance(entry, Damage):
            raise FileFormatError(f"{entry.message}; a journal is packed only if all of its lines can be read")
        entries.append(entry)
    return entries


def _shortened(entry: Entry) -> Entry:
    return replace(entry, run=digits.of_run(entry.run)) if entry.run else entry


def _compressed(content: bytes, path: Path) -> bytes:
    try:
        # A Python that was built without liblzma lacks it.
        import lzma  # noqa: PLC0415
    except ImportError as error:
        said = f"{path}: this Python has no lzma to compress it ({error}); use one that has it"
        raise FileFormatError(said) from error
    return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
