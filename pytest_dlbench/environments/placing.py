"""Finds the Python that runs a framework: the one that runs pytest, an existing one, or a built environment."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import metadata
from pathlib import Path

import platformdirs
from packaging.requirements import Requirement

from pytest_dlbench.environments.building import BuildProgress, Built, EnvironmentStore
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.programs import lacking
from pytest_dlbench.environments.requested import OR
from pytest_dlbench.errors import EnvironmentBuildError, EnvironmentMissingError

CURRENT = "current"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A Python in which a framework can be imported.

    ``environment`` is its name in records, CURRENT for the Python that runs pytest. ``variables`` are set in its
    processes. ``caches`` is the folder for what they compile and download, which should go neither to the user's home
    nor to another framework. ``requirements`` are those that its packages must meet; none for a Python that was named.
    """

    python: Path
    environment: str
    caches: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()


class Lack(StrEnum):
    """Why a case cannot run, by what can be done about it."""

    NOT_BUILT = "not built"
    NO_PYTHON = "no Python"
    NO_PROGRAM = "no program"
    BROKEN = "broken"
    UNSUPPORTED = "unsupported"
    NO_DATA = "no data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A missing Python for a framework, or missing files of a data set: why, and what to do."""

    lack: Lack
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A Python that the host of a run finds or builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesElsewhere:
    """Leaves environments to the hosts that runs are made on, which are leased with a GPU if ``has_gpu``."""

    has_gpu: bool = False

    def find(self, framework: Framework) -> Elsewhere | Absent:
        """Absent if the framework cannot run anywhere."""
        if framework.unsupported:
            return Absent(lack=Lack.UNSUPPORTED, reason=framework.unsupported)
        return Elsewhere()

    def ready(self, framework: Framework) -> None:
        """None: what is built here is not what runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Finds places; builds missing environments if ``progress`` is given."""

    store: EnvironmentStore = field(default_factory=EnvironmentStore)
    progress: BuildProgress | None = None
    _broken: dict[Environment, Absent] = field(default_factory=dict)

    def find(self, framework: Framework) -> Place | Absent:
        """The place of a framework; builds an environment only if ``progress`` is given."""
        if problem := lacking(framework.name, framework.programs):
            return Absent(lack=Lack.NO_PROGRAM, reason=problem)
        if ready := self.ready(framework):
            return ready
        if framework.unsupported:
            return Absent(lack=Lack.UNSUPPORTED, reason=framework.unsupported)
        if not framework.environments:
            needs = " ".join(f"'{need.partition(OR)[0]}'" for need in framework.needs)
            advice = f"{framework.name} is not installed in {sys.executable}\n  to install it: pip install {needs}"
            return Absent(lack=Lack.NOT_BUILT, reason=advice)
        environment = framework.environments[0]
        try:
            return self._build(framework, environment) if self.progress else self._advise(framework, environment)
        except EnvironmentMissingError as error:
            return Absent(lack=Lack.NO_PYTHON, reason=str(error))

    def ready(self, framework: Framework) -> Place | None:
        """The place of a framework without building anything, if there is one."""
        if framework.unsupported:
            return None
        if framework.python:
            return _place(framework, framework.python, str(framework.python), _caches(framework.python))
        if not framework.is_explicit and all(map(_is_met, framework.needs)):
            here = _place(framework, Path(sys.executable), CURRENT, _caches(Path(sys.executable)))
            return replace(here, requirements=framework.needs)
        for environment in framework.environments[:1]:
            if built := self.store.find(environment):
                return _in(framework, environment, built)
        return None

    def _build(self, framework: Framework, environment: Environment) -> Place | Absent:
        if environment in self._broken:
            return self._broken[environment]
        assert self.progress is not None
        try:
            return _in(framework, environment, self.store.build(environment, self.progress))
        except EnvironmentBuildError as error:
            # Only once per session: the framework's other cases would fail just as slowly.
            return self._broken.setdefault(environment, Absent(lack=Lack.BROKEN, reason=str(error)))

    def _advise(self, framework: Framework, environment: Environment) -> Absent:
        self.store.interpreter(environment)
        advice = (
            f"the environment {environment.name!r} of {framework.name} is not built\n"
            f"  to build it: dlbench env build {framework.to_build}\n"
            "  to build environments on demand: --dlbench-build"
        )
        return Absent(lack=Lack.NOT_BUILT, reason=advice)


def _in(framework: Framework, environment: Environment, built: Built) -> Place:
    place = _place(framework, built.python, built.folder.name, built.caches, environment)
    return replace(place, requirements=environment.requirements)


def _place(
    framework: Framework, python: Path, name: str, caches: Path, environment: Environment | None = None
) -> Place:
    templates = {**dict(environment.variables if environment else ()), **dict(framework.variables)}
    filled = {key: value.format(caches=caches) for key, value in templates.items()}
    return Place(python=python, environment=name, caches=caches, variables=filled)


def _caches(python: Path) -> Path:
    digest = hashlib.sha256(str(python).encode()).hexdigest()[:12]
    return platformdirs.user_cache_path("pytest-dlbench") / "caches" / digest


def _is_met(need: str) -> bool:
    """Whether one of the alternatives is installed in this Python."""
    return any(_is_installed(Requirement(text)) for text in need.split(OR))


def _is_installed(requirement: Requirement) -> bool:
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False
