"""A suite of 10,000 cases, its bare counterpart, and the time that pytest takes to collect either."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

CASES = 10_000

BARE = f"""
import pytest

@pytest.mark.parametrize("number", range({CASES}))
def test_nothing(number):
    pass
"""

# 2 frameworks x 1,000 models x 5 data sets x 1 device, every cell with its marks.
SUITE = """
from dataclasses import replace
import pytest
from pytest_dlbench.data import DATASETS
from pytest_dlbench.zoo import MODELS

lenet, digits = MODELS["gatech-lenet"], DATASETS["digits28"]

@pytest.fixture(params=["pytorch", "jax"])
def framework(request):
    return request.param

@pytest.fixture(params=[replace(lenet, name=f"lenet{number}") for number in range(1000)])
def model(request):
    return request.param

@pytest.fixture(params=[replace(digits, name=f"digits{number}") for number in range(5)])
def dataset(request):
    return request.param

@pytest.fixture(params=["cpu"])
def device(request):
    return request.param
"""

TEST = """
def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)
"""


def write(folder: Path) -> tuple[Path, Path]:
    """Write both; returns the folders of the suite and of the bare tests."""
    suite, bare = folder / "suite", folder / "bare"
    for place, files in ((suite, {"conftest.py": SUITE, "test_suite.py": TEST}), (bare, {"test_bare.py": BARE})):
        place.mkdir(parents=True)
        for name, content in files.items():
            (place / name).write_text(content)
    return suite, bare


def seconds(pytest: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """Seconds of one collection in a fresh process; ``pytest`` is the command with its plugins."""
    command = [*pytest, "--collect-only", "-q", "-p", "no:cacheprovider"]
    # With bytecode on disk, as everywhere except in some containers.
    kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = monotonic()
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    ended = monotonic()
    if done.returncode or f"{CASES} tests collected" not in done.stdout:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return ended - began
