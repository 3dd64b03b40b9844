"""Which frameworks are compared with each other: ``--dlbench-ab OLD,NEW``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.frameworks import AGAIN
from pytest_dlbench.environments.requested import OR, exact_version, version_of_file
from pytest_dlbench.environments.specification import requirements, since
from pytest_dlbench.errors import OptionError
from pytest_dlbench.planning.registry import Registry

WHERE = "--dlbench-ab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Baseline and candidate: one framework in two environments, or two frameworks."""

    old: Framework
    new: Framework


def sides_of(asked: Sequence[str], frameworks: Sequence[str], registry: Registry) -> tuple[Sides, ...]:
    """The sides that ``--dlbench-ab`` names: as in ``--dlbench-frameworks``, or as requirements files.

    The same name twice is an A/A test.
    Two requirements files select every framework that both pin, but variants such as pytorch-compile only if
    ``frameworks`` names them. Raises OptionError.
    """
    if not asked:
        return ()
    files = [Path(text).expanduser().absolute() for text in asked]
    if any(file.is_file() for file in files):
        return _of_files(files, frameworks, registry)
    if frameworks:
        raise OptionError(f"{WHERE} already names the frameworks: omit --dlbench-frameworks")
    old, new = (cast("Framework", registry.find("framework", text, WHERE)) for text in asked)
    if old.name == new.name:
        # The cases of both sides are in one journal, so they need names of their own.
        new = replace(new, name=f"{new.name}{AGAIN}")
    return (Sides(old=old, new=new),)


def _of_files(files: Sequence[Path], frameworks: Sequence[str], registry: Registry) -> tuple[Sides, ...]:
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise OptionError(f"{WHERE}: {missing[0]} does not exist; expected two requirements files, or two frameworks")
    if files[0].stem == files[1].stem:
        raise OptionError(f"{WHERE}: both files are named {files[0].stem!r}, so their cases would clash: rename one")
    pins = [_pins(file) for file in files]
    known = cast("dict[str, Framework]", registry.values["framework"])
    names = frameworks or [name for name, framework in known.items() if not set(framework.more_marks) & known.keys()]
    found = [name for name in names if not any(not_pinned(known[name], pinned) for pinned in pins)]
    if not found:
        asked = f"of {', '.join(frameworks)} " if frameworks else ""
        raise OptionError(f"{WHERE}: no framework {asked}is pinned in both {files[0]} and {files[1]}")
    sides = (
        [cast("Framework", registry.find("framework", f"{name}@{file}", WHERE)) for file in files] for name in found
    )
    return tuple(Sides(old=old, new=new) for old, new in sides)


def _pins(file: Path) -> dict[str, Requirement]:
    lines = requirements(file, WHERE)
    return {canonicalize_name(pin.name): pin for pin in _parsed(line for line in lines if not line.startswith("-"))}


def _parsed(lines: Iterator[str]) -> Iterator[Requirement]:
    """The pinned requirements; other lines, such as the value of an option, are ignored."""
    for line in lines:
        if "==" in line or re.match(r"[\w.,\[\]-]+\s*@", line):
            yield Requirement(line)


def not_pinned(framework: Framework, pins: Mapping[str, Requirement]) -> str:
    """Why these pins choose no version that the framework's builder serves; empty if they do."""
    if not framework.environments:
        return framework.unsupported or "no environment is known for it"
    problems = (_problem(framework, need, pins) for need in framework.needs)
    return next(filter(None, problems), "")


def _problem(framework: Framework, need: str, pins: Mapping[str, Requirement]) -> str:
    """Why none of the alternatives of a need is pinned to a version that is served; empty if one is."""
    alternatives = [Requirement(text) for text in need.split(OR)]
    known = [(one, pin) for one in alternatives if (pin := pins.get(canonicalize_name(one.name)))]
    if not known:
        return f"{' or '.join(one.name for one in alternatives)} is not pinned"
    problems = [_misfit(framework, one, pin) for one, pin in known]
    return "" if "" in problems else problems[0]


def _misfit(framework: Framework, need: Requirement, pin: Requirement) -> str:
    version = version_of_file(pin.url) if pin.url else exact_version(pin)
    if version is None:
        # Of an address without a version, such as a branch, only the worker knows.
        return "" if pin.url else f"{pin} leaves the version open: pin one, such as {pin.name}==VERSION"
    limits = [need.specifier]
    if canonicalize_name(need.name) == canonicalize_name(framework.package):
        limits.append(since(framework))
    broken = [limit for limit in limits if not limit.contains(version, prereleases=True)]
    return f"the builder serves {need.name}{broken[0]}, not {version}" if broken else ""
