"""A framework in an environment that the user names: ``pytorch==2.12.0``, ``jax@pins.txt``, ``mine@/bin/python``."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.errors import OptionError, unknown_name

FORMS = "NAME, NAME==VERSION, NAME@REQUIREMENTS.txt or NAME@/path/to/python"
# These refer to other files or to a working tree, whose content the hash would not cover.
REFERRING = ("-r", "-c", "-e", "--requirement", "--constraint", "--editable")


def is_specification(text: str) -> bool:
    """Whether a name also specifies an environment."""
    return "==" in text or "@" in text


def specified(text: str, frameworks: Mapping[str, Framework], where: str) -> Framework:
    """The framework in the requested environment; raises OptionError."""
    name, separator, rest = re.split(r"(==|@)", text, maxsplit=1)
    if name not in frameworks:
        raise OptionError(unknown_name("framework", name, where, frameworks))
    marks = frameworks[name].marks
    framework = replace(frameworks[name], is_explicit=True, more_marks=marks)
    if separator == "==":
        return replace(framework, name=text, environments=(_of_version(framework, rest, where),))
    path = Path(rest).expanduser().absolute()
    try:
        is_file = path.is_file()
    except OSError as error:
        raise OptionError(f"{where}: {text!r}: {error.strerror}; an environment is {FORMS}") from error
    if not is_file:
        raise OptionError(f"{where}: {text!r}: there is no file {path}; an environment is {FORMS}")
    named = replace(framework, name=f"{name}@{_short(path)}")
    if os.access(path, os.X_OK):
        # Not resolved: a virtual environment's bin/python is a link to the Python of another environment.
        return replace(named, python=path, environments=())
    return replace(named, environments=(_of_file(framework, path, where),))


def _of_version(framework: Framework, version: str, where: str) -> Environment:
    if not framework.package or not framework.environments:
        raise OptionError(f"{where}: {framework.name!r} has no package whose version could be chosen")
    try:
        wanted = Version(version)
    except InvalidVersion:
        raise OptionError(
            f"{where}: {version!r} is not a version; expected something like {framework.name}==2.1"
        ) from None
    fitting = [environment for environment in framework.environments if wanted >= Version(environment.since)]
    if not fitting:
        oldest = min((environment.since for environment in framework.environments), key=Version)
        raise OptionError(f"{where}: {framework.name} is supported from version {oldest} on, not {version}")
    return pinned(max(fitting, key=lambda environment: Version(environment.since)), framework.package, version)


def pinned(environment: Environment, package: str, version: str) -> Environment:
    """The same environment with another version of one package; with the same version it is the same environment.

    Packages released together with it, such as jaxlib with jax or mlx-cpu with mlx, get the same version.
    """
    pins = {name: release for name, _, release in (pin.partition("==") for pin in environment.requirements)}
    together = {name for name, release in pins.items() if name.startswith(package) and release == pins.get(package)}
    requirements = tuple(
        f"{name}=={version}" if name in together else pin
        for name, pin in zip(pins, environment.requirements, strict=True)
    )
    return replace(environment, requirements=requirements)


def _of_file(framework: Framework, path: Path, where: str) -> Environment:
    if not framework.environments:
        raise OptionError(
            f"{where}: {framework.name!r} has no environment; name a Python: {framework.name}@/path/to/python"
        )
    return replace(framework.environments[0], requirements=tuple(requirements(path, where)))


def requirements(path: Path, where: str) -> Iterator[str]:
    """The requirements and options of a file that refers to no other; raises OptionError.

    Hashes are dropped: environments are built from versions, and installers accept hashes only in files.
    """
    for number, line in _joined(path.read_text().splitlines()):
        text = re.sub(r"\s--hash[= ]\S+", "", line).strip()
        if text.startswith(REFERRING):
            raise OptionError(
                f"{where}: {path}:{number}: {text!r} refers to other files; copy their content into this one"
            )
        # An option and its value are two words; a requirement is one, even with spaces.
        yield from text.split() if text.startswith("-") else [text] if text else []


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined where a backslash continues them, each with the number of its last line."""
    begun = ""
    for number, line in enumerate(lines, start=1):
        text = begun + re.sub(r"(^|\s)#.*", "", line).rstrip()
        begun = text.removesuffix("\\") if text.endswith("\\") else ""
        if not begun:
            yield number, text
    if begun:
        yield len(lines), begun


def _short(path: Path) -> str:
    """A short name of a file for ids: its last parts."""
    parts = path.parts[-3:-2] if path.parent.name == "bin" else (path.stem,)
    return re.sub(r"[^\w.+-]", "_", "-".join(parts))
