"""Several processes that prepare the same data set."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dlbench.data.preparation import prepare

# Prepares a data set of a few megabytes, so that one process is still writing when the next one comes.
SCRIPT = """
import os
import sys
from pathlib import Path

import numpy as np

from pytest_dlbench.data import Arrays, Dataset
from pytest_dlbench.data.preparation import prepare

root, log, deed = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]


def make():
    with log.open("a") as file:
        file.write("made\\n")
    if deed == "die":
        os._exit(7)
    images, labels = np.random.default_rng(1).random((800, 3, 32, 32), dtype=np.float32), np.zeros(800, np.int64)
    return Arrays(train_inputs=images, train_labels=labels, test_inputs=images, test_labels=labels)


dataset = Dataset(
    name="counted", version=1, shape=(3, 32, 32), classes=1, train_examples=800, test_examples=800, make=make
)
print("ready", flush=True)
sys.stdin.readline()
print(prepare(dataset, root).digest)
"""
TIMEOUT_SECONDS = 60


@pytest.fixture
def log(tmp_path):
    return tmp_path / "made.txt"


@pytest.fixture
def start(root, log):
    processes = []

    def begin(deed="finish"):
        command = [sys.executable, "-c", SCRIPT, str(root), str(log), deed]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def digests_of(*processes):
    """Let all continue at once, when each of them is ready."""
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * len(processes)
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate(timeout=TIMEOUT_SECONDS)[0].strip() for process in processes]


def times_made(log: Path) -> int:
    return len(log.read_text().splitlines())


def test_three_processes_at_once_create_it_exactly_once(start, log):
    digests_of(start(), start(), start())
    assert times_made(log) == 1


def test_three_processes_at_once_get_the_same_data(start):
    digests = digests_of(start(), start(), start())
    assert digests[0]
    assert len(set(digests)) == 1


def test_a_later_process_does_not_create_it_again(start, log):
    digests_of(start())
    digests_of(start())
    assert times_made(log) == 1


def test_a_process_that_dies_during_creation_does_not_block_others(start, root, counted):
    dying = start("die")
    digests_of(dying)
    assert dying.returncode == 7
    assert prepare(counted.dataset(), root).part("train_inputs").is_file()
