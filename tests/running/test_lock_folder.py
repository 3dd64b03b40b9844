"""The folder of the locks: one for all users of the machine, and opened so that nobody can make use of that."""

import fcntl
import json
import os
from contextlib import ExitStack

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running import devices, lock_folder
from pytest_dlbench.running.lock_folder import InUseError, LockFolder
from tests.running.processes import IN_VAIN


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(lock_folder.VARIABLE, str(tmp_path / "locks"))
    return tmp_path / "locks"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose folder for locks is ``parent``, open to all users; DLBENCH_LOCKS is not set."""
    monkeypatch.delenv(lock_folder.VARIABLE, raising=False)
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(0o1777)
    monkeypatch.setattr(lock_folder, "PARENTS", (parent, tmp_path))
    return parent


def mode(path):
    return path.stat().st_mode & 0o7777


class TestPlace:
    def test_is_the_same_whatever_tmpdir_is(self, monkeypatch, tmp_path):
        monkeypatch.delenv(lock_folder.VARIABLE, raising=False)
        before = lock_folder.path()
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        assert lock_folder.path() == before
        assert before.parent in lock_folder.PARENTS

    def test_is_the_first_folder_that_is_open_to_all(self, machine):
        assert lock_folder.path() == machine / "pytest-dlbench"
        machine.chmod(0o755)
        assert lock_folder.path() == machine.parent / "pytest-dlbench"

    def test_can_be_chosen(self, folder):
        with devices.held("cpu", IN_VAIN):
            assert "cpu.lock" in {file.name for file in folder.iterdir()}


class TestOpening:
    def test_makes_a_folder_in_which_every_user_can_lock_and_none_can_write_to_a_lock(self, machine):
        with devices.held("cpu", IN_VAIN):
            files = list((machine / "pytest-dlbench").iterdir())
        assert {file.name for file in files} >= {"cpu.lock", "timed.lock", "untimed.lock"}
        assert mode(machine / "pytest-dlbench") == 0o1777
        assert mode(machine / "pytest-dlbench" / "cpu.lock") == 0o644

    @pytest.mark.parametrize("is_chosen", [False, True])
    def test_refuses_a_symbolic_link_and_leaves_its_target_private(self, machine, monkeypatch, tmp_path, is_chosen):
        private = tmp_path / "private"
        private.mkdir(mode=0o700)
        where = tmp_path / "link" if is_chosen else machine / "pytest-dlbench"
        where.symlink_to(private)
        if is_chosen:
            monkeypatch.setenv(lock_folder.VARIABLE, str(where))
        with pytest.raises(DlbenchError, match=r"a symbolic link, which is not followed; .* DLBENCH_LOCKS"):
            LockFolder()
        assert mode(private) == 0o700
        assert list(private.iterdir()) == []

    def test_leaves_the_mode_of_a_chosen_folder_as_it_is(self, folder):
        folder.mkdir(mode=0o700)
        with devices.held("cpu", IN_VAIN):
            pass
        assert mode(folder) == 0o700

    def test_refuses_a_file_in_its_place(self, folder):
        folder.write_text("")
        with pytest.raises(DlbenchError, match=r"locks: Not a directory; .* DLBENCH_LOCKS"):
            LockFolder()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_refuses_another_users_folder_that_is_not_open_to_all(self, machine):
        (machine / "pytest-dlbench").mkdir()
        os.chown(machine / "pytest-dlbench", 12345, 12345)
        with pytest.raises(DlbenchError, match=r"belongs to user 12345 and has the mode 0755, expected 1777"):
            LockFolder()
        assert mode(machine / "pytest-dlbench") == 0o755

    def test_refuses_a_symbolic_link_instead_of_a_lock(self, folder, tmp_path):
        folder.mkdir()
        (folder / "cpu.lock").symlink_to(tmp_path / "somewhere")
        with pytest.raises(DlbenchError, match=r"cpu\.lock: .*locks a device"), devices.held("cpu", IN_VAIN):
            pass
        assert not (tmp_path / "somewhere").exists()


class TestLock:
    def test_is_of_the_file_that_others_open_if_the_folder_was_tidied_up(self, folder):
        with LockFolder() as opened, ExitStack() as locks:
            opened.lock(locks, "cpu", fcntl.LOCK_EX)
            (folder / "cpu.lock").unlink()
            with ExitStack() as others:
                # Nobody can know of the lock on the removed file.
                opened.lock(others, "cpu", fcntl.LOCK_EX)
                with pytest.raises(InUseError, match="cpu"):
                    opened.lock(locks, "cpu", fcntl.LOCK_EX)


class TestNotes:
    @pytest.fixture
    def opened(self, folder):  # noqa: ARG002 - where it is
        with LockFolder() as opened:
            yield opened

    @staticmethod
    def written(folder, text):
        (folder / "cpu.1-aa.holder").write_text(text)
        return (folder / "cpu.1-aa.holder").open()

    def test_end_with_their_lock(self, opened, folder):
        with ExitStack() as locks:
            opened.note(locks, "cpu")
            assert [holder.pid for holder in opened.holders(["cpu"])] == [os.getpid()]
        assert opened.holders(["cpu"]) == ()
        assert list(folder.iterdir()) == []

    def test_of_a_killed_process_do_not_count_and_are_removed(self, opened, folder):
        self.written(folder, '{"pid": 1, "command": "pytest"}').close()
        assert opened.holders(["cpu"]) == ()
        assert list(folder.iterdir()) == []

    @pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"pid": "x", "command": "y"}', '{"pid": 1}', "[" * 4000])
    def test_that_nobody_can_read_are_ignored(self, opened, folder, text):
        with self.written(folder, text) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert opened.holders(["cpu"]) == ()

    def test_have_no_control_characters_and_are_short(self, opened, folder):
        command = "pytest\x1b[31m\n::error::x\u202e" + "y" * 1000
        with self.written(folder, json.dumps({"pid": 1, "command": command})) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            (holder,) = opened.holders(["cpu"])
        assert holder.command.startswith("pytest?[31m?::error::x?yy")
        assert len(holder.command) == lock_folder.COMMAND_CHARACTERS

    def test_that_are_named_pipes_do_not_block(self, opened, folder):
        os.mkfifo(folder / "cpu.1-aa.holder")
        assert opened.holders(["cpu"]) == ()
