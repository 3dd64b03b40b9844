"""Which libraries of environments are in the page cache when a case begins."""

import ctypes
import mmap
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.running import lock_folder
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.running.page_cache import forget_libraries, forget_once
from pytest_dlbench.running.progress import Silent
from tests.running.specs import spec

SIZE = 4 * 2**20
LIBRARY = "lib/python3.11/site-packages/package/libs/libcompute.so.3"


def installed(folder: Path) -> Path:
    """A Python whose packages have one library, as an installer has just written it."""
    library = folder / LIBRARY
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(SIZE))
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    return python


def cached_bytes(python: Path) -> int:
    """How much of its library is in the page cache."""
    with (python.parent.parent / LIBRARY).open("r+b") as file, mmap.mmap(file.fileno(), SIZE) as mapped:
        pages = (ctypes.c_ubyte * (SIZE // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(mapped)
        libc = ctypes.CDLL(None, use_errno=True)
        status = libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(SIZE), pages)
        del start
    assert status == 0
    return sum(page & 1 for page in pages) * mmap.PAGESIZE


@pytest.fixture
def pythons(tmp_path):
    """Those of two environments."""
    return installed(tmp_path / "old"), installed(tmp_path / "new")


def leased(tmp_path, monkeypatch, *pythons):
    """Lease the processor for a case with these sides."""
    monkeypatch.setenv(lock_folder.VARIABLE, str(tmp_path / "locks"))
    one = spec("numpy-double", tmp_path)
    sides = [replace(one, place=replace(one.place, python=python)) for python in pythons]
    with THIS_MACHINE.lease(sides, Silent()):
        return [cached_bytes(python) for python in pythons]


def test_libraries_of_an_environment_are_forgotten_and_read_again_by_who_needs_them(pythons):
    old, new = pythons
    assert cached_bytes(old) == SIZE
    forget_libraries([old])
    assert (cached_bytes(old), cached_bytes(new)) == (0, SIZE)
    (old.parent.parent / LIBRARY).read_bytes()
    assert cached_bytes(old) == SIZE


def test_what_is_no_library_stays(tmp_path):
    python = installed(tmp_path)
    source = python.parent.parent / "lib/python3.11/site-packages/package/module.py"
    (python.parent.parent / LIBRARY).rename(source)
    forget_libraries([python])
    source.rename(python.parent.parent / LIBRARY)
    assert cached_bytes(python) == SIZE


def test_two_environments_begin_alike_each_time(pythons, tmp_path, monkeypatch):
    for _ in range(2):
        assert leased(tmp_path, monkeypatch, *pythons) == [0, 0]
        for python in pythons:
            (python.parent.parent / LIBRARY).read_bytes()


def test_a_single_environment_begins_alike_in_each_session(pythons, tmp_path, monkeypatch):
    assert leased(tmp_path, monkeypatch, pythons[0]) == [0]
    (pythons[0].parent.parent / LIBRARY).read_bytes()
    assert leased(tmp_path, monkeypatch, pythons[0], pythons[0]) == [SIZE, SIZE]
    # Of another process.
    forget_once.cache_clear()
    assert leased(tmp_path, monkeypatch, pythons[0]) == [0]


def test_a_library_that_cannot_be_opened_and_a_missing_folder_are_no_problem(pythons, tmp_path):
    dangling = tmp_path / "old" / "lib/python3.11/site-packages/gone.so"
    dangling.symlink_to("nowhere.so")
    forget_libraries([tmp_path / "none/bin/python", *pythons])
    assert [cached_bytes(python) for python in pythons] == [0, 0]
