"""PyTorch's place taken by builders/hungry_pytorch.py: ``pytest -p tests.doubles.hungry_pytorch``."""

from pathlib import Path

from pytest_dlbench.environments import Framework


def pytest_dlbench_frameworks():
    folder = Path(__file__).parent / "builders"
    return [Framework(name="pytorch", builder="hungry_pytorch", needs=("torch",), folders=(folder,))]
