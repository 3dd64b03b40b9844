"""The append-only history: several sessions, damage, several writers, other file systems."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.storing.history import History

KINDS = {"case": "string", "seed": "int64", "step_time": "float64"}
ROW = {"case": "a", "seed": 1, "step_time": 0.01}

WRITER = """
import sys
from pytest_dlbench.storing.history import History
for number in range(20):
    row = {"case": sys.argv[2], "seed": number, "step_time": 0.01}
    History(address=sys.argv[1]).append([row] * 50, KINDS, machine="m")
""".replace("KINDS", repr(KINDS))

# What the packages start when they are imported is there already, such as the threads of NumPy's OpenBLAS.
STARTED_THREADS = """
import os, sys
import pandas
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.tables import arrow
arrow()
before = len(os.listdir("/proc/self/task"))
history = History(address=sys.argv[1])
history.append([{"case": "a", "seed": 1, "step_time": 0.01}] * 50, KINDS, machine="m")
assert len(history.read().rows) == 50
print(len(os.listdir("/proc/self/task")) - before)
""".replace("KINDS", repr(KINDS))


@pytest.fixture
def history(tmp_path):
    return History(address=str(tmp_path / "history"))


def add(history, *, machine="m", kinds=KINDS, **changes):
    return Path(history.append([{**ROW, **changes}], kinds, machine=machine))


def test_added_rows_are_read_with_their_own_session(history):
    add(history, seed=1)
    add(history, seed=2)
    rows = history.read().rows
    assert sorted(rows["seed"]) == [1, 2]
    assert rows["session"].nunique() == 2


def test_files_are_sorted_by_machine_class_and_day(history):
    path = add(history, machine="linux-acme")
    today = datetime.now(UTC).date()
    assert path.parent.name in (f"date={today}", f"date={today - timedelta(days=1)}")
    assert path.parent.parent.name == "machine_class=linux-acme"


def test_pandas_reads_the_whole_folder_directly(history):
    add(history, machine="a")
    add(history, machine="b")
    rows = pd.read_parquet(history.address)
    assert set(rows["machine_class"]) == {"a", "b"}
    assert set(rows["case"]) == {"a"}


def test_one_machine_class_can_be_read_alone(history):
    add(history, machine="a", seed=1)
    add(history, machine="b", seed=2)
    assert list(history.read(machine="b").rows["seed"]) == [2]


def test_sessions_since_a_given_day_can_be_read_alone(history):
    add(history)
    assert len(history.read(since=datetime.now(UTC).date() - timedelta(days=1)).rows) == 1
    assert history.read(since=date(2999, 1, 1)).rows.empty


def test_columns_that_a_file_lacks_are_missing_values_in_its_rows(history):
    add(history)
    add(history, kinds={**KINDS, "energy": "float64"}, energy=3.0)
    rows = history.read().rows
    assert sorted(rows["energy"].isna()) == [False, True]


def test_only_requested_columns_are_read(history):
    add(history)
    assert list(history.read(columns=["seed", "never-heard-of"]).rows.columns) == ["session", "seed"]


@pytest.mark.parametrize(
    "content",
    [b"", b"rubbish", b"PAR1", b"PAR1" + b"\0" * 40 + b"PAR1"],
    ids=["empty", "text", "start", "ends"],
)
def test_a_damaged_file_is_named_and_the_others_are_read(history, content):
    add(history)
    path = add(history)
    path.write_bytes(content)
    found = history.read()
    assert len(found.rows) == 1
    (damage,) = found.damages
    assert damage.startswith(str(path))


def test_a_file_that_cannot_be_opened_is_named_and_the_others_are_read(history):
    path = add(history)
    folder = path.with_name("no-file.parquet")
    folder.mkdir()
    found = history.read()
    assert len(found.rows) == 1
    assert found.damages[0].startswith(str(folder))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_named_and_the_others_are_read(history, share):
    add(history)
    path = add(history)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    found = history.read()
    assert (len(found.rows), len(found.damages)) == (1, 1)


def test_a_file_with_corrupt_pages_is_named(history):
    add(history)
    path = add(history)
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    found = history.read()
    assert (len(found.rows), len(found.damages)) == (1, 1)


def test_a_file_with_conflicting_types_is_named_by_its_session(history):
    add(history)
    path = add(history, kinds={**KINDS, "step_time": "string"}, step_time="quick")
    found = history.read()
    assert len(found.rows) == 1
    (damage,) = found.damages
    assert path.stem in damage or "its column types conflict" in damage


def test_a_missing_history_is_an_error_that_says_how_to_write_one(history):
    with pytest.raises(FileFormatError, match="--dlbench-history"):
        history.read()


NAME = "0123456789ab"


def append(history, *cases, **changes):
    """The file of a session with this name, after it wrote these cases."""
    return Path(history.append([{**ROW, "case": case} for case in cases], KINDS, machine="m", name=NAME, **changes))


def test_a_resumed_session_replaces_its_own_file_if_cases_were_missing(history):
    before, other = append(history, "a"), add(history, case="c")
    after = append(history, "a", "b", is_resumed=True)
    assert not before.exists()
    assert after.exists()
    assert other.exists()
    rows = history.read().rows
    assert sorted(rows["case"]) == ["a", "b", "c"]
    # It stays the same session.
    assert len(set(rows[rows["case"] != "c"]["session"])) == 1
    assert after.name.startswith(before.name.rpartition("-")[0])


def test_a_resumed_session_that_wrote_everything_leaves_its_file(history):
    before = append(history, "a", "b")
    assert append(history, "a", "b", is_resumed=True) == before
    assert [path.name for path in before.parent.iterdir()] == [before.name]


def test_a_file_that_should_have_been_replaced_is_removed_later(history):
    part = append(history, "a")
    content = part.read_bytes()
    whole = append(history, "a", "b", is_resumed=True)
    # Killed after the one was written, and before the other was removed.
    part.write_bytes(content)
    assert append(history, "a", "b", is_resumed=True) == whole
    assert [path.name for path in whole.parent.iterdir()] == [whole.name]


def test_a_damaged_file_of_a_resumed_session_is_replaced(history):
    before = append(history, "a")
    before.write_bytes(before.read_bytes()[:-9])
    after = append(history, "a", is_resumed=True)
    assert after.exists()
    assert list(history.read().rows["case"]) == ["a"]


def test_two_concurrent_writers_lose_nothing(history):
    command = [sys.executable, "-c", WRITER, history.address]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: subprocess.run([*command, name], check=True), ["a", "b"]))
    found = history.read()
    assert found.damages == ()
    assert found.rows.groupby("case").size().to_dict() == {"a": 1000, "b": 1000}


def test_only_complete_files_remain(history):
    path = add(history)
    assert list(path.parent.iterdir()) == [path]


def test_arrow_starts_no_threads_that_could_abort_the_process_as_it_exits(history):
    command = [sys.executable, "-c", STARTED_THREADS, history.address]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "0\n"


def test_an_fsspec_address_works_too():
    history = History(address="memory://dlbench-test/history")
    where = history.append([ROW], KINDS, machine="m")
    assert where.startswith("memory://dlbench-test/history/machine_class=m/date=")
    assert list(history.read(machine="m").rows["case"]) == ["a"]


def test_an_unknown_address_is_an_error_with_the_address():
    with pytest.raises(DlbenchError, match="nowhere://x"):
        History(address="nowhere://x").append([ROW], KINDS, machine="m")
