"""Where a program runs: the Python that runs pytest, a known framework's, or one that the user's files describe."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from pytest_dlbench.environments import local, pixi
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.placing import CURRENT
from pytest_dlbench.environments.specification import requirements
from pytest_dlbench.errors import OptionError

FORMS = (
    "an environment is a requirement ('torch==2.13.0'), several of them in a list, a requirements file, a lock file"
    " (uv.lock, poetry.lock, pixi.lock), or the path of a Python"
)
# Commands that write a lock file's pins as requirements, by the name of the lock file.
EXPORTS = {
    "uv.lock": ("uv", "export", "--frozen", "--no-hashes", "--no-emit-project", "--no-annotate", "--quiet"),
    "poetry.lock": ("poetry", "export", "--without-hashes", "--format=requirements.txt"),
}
PIXI = "pixi.lock"

HERE = Framework(name=CURRENT)
"""The Python that runs pytest, with whatever is installed in it."""


def place_of(given: str | Sequence[str], root: Path, where: str) -> Framework:
    """The environment that a test or a mark names, as a framework without a builder; raises OptionError."""
    if not isinstance(given, str):
        return _of_requirements(tuple(given), "+".join(map(_distribution, given)), where)
    path = root / Path(given).expanduser()
    if path.is_file():
        return _of_file(path, where)
    if os.sep in given or given.endswith((".txt", ".lock")):
        raise OptionError(f"{where}: {given!r}: there is no file {path}; {FORMS}")
    return _of_requirements((given,), _distribution(given), where)


def _of_file(path: Path, where: str) -> Framework:
    if os.access(path, os.X_OK):
        # Not resolved: a virtual environment's bin/python is a link to the Python of another environment.
        parts = path.parts[-3:-2] if path.parent.name == "bin" else (path.stem,)
        return Framework(name=_name("-".join(parts)), python=path, is_explicit=True)
    name = f"{path.parent.name}-{path.stem}" if path.name in (PIXI, *EXPORTS) else path.stem
    return replace(_described(path, name, where), requirements_file=path)


def _described(path: Path, name: str, where: str) -> Framework:
    """The environment of a requirements or lock file."""
    if path.name == PIXI:
        pinned = pixi.read(path, where)
        return _of_requirements(pinned.requirements, name, where, pinned.python)
    wanted = _exported(path, where) if path.name in EXPORTS else tuple(requirements(path, where))
    return _of_requirements(wanted, name, where)


def of_revision(framework: Framework, path: Path, where: str) -> Framework:
    """The same environment with what a revision's file asks for; raises OptionError."""
    (wanted,) = _of_file(path, where).environments
    # By its name, equal files are one environment.
    environment = replace(wanted, name=framework.environments[0].name)
    return replace(framework, environments=(environment,), requirements_file=path)


def _exported(path: Path, where: str) -> tuple[str, ...]:
    """The pins of a lock file, as its own tool writes them."""
    command = EXPORTS[path.name]
    advice = f"or write its pins yourself, and name that file: {' '.join(command)} > requirements.txt"
    if shutil.which(command[0]) is None:
        raise OptionError(f"{where}: {path}: there is no program {command[0]}, which reads it; install it, {advice}")
    done = subprocess.run(
        command, cwd=path.parent, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        raise OptionError(f"{where}: {path}: {' '.join(command)} failed:\n{done.stderr.strip()}\n  fix that, {advice}")
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(done.stdout)
        file.flush()
        return tuple(requirements(Path(file.name), where))


def _of_requirements(wanted: tuple[str, ...], name: str, where: str, python: str = "") -> Framework:
    """An environment for a Python such as "3.12", by default the one that runs pytest."""
    if not wanted:
        raise OptionError(f"{where}: there are no requirements; {FORMS}")
    python = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    if unknown := local.problem(wanted, python):
        raise OptionError(f"{where}: {unknown}")
    environment = Environment(name=_name(name).replace("@", "-"), python=python, requirements=wanted)
    return Framework(name=_name(name), environments=(environment,), is_explicit=True)


def _distribution(text: str) -> str:
    """A short name of a requirement; raises OptionError if it is none."""
    try:
        need = Requirement(text)
    except InvalidRequirement as error:
        raise OptionError(f"environment={text!r}: {error}; {FORMS}") from None
    return f"{need.name}{str(need.specifier).replace('==', '')}"


def _name(text: str) -> str:
    """The name of the environment in ids, with one plain name for all of them."""
    return f"{CURRENT}@{re.sub(r'[^a-zA-Z0-9_.+-]', '_', text)}"
