"""The commands that build an environment: with uv where possible, else with the interpreter's own venv and pip."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.interpreters import Interpreter, clean_environment, uv

# uv does not support older Pythons.
OLDEST_FOR_UV = (3, 8)
# The pip that comes with Python 3.6 does not support manylinux2014, and newer versions do not support Python 3.6.
TOOLS = {"3.6": ("pip==21.3.1", "setuptools==59.6.0", "wheel==0.37.1")}
# pip's settings as uv options. pip looks for the best version in all indexes, uv by default only in the first one that
# has the package.
UV_FLAGS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}


def ways(environment: Environment, interpreter: Interpreter, folder: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """(name of the tool, its commands), the preferred one first; the others are fallbacks."""
    program = uv()
    if program and tuple(map(int, interpreter.version.split("."))) >= OLDEST_FOR_UV:
        yield "uv", _by_uv(program, environment, interpreter, folder)
    yield "pip", _by_pip(environment, interpreter, folder)


def _by_uv(program: str, environment: Environment, interpreter: Interpreter, folder: Path) -> list[list[str]]:
    install = [program, "pip", "install", "--python", str(python_of(folder))]
    install += ["--index-strategy", "unsafe-best-match", *_uv_settings()]
    install += ["--build-constraints", str(constraints_of(folder))] if environment.build_constraints else []
    return [
        [program, "venv", "--quiet", "--no-project", "--python", interpreter.executable, str(folder)],
        [*install, *environment.requirements],
    ]


def _by_pip(environment: Environment, interpreter: Interpreter, folder: Path) -> list[list[str]]:
    install = [str(python_of(folder)), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    commands = [[interpreter.executable, "-m", "venv", str(folder)]]
    if tools := TOOLS.get(interpreter.version):
        commands.append([*install, *tools])
    return [*commands, [*install, *environment.requirements]]


def python_of(folder: Path) -> Path:
    """The Python of a virtual environment."""
    return folder / "bin" / "python"


def constraints_of(folder: Path) -> Path:
    """The file, next to the environment, that pins what source distributions are built with."""
    return folder.with_name(f"{folder.name}-build-constraints.txt")


def variables(environment: Environment, folder: Path) -> dict[str, str]:
    """The commands' environment variables: the user's own settings, and the pins for building source distributions."""
    found = clean_environment()
    # What is not compiled now would be in the first run, whose import would take longer than that of the others.
    found.setdefault("UV_COMPILE_BYTECODE", "1")
    if environment.build_constraints:
        found["PIP_CONSTRAINT"] = str(constraints_of(folder))
    if "PIP_CERT" in found:
        found.setdefault("SSL_CERT_FILE", found["PIP_CERT"])
    elif cert := pip_settings().get("cert"):
        found.setdefault("SSL_CERT_FILE", cert[0])
    return found


def _uv_settings() -> Sequence[str]:
    found: list[str] = []
    for key, values in pip_settings().items():
        for value in values:
            if key in UV_FLAGS and not _is_missing_folder(value):
                found += [UV_FLAGS[key], value]
            elif key == "no-index" and value.lower() in ("1", "true", "yes", "on"):
                found.append("--no-index")
    return found


def _is_missing_folder(value: str) -> bool:
    # pip only warns about a local index that does not exist; uv fails.
    return value.startswith("file://") and not Path(value.removeprefix("file://")).exists()


@cache
def pip_settings() -> dict[str, tuple[str, ...]]:
    """The user's pip configuration by key: files and variables, in pip's order of precedence."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    lines = told.stdout.splitlines() if told.returncode == 0 else _from_variables()
    return parse_pip_settings(lines)


def parse_pip_settings(lines: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """``pip config list`` as {key: values}: variables override a command's section, which overrides global."""
    ranked: dict[str, tuple[int, tuple[str, ...]]] = {}
    for line in lines:
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        rank = {"global": 0, "install": 1, ":env:": 2}.get(section)
        if rank is not None and rank >= ranked.get(key, (-1,))[0]:
            ranked[key] = (rank, tuple(str(ast.literal_eval(value)).split()))
    return {key: values for key, (_, values) in ranked.items()}


def _from_variables() -> list[str]:
    pairs = ((name, value) for name, value in os.environ.items() if name.startswith("PIP_"))
    return [f":env:.{name.removeprefix('PIP_').lower().replace('_', '-')}={value!r}" for name, value in pairs]
