"""PyTorch's place taken by builders/forgetful_pytorch.py: ``pytest -p tests.doubles.forgetful_pytorch``."""

from pathlib import Path

from pytest_dlbench.environments import Framework


def pytest_dlbench_frameworks():
    folder = Path(__file__).parent / "builders"
    return [Framework(name="pytorch", builder="forgetful_pytorch", needs=("torch",), folders=(folder,))]
