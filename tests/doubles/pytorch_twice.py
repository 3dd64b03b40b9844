"""PyTorch under three more names: identical, 10 % and 20 % slower. ``pytest -p tests.doubles.pytorch_twice``."""

from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_dlbench.environments import Framework
from pytest_dlbench.planning.registry import KNOWN


def pytest_dlbench_frameworks():
    plain = cast("Framework", KNOWN.values["framework"]["pytorch"])
    folder = Path(__file__).parent / "builders"
    slower = replace(plain, name="pytorch-slower", builder="tenth_slower_pytorch", folders=(folder,))
    slow = replace(slower, name="pytorch-slow", builder="fifth_slower_pytorch")
    return [replace(plain, name="pytorch-again"), slower, slow]
