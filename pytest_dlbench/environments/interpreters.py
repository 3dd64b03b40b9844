"""Finds a Python of a given version on this machine: on PATH, among pyenv's versions, or through uv."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pytest_dlbench.errors import EnvironmentMissingError, OptionError

PROBE_SECONDS = 60
# Without ensurepip, as in Debian's own Python, no environment can be created. The real path is needed because this
# process may run in an environment that the next one does not have.
PROBE = "import ensurepip, os, sys; print('%d.%d.%d' % sys.version_info[:3]); print(os.path.realpath(sys.executable))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python that was started and reported its own version; ``release`` is, for example, 3.6.15."""

    release: str
    executable: str

    @property
    def version(self) -> str:
        """The minor version, such as 3.6."""
        return self.release.rpartition(".")[0]


@cache
def find(version: str) -> Interpreter | None:
    """The first interpreter of this minor version that can create an environment, or None."""
    probed = (probe(candidate) for candidate in _candidates(version))
    return next((found for found in probed if found and found.version == version), None)


def probe(executable: str) -> Interpreter | None:
    """What a Python reports about itself, or None if it cannot be started or has no ensurepip."""
    try:
        # pyenv has a shim for every installed version; shims of versions that are not active fail.
        told = subprocess.run(
            [executable, "-c", PROBE],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = told.stdout.splitlines()
    if told.returncode or len(lines) != 2:
        return None
    return Interpreter(release=lines[0], executable=lines[1])


def chosen(path: str, version: str, where: str) -> Interpreter:
    """The interpreter that a user chose for this version; raises OptionError for an unsuitable one."""
    found = probe(path)
    if found is None:
        raise OptionError(f"{where}: {path!r} is not a Python that can create environments (with venv and ensurepip)")
    if found.version != version:
        raise OptionError(f"{where}: expected Python {version}, {path!r} is {found.release}")
    return found


def parse_choices(value: str, where: str) -> Mapping[str, str]:
    """Comma-separated ENVIRONMENT=PATH pairs as {environment: path}; raises OptionError."""
    pairs = [pair.strip().partition("=") for pair in value.split(",") if pair.strip()]
    for name, separator, path in pairs:
        if not (name and separator and path):
            raise OptionError(f"{where}: expected ENVIRONMENT=/path/to/python, got {name + separator + path!r}")
    return {name: path for name, _, path in pairs}


def _candidates(version: str) -> Iterator[str]:
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        yield sys.executable
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted((root / "versions").glob(f"{version}.*/bin/python"), reverse=True))
    yield from _from_uv(version)


def _from_uv(version: str) -> Iterator[str]:
    if program := uv():
        command = [program, "python", "find", "--no-python-downloads", "--system", version]
        told = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
        if told.returncode == 0:
            yield told.stdout.strip()


@cache
def uv() -> str | None:
    """The uv program: on PATH, or from the package in this Python's environment."""
    beside = Path(sys.executable).with_name("uv")
    return shutil.which("uv") or (str(beside) if os.access(beside, os.X_OK) else None)


def clean_environment() -> dict[str, str]:
    """The environment variables of this process without Python's own; pip's settings stay."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "__PYVENV"))}


def missing(version: str, name: str) -> EnvironmentMissingError:
    """The error for a Python that is not installed, with three ways to get it."""
    by_uv = f"uv python install {version}" if _minor(version) >= 8 else f"conda create -n py{version} python={version}"
    return EnvironmentMissingError(
        f"environment {name!r} needs Python {version}, which is not installed. Three ways to get it:\n"
        f"  pyenv install {version}\n"
        f"  {by_uv}\n"
        f"  use an existing one: --dlbench-python {name}=/path/to/python{version}"
    )


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
