"""Drivers in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start tests/running/driver.py with its own cache and folder for temporary files."""
    drivers = []

    def start(builder: str, runs: int, steps: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.running.driver", builder, str(runs), str(steps), str(tmp_path / "data")]
        own = {"XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path), "DLBENCH_LOCKS": str(tmp_path / "locks")}
        environment = {**os.environ, **own}
        drivers.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.kill()
        driver.communicate()
