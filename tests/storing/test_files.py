"""Files that are written whole or not at all, whatever happens to the disk or to the process."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_dlbench.errors import FileFormatError, StorageError
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.files import LONGEST_NAME, file_name, locked, unwritten, write_whole
from tests.doubles import disks, records

WRITE = """
import sys
from pathlib import Path
from pytest_dlbench.errors import FileFormatError, StorageError
from pytest_dlbench.storing.files import write_whole
try:
    write_whole(Path(sys.argv[1]), b"x" * 1000)
except StorageError as error:
    print(error)
"""
# It says when an unfinished file is there, and waits to be killed before the file gets its name.
UNFINISHED = """
import os, sys
from pathlib import Path
from pytest_dlbench.storing.files import write_whole
def stall(descriptor):
    print("writing", flush=True)
    sys.stdin.read()
os.fsync = stall
write_whole(Path(sys.argv[1]), b"new")
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def writing(path):
    """A process that has an unfinished file, and goes on when its input is closed."""
    command = [sys.executable, "-c", UNFINISHED, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"writing\n"
    return process


# Disks


def test_a_full_disk_leaves_the_old_file_and_is_named_with_the_remedy(tmp_path):
    path = tmp_path / "case.json"
    path.write_bytes(b"old")
    command = disks.with_files_up_to(100, sys.executable, "-c", WRITE, str(path))
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith(f"{path} cannot be written (File too large): raise the limit")
    assert (names(tmp_path), path.read_bytes()) == (["case.json"], b"old")


def test_a_read_only_folder_is_named_with_the_remedy(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    command = disks.where_read_only_counts(sys.executable, "-c", WRITE, str(folder / "case.json"))
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said == f"{folder / 'case.json'} cannot be written (Permission denied): {ALLOW}\n"
    assert names(folder) == []


ALLOW = "make the place writable, or choose another one"


def test_a_device_is_written_to_and_not_replaced():
    with pytest.raises(StorageError, match=r"/dev/full cannot be written \(No space left on device\): free space"):
        write_whole(Path("/dev/full"), b"x")
    assert Path("/dev/full").is_char_device()


def test_a_pipe_gets_the_content(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"content")
    reader.join(60)
    assert (read, pipe.is_fifo()) == ([b"content"], True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
def test_every_error_names_the_file_and_says_what_to_do(number):
    said = str(unwritten(Path("a/b.json"), OSError(number, os.strerror(number))))
    assert said.startswith(f"a/b.json cannot be written ({os.strerror(number)}): ")
    assert "another" in said


# Kills


def test_what_killed_writers_left_is_removed_at_the_next_write(tmp_path):
    path = tmp_path / "case.json"
    path.write_bytes(b"old")
    for _ in range(5):
        process = writing(path)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    # The next one had removed what the one before had left.
    assert (len(names(tmp_path)), path.read_bytes()) == (2, b"old")
    write_whole(path, b"new")
    assert (names(tmp_path), path.read_bytes()) == (["case.json"], b"new")


def test_the_unfinished_file_of_a_living_writer_is_left_alone(tmp_path):
    process = writing(tmp_path / "first.json")
    write_whole(tmp_path / "second.json", b"second")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert names(tmp_path) == ["first.json", "second.json"]
    assert (tmp_path / "first.json").read_bytes() == b"new"


# Locks

COUNT = """
import sys
from pathlib import Path
from pytest_dlbench.storing.files import locked
counter = Path(sys.argv[1])
for _ in range(50):
    with locked(counter.parent):
        number = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(number + 1))
"""


def test_processes_that_take_turns_lose_no_update(tmp_path):
    counter = tmp_path / "counter"
    command = [sys.executable, "-c", COUNT, str(counter)]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait(120) for process in processes] == [0] * 4
    assert counter.read_text() == "200"


def test_a_lock_leaves_no_file(tmp_path):
    with locked(tmp_path / "new"):
        assert names(tmp_path / "new") == [".dlbench.lock"]
    assert names(tmp_path / "new") == []


def test_the_lock_of_a_killed_process_holds_nobody_up(tmp_path):
    (tmp_path / ".dlbench.lock").touch()
    with locked(tmp_path):
        pass
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_locked_is_named(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(StorageError, match=r"taken.* cannot be written"), locked(tmp_path / "taken"):
        pass


# Names


def test_a_name_that_fits_stays_as_it_is():
    assert file_name("x" * (LONGEST_NAME - 5)) == "x" * (LONGEST_NAME - 5) + ".json"


@pytest.mark.parametrize("letter", ["x", "ü", "网"])
def test_a_name_that_is_too_long_is_shortened_to_what_a_file_system_accepts(tmp_path, letter):
    short = file_name(letter * 300)
    (tmp_path / short).touch()
    assert names(tmp_path) == [short]


def test_two_long_names_with_the_same_beginning_stay_apart():
    assert file_name("x" * 300 + "1") != file_name("x" * 300 + "2")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../etc", "a\0b"])
def test_a_machine_whose_name_would_be_another_place_has_no_folder(name, tmp_path):
    store = BaselineStore(folder=tmp_path)
    with pytest.raises(FileFormatError, match="cannot be that of a folder"):
        store.path(records.case(), records.machine(name=name))


@pytest.mark.parametrize("stem", ["../outside", "/outside", "a/../../outside", "a\0b"])
def test_a_case_whose_name_would_lead_elsewhere_has_no_file(stem, tmp_path):
    with pytest.raises(FileFormatError, match="cannot be that of a file"):
        BaselineStore(folder=tmp_path).path(records.case(stem), records.machine())
