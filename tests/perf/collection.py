"""What collecting a large matrix costs: 10,000 cases against bare pytest collecting 10,000 parametrized empty tests.

python -m tests.perf.collection --pairs 10
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

from tests.perf.pairs import median_ratio

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


def collect(folder: Path, *options: str) -> float:
    """Seconds of one collection."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    began = monotonic()
    # With bytecode on the disk, as everywhere but in some containers.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    seconds = monotonic() - began
    if f"{CASES} tests collected" not in done.stdout:
        raise SystemExit(done.stdout[-2000:])
    return seconds


def main() -> None:
    """Collect in turn and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bare, suite = Path(name) / "bare", Path(name) / "suite"
        for folder, files in ((bare, {"test_bare.py": BARE}), (suite, {"conftest.py": SUITE, "test_suite.py": TEST})):
            folder.mkdir()
            for file, content in files.items():
                (folder / file).write_text(content)
        collect(suite), collect(bare)
        pairs = [(collect(suite), collect(bare, "-p", "no:dlbench")) for _ in range(asked.pairs)]
    ours, theirs = zip(*pairs, strict=True)
    print(
        f"{CASES} cases: {sorted(ours)[len(ours) // 2]:.2f} s, bare {sorted(theirs)[len(theirs) // 2]:.2f} s (medians)"
    )
    print(f"ratio {median_ratio(ours, theirs)}")


if __name__ == "__main__":
    main()
