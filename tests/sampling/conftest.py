"""A process that runs scripted commands, and the process tree that samples it."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from pytest_dlbench.sampling.processes import ProcessTree

# Runs one line of Python after another, and answers after each.
SCRIPT = """
import mmap, subprocess, sys, time

def allocate(mebibytes):
    return bytearray(b"x") * (mebibytes * 2**20)

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        # Reading the time spends system time; this spends user time.
        sum(range(20000))

def spike(mebibytes):
    # A separate mapping, which returns to the kernel at once.
    with mmap.mmap(-1, mebibytes * 2**20) as memory:
        for page in range(0, len(memory), 4096):
            memory[page] = 1

def child():
    return subprocess.Popen([sys.executable, "-S", "-c", SOURCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def send(process, line):
    process.stdin.write(line.encode() + b"\\n")
    process.stdin.flush()
    return process.stdout.readline()

for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
SOURCE = f"SOURCE = {SCRIPT!r}\n{SCRIPT}"


@pytest.fixture
def scripted() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-S", "-c", f"SOURCE = {SOURCE!r}\n{SCRIPT}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            child.kill()
        process.kill()
        process.communicate()


@pytest.fixture
def do(scripted: subprocess.Popen[str]) -> Callable[[str], None]:
    """Run a line of Python in the process."""

    def do(line: str) -> None:
        scripted.stdin.write(f"{line}\n")
        scripted.stdin.flush()
        assert scripted.stdout.readline() == "done\n"

    do("pass")
    return do


@pytest.fixture
def tree(scripted: subprocess.Popen[str], do: Callable[[str], None]) -> ProcessTree:
    return ProcessTree(scripted.pid)
