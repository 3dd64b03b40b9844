"""A framework in an environment that the user names: ``pytorch==2.12.0``, ``jax@pins.txt``, ``mine@/bin/python``."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from pytest_dlbench.environments import local
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.requested import OR, exact_version, versioned
from pytest_dlbench.errors import OptionError, unknown_name

FORMS = "NAME, NAME==VERSION, NAME@REQUIREMENTS.txt or NAME@/path/to/python"
OF_PACKAGES = (
    "\n  versions of a package that is no framework: pin it in a requirements file that the test names"
    ' (environment="requirements.txt"), and compare two revisions of that file: --dlbench-ab rev:HEAD,worktree'
)
# These refer to other files or to a working tree, whose content the hash would not cover.
REFERRING = ("-r", "-c", "-e", "--requirement", "--constraint", "--editable")


def is_specification(text: str) -> bool:
    """Whether a name also specifies an environment."""
    return "==" in text or "@" in text


def specified(text: str, frameworks: Mapping[str, Framework], where: str) -> Framework:
    """The framework in the requested environment; raises OptionError."""
    name, separator, rest = re.split(r"(==|@)", text, maxsplit=1)
    if name not in frameworks:
        raise OptionError(
            unknown_name("framework", name, where, frameworks) + (OF_PACKAGES if separator == "==" else "")
        )
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
    return of_file(named, path, where)


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
    if not fitting or not served(framework).contains(wanted, prereleases=True):
        raise OptionError(_not_served(framework, wanted, where))
    nearest = max(fitting, key=lambda environment: Version(environment.since))
    of_version = pinned(nearest, framework.package, version)
    return of_version if of_version == nearest else _loosened(of_version, changed_from=nearest)


def _loosened(environment: Environment, *, changed_from: Environment) -> Environment:
    """The same with the untouched pins as upper bounds: another version may need older packages than the pinned one.

    TensorFlow 2.19 refuses the protobuf that 2.21 is pinned with. An upper bound still gives the pinned package where
    the version accepts it, and never a later one, so the environment does not change when something new is released.
    """
    kept = set(changed_from.requirements)
    return replace(
        environment,
        requirements=tuple(text.replace("==", "<=", 1) if text in kept else text for text in environment.requirements),
    )


def served(framework: Framework) -> SpecifierSet:
    """The versions of its package that a framework's builder serves."""
    needs = (Requirement(text) for need in framework.needs for text in need.split(OR))
    return next((need.specifier for need in needs if _is_same(need.name, framework.package)), SpecifierSet())


def since(framework: Framework) -> SpecifierSet:
    """The versions that one of its environments can have in place of the pinned one."""
    oldest = min(Version(environment.since) for environment in framework.environments)
    return SpecifierSet(f">={oldest}")


def _not_served(framework: Framework, wanted: Version, where: str) -> str:
    """The message about a version that no builder serves: which are, and the nearest one that is known."""
    limits = served(framework), since(framework)
    pins = [Requirement(pin) for environment in framework.environments for pin in environment.requirements]
    tested = [pin.specifier for pin in pins if _is_same(pin.name, framework.package)]
    named = [Version(one.version) for some in (limits[0], *tested) for one in some if one.operator in (">=", "==")]
    oldest = [Version(environment.since) for environment in framework.environments]
    known = sorted(version for version in (*oldest, *named) if all(version in limit for limit in limits))
    nearest = [known[0] if wanted < known[0] else known[-1]] if known else []
    shown = next(str(limit) for limit in limits if wanted not in limit)
    advice = "".join(f"; the nearest is {framework.name}=={version}" for version in nearest)
    return f"{where}: the builder of {framework.name} serves {framework.package}{shown}, not {wanted}{advice}"


def _is_same(name: str, other: str) -> bool:
    return canonicalize_name(name) == canonicalize_name(other)


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


def of_file(framework: Framework, path: Path, where: str) -> Framework:
    """The framework in the environment of a requirements file; raises OptionError."""
    return replace(framework, environments=(_of_file(framework, path, where),), requirements_file=path)


def _of_file(framework: Framework, path: Path, where: str) -> Environment:
    if not framework.environments:
        name = framework.plain_name
        raise OptionError(f"{where}: {name!r} has no environment; name a Python: {name}@/path/to/python")
    environment = replace(framework.environments[0], requirements=tuple(requirements(path, where)))
    if unknown := local.problem(environment.requirements, environment.python):
        raise OptionError(f"{where}: {path}: {unknown}")
    for need in framework.needs:
        if refused := _refused(need, environment):
            raise OptionError(f"{where}: {path} pins {refused}; the builder of {framework.plain_name} serves {need}")
    return environment


def _refused(need: str, environment: Environment) -> str:
    """The pins of an environment that a need excludes; empty if one fits, or none is exact."""
    alternatives = [Requirement(text) for text in need.split(OR)]
    pins = [
        (name, version)
        for text in environment.requirements
        for pin in versioned(text, f"{environment.python}.0")
        for name in alternatives
        if _is_same(name.name, pin.name) and (version := exact_version(pin))
    ]
    fits = any(name.specifier.contains(version, prereleases=True) for name, version in pins)
    return "" if fits else ", ".join(f"{name.name}=={version}" for name, version in pins)


def requirements(path: Path, where: str) -> Iterator[str]:
    """The requirements and options of a file that refers to no other; raises OptionError.

    Hashes are dropped: environments are built from versions, and installers accept hashes only in files.
    """
    for number, line in _joined(path.read_text("utf-8").splitlines()):
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
