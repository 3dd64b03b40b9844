"""builders/slowed_pytorch.py as a framework alongside PyTorch, for pairs of the two."""

from pathlib import Path

from pytest_dlbench.environments import Framework


def pytest_dlbench_frameworks():
    folder = Path(__file__).parent / "builders"
    return [Framework(name="slowed-pytorch", builder="slowed_pytorch", needs=("torch",), folders=(folder,))]
