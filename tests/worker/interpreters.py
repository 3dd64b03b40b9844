"""The Pythons that the worker must run under, each with an environment that contains only NumPy.

python -m tests.worker.interpreters     # the installed versions, in the format of DLBENCH_REQUIRE_PYTHONS
"""

import os

import pytest

from pytest_dlbench.environments import Environment
from pytest_dlbench.environments.interpreters import Interpreter, find

# For each Python, the newest NumPy with wheels for it.
NUMPY = {
    "3.6": "1.19.5",
    "3.7": "1.21.6",
    "3.8": "1.24.4",
    "3.9": "2.0.2",
    "3.10": "2.2.6",
    "3.11": "2.4.6",
    "3.12": "2.4.6",
    "3.13": "2.4.6",
}
ENVIRONMENTS = {
    version: Environment(name=f"numpy-python{version}", python=version, requirements=(f"numpy=={numpy}",))
    for version, numpy in NUMPY.items()
}


def required() -> frozenset[str]:
    """The versions that must not be missing: DLBENCH_REQUIRE_PYTHONS, separated by commas."""
    return frozenset(filter(None, os.environ.get("DLBENCH_REQUIRE_PYTHONS", "").replace(" ", "").split(",")))


def found(version: str) -> Interpreter:
    """A Python; the test fails without it if it must not be missing, and is skipped otherwise."""
    interpreter = find(version)
    if interpreter is None:
        missing = f"Python {version} is not on this machine: no python{version} on PATH, nor among pyenv's versions"
        if version in required():
            pytest.fail(f"{missing}; DLBENCH_REQUIRE_PYTHONS asks for it")
        pytest.skip(missing)
    return interpreter


if __name__ == "__main__":
    print(",".join(version for version in NUMPY if find(version)))
