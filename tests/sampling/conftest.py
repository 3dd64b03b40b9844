"""A process that does what it is told, and the tree that watches it."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from pytest_dlbench.sampling.processes import ProcessTree

# Reads one line of Python after another, and answers each when it is done.
OBEDIENT = """
import mmap, subprocess, sys, time

def allocate(mebibytes):
    return bytearray(b"x") * (mebibytes * 2**20)

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        # Asking for the time is the kernel's work; this is our own.
        sum(range(20000))

def spike(mebibytes):
    # A mapping of its own, which goes back to the kernel at once.
    with mmap.mmap(-1, mebibytes * 2**20) as memory:
        for page in range(0, len(memory), 4096):
            memory[page] = 1

def child():
    return subprocess.Popen([sys.executable, "-S", "-c", SOURCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def tell(process, line):
    process.stdin.write(line.encode() + b"\\n")
    process.stdin.flush()
    return process.stdout.readline()

for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
SOURCE = f"SOURCE = {OBEDIENT!r}\n{OBEDIENT}"


@pytest.fixture
def obedient() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-S", "-c", f"SOURCE = {SOURCE!r}\n{OBEDIENT}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            child.kill()
        process.kill()
        process.communicate()


@pytest.fixture
def do(obedient: subprocess.Popen[str]) -> Callable[[str], None]:
    """Have a line of Python done in the process."""

    def do(line: str) -> None:
        obedient.stdin.write(f"{line}\n")
        obedient.stdin.flush()
        assert obedient.stdout.readline() == "done\n"

    do("pass")
    return do


@pytest.fixture
def tree(obedient: subprocess.Popen[str], do: Callable[[str], None]) -> ProcessTree:
    return ProcessTree(obedient.pid)
