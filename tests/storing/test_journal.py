import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import RunOutcome, codec
from pytest_dlbench.storing import Damage, Entry, Journal, read_journal
from tests.doubles import disks, records


def entry(seed=1, **changes):
    return Entry(run=records.run(seed, **changes), context=records.context())


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journals")


@pytest.fixture
def full(journal):
    """A journal of three entries."""
    for seed in (1, 2, 3):
        journal.append(entry(seed))
    return journal


def kept(path):
    return [read for read in read_journal(path) if isinstance(read, Entry)]


def damages(path):
    return [read.message for read in read_journal(path) if isinstance(read, Damage)]


# Writing


def test_there_is_no_file_before_the_first_entry(journal):
    assert not journal.path.exists()


def test_two_sessions_of_a_process_in_one_second_have_their_own_journals(tmp_path):
    first = Journal(tmp_path)
    first.path.touch()
    second = Journal(tmp_path)

    assert second.path.name > first.path.name


def test_an_entry_is_one_line_of_json(journal):
    journal.append(entry())
    (line,) = journal.path.read_text().splitlines(keepends=True)
    assert line.endswith("}\n")
    assert json.loads(line)["run"]["seed"] == 1


def test_entries_are_read_as_they_were_written(full):
    assert kept(full.path) == [entry(1), entry(2), entry(3)]


def test_a_result_is_read_as_it_was_written(journal):
    judged = Entry(result=records.case_result(verdicts=(records.verdict(),)))
    journal.append(judged)
    assert kept(journal.path) == [judged]


@pytest.mark.parametrize("outcome", RunOutcome)
def test_a_run_is_kept_however_it_ended(journal, outcome):
    journal.append(entry(outcome=outcome, training=None, evaluation=None, message="line 1\nline 2\r\nline 3\u2028"))
    assert kept(journal.path)[0].run.outcome is outcome


@pytest.fixture
def synced(journal, monkeypatch):
    """What is synced to disk, in order, each with the number of complete entries in the file by then."""
    made = []
    fsync = os.fsync

    def watch(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        made.append(("folder" if is_folder else "file", len(kept(journal.path))))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    return made


def test_an_entry_is_written_before_it_is_synced(journal, synced):
    journal.append(entry(1))
    synced.clear()
    journal.append(entry(2))
    assert synced == [("file", 2)]


def test_a_new_journal_is_synced_with_its_name(journal, synced):
    journal.append(entry())
    assert synced == [("file", 1), ("folder", 1)]


def open_files():
    return {path.name for path in Path("/dev/fd").iterdir()}


def test_after_an_entry_no_file_stays_open(journal):
    before = open_files()
    journal.append(entry())
    assert open_files() <= before


def test_an_empty_entry_is_refused():
    with pytest.raises(ValueError, match="an entry has a run or a result"):
        Entry(context=records.context())


def test_the_name_has_the_time_and_the_process(journal):
    stamp, process = journal.path.stem.split("-")
    assert (len(stamp), stamp[8], process) == (15, "T", str(os.getpid()))


def test_workers_of_one_session_have_separate_journals(tmp_path):
    assert Journal(tmp_path, "gw0").path.name.endswith("-gw0.jsonl")


# Damage


def test_a_missing_journal_is_reported_with_its_name(tmp_path):
    with pytest.raises(FileFormatError, match=r"nowhere\.jsonl: No such file"):
        list(read_journal(tmp_path / "nowhere.jsonl"))


def test_an_empty_journal_has_no_entries(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    assert list(read_journal(path)) == []


def cut_last(path):
    path.write_bytes(path.read_bytes()[:-40])


def damage_second(path, line=b'{"format": 1, "run": {"seed": "two"}}'):
    first, _, third = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, line, third, b""]))


def test_a_truncated_last_line_is_reported_with_the_file_and_its_number(full):
    cut_last(full.path)
    (message,) = damages(full.path)
    assert message.startswith(f"{full.path}, line 3: not complete JSON")


def test_the_lines_before_a_truncated_one_are_kept(full):
    cut_last(full.path)
    assert kept(full.path) == [entry(1), entry(2)]


def test_a_damaged_line_in_the_middle_is_reported_with_the_file_and_its_number(full):
    damage_second(full.path)
    (message,) = damages(full.path)
    assert message.startswith(f"{full.path}, line 2: ")


def test_a_damaged_line_is_reported_with_the_path_in_it(full):
    damage_second(full.path)
    assert "Expected `int`, got `str` - at `$.run.seed`" in damages(full.path)[0]


def test_the_lines_around_a_damaged_one_are_kept(full):
    damage_second(full.path)
    assert kept(full.path) == [entry(1), entry(3)]


@pytest.mark.parametrize("line", [b"", b"\x00" * 100, b"\xff\xfe", b"[]", b"null", b"{}"])
def test_any_content_damages_only_its_own_line(full, line):
    damage_second(full.path, line)
    assert (len(damages(full.path)), kept(full.path)) == (1, [entry(1), entry(3)])


def test_an_empty_object_is_reported_with_what_is_missing(full):
    damage_second(full.path, b"{}")
    assert "line 2: an entry has a run or a result" in damages(full.path)[0]


def test_an_entry_after_a_truncated_line_is_kept(full):
    cut_last(full.path)
    full.append(entry(4))
    assert kept(full.path) == [entry(1), entry(2), entry(4)]


def test_an_entry_after_a_truncated_line_adds_no_damage(full):
    cut_last(full.path)
    full.append(entry(4))
    (message,) = damages(full.path)
    assert message.startswith(f"{full.path}, line 3: not complete JSON")


def test_the_first_entry_of_an_empty_file_is_its_first_line(journal):
    journal.path.parent.mkdir()
    journal.path.touch()
    journal.append(entry())
    assert list(read_journal(journal.path)) == [entry()]


def test_a_damage_is_in_the_position_of_its_line(full):
    damage_second(full.path)
    assert [type(read) for read in read_journal(full.path)] == [Entry, Damage, Entry]


def test_a_damage_says_that_the_other_lines_are_kept(full):
    cut_last(full.path)
    assert damages(full.path)[0].endswith("the line is skipped, the others are kept")


def test_a_line_of_another_format_is_reported_with_both_numbers(full):
    damage_second(full.path, b'{"format": 4, "all": "is different"}')
    assert "line 2: format 4; this version reads 1, 2 and 3" in damages(full.path)[0]


# Real processes

KILLED = """
import os, signal, sys
from pathlib import Path
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records
journal = Journal(Path(sys.argv[1]))
for seed in range(1, 21):
    journal.append(Entry(run=records.run(seed), context=records.context()))
os.kill(os.getpid(), signal.SIGKILL)
"""

# Longer than a pipe buffer or a page, so that a write in pieces would show.
WRITER = """
import sys
from pathlib import Path
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records
path, name = Path(sys.argv[1]), sys.argv[2]
journal = Journal(path.parent)
journal.path = path
print("ready", flush=True)
sys.stdin.readline()
for seed in range(1, 31):
    journal.append(Entry(run=records.run(seed, message=name * 20_000), context=records.context()))
"""


def start(program, *arguments, root):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )


@pytest.fixture
def root(pytestconfig):
    return pytestconfig.rootpath


def test_a_process_killed_right_after_an_entry_loses_none(tmp_path, root):
    with start(KILLED, tmp_path, root=root) as process:
        assert process.wait(60) == -signal.SIGKILL
    (path,) = tmp_path.iterdir()
    assert list(read_journal(path)) == [entry(seed) for seed in range(1, 21)]


def test_two_processes_writing_to_one_journal_do_not_interleave_lines(tmp_path, root):
    path = tmp_path / "shared.jsonl"
    with start(WRITER, path, "a", root=root) as one, start(WRITER, path, "b", root=root) as other:
        for process in (one, other):
            assert process.stdout.readline() == "ready\n"
        for process in (one, other):
            process.stdin.write("go\n")
            process.stdin.flush()
        assert (one.wait(60), other.wait(60)) == (0, 0)
    assert not damages(path)
    for name in "ab":
        assert [read.run.seed for read in kept(path) if read.run.message[0] == name] == list(range(1, 31))


# What git sees


def test_git_ignores_a_folder_that_is_created(journal):
    journal.append(entry())
    assert (journal.path.parent / ".gitignore").read_text().splitlines()[-1] == "*"


def test_a_folder_that_exists_is_not_hidden_from_git(tmp_path):
    Journal(tmp_path).append(entry())
    assert not (tmp_path / ".gitignore").exists()


# Disks that refuse

APPEND = """
import sys
from pathlib import Path
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records
journal = Journal(Path(sys.argv[1]))
for seed in range(1, 7):
    journal.append(Entry(run=records.run(seed), context=records.context()))
print(journal.path)
print(journal.problem)
"""


def appended(folder, command, monkeypatch):
    """The path of a journal of six entries and its problem, where the disk refuses."""
    monkeypatch.setenv("TMPDIR", str(folder))
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_a_journal_that_may_not_be_written_goes_on_elsewhere_and_says_where(tmp_path, monkeypatch):
    folder = tmp_path / "journals"
    folder.mkdir(mode=0o555)
    command = disks.where_read_only_counts(sys.executable, "-c", APPEND, str(folder))
    path, problem = appended(tmp_path, command, monkeypatch)
    assert kept(Path(path)) == [entry(seed) for seed in range(1, 7)]
    assert problem.startswith(f"{folder}/")
    assert "(Permission denied): make the place writable" in problem
    assert problem.endswith(f"this session's journal is {path}: move it to {folder}")


def test_a_journal_on_a_disk_that_fills_up_keeps_what_fits_and_says_so(tmp_path, monkeypatch):
    size = 3 * len(codec.checked_line(entry())) + 100
    command = disks.with_files_up_to(size, sys.executable, "-c", APPEND, str(tmp_path / "journals"))
    path, problem = appended(tmp_path, command, monkeypatch)
    assert kept(Path(path)) == [entry(1), entry(2), entry(3)]
    assert "cannot be written (File too large): raise the limit" in problem
    assert problem.endswith("some runs are in no file")
