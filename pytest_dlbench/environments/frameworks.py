"""A framework as the driver sees it: names, paths and pins, nothing imported. known.py has the table of all."""

from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dlbench.environments.devices import OPENCL
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.programs import Program
from pytest_dlbench.errors import OptionError
from pytest_dlbench.records import Revision
from pytest_dlbench.records.cases import plain_name

# A variable of a framework's workers that lets a builder use, in place of a GPU, a driver of the processor.
PROCESSOR_AS_GPU = "DLBENCH_PROCESSOR_AS_GPU"
# The builders of this package.
OURS = "dlworker.frameworks"
FOR_PROCESSORS = "its builder is for processors"
# Ends the name of the candidate of an A/A test, which would otherwise be that of its baseline.
AGAIN = "@A-A"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The files of a revision of the user's ``repository``, in the folder ``root``.

    ``content`` is the same for the same files. ``left_out`` are changes of the user's own files that are not committed,
    and so in no revision.
    """

    root: Path
    repository: Path
    revision: Revision
    content: str
    left_out: tuple[str, ...] = ()

    @property
    def imported_from(self) -> tuple[Path, ...]:
        """The folders that come first on the path of its workers, before what is installed of the user's own files."""
        source = self.root / "src"
        return (self.root, source) if source.is_dir() else (self.root,)

    def path(self, path: Path) -> Path:
        """Where this revision has a file or folder of the repository; a path outside is returned as it is."""
        own, root = path.resolve(), self.repository.resolve()
        return self.root / own.relative_to(root) if own.is_relative_to(root) else path

    def existing(self, path: Path, where: str) -> Path:
        """The same, of a path that this revision must have; raises NotInRevisionError."""
        found = self.path(path)
        if not found.exists():
            raise NotInRevisionError(self, found.relative_to(self.root).as_posix(), where)
        return found


class NotInRevisionError(OptionError):
    """A revision lacks ``path``, a file or folder of the repository."""

    def __init__(self, checkout: Checkout, path: str, where: str) -> None:
        revision = checkout.revision
        self.revision, self.path = revision, path
        super().__init__(
            f"{where}: {revision.name} ({revision.commit[:12]}, {revision.subject!r}) has no {path}; to find the"
            f" revision that added it, in {checkout.repository}: git log --diff-filter=A --oneline -- {path}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What a framework's usual environment lacks: a library that it computes with, or an engine of searches.

    ``need`` is its distribution, which the ``environment`` has.
    """

    name: str
    need: str
    environment: Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """How to run one framework.

    ``builder`` is the module in the worker that builds networks; ``folders`` are added to the worker's path, in
    addition to dlworker, for builders elsewhere. ``needs`` are the distributions required to import it
    ("keras>=3", or "tensorflow>=2 | tensorflow-cpu>=2"): if the Python that runs pytest has them, nothing else is
    needed. ``environments`` can be built for it otherwise, the default first; ``package`` is the distribution whose
    version can be chosen (``pytorch==2.12.0``). ``variables`` are environment variables of its workers.
    ``backend`` is the builder's back end that it uses, and ends the names of the modules for that one alone.
    ``unsupported`` says why it cannot be run at all.
    """

    name: str
    builder: str = ""
    needs: tuple[str, ...] = ()
    environments: tuple[Environment, ...] = ()
    package: str = ""
    backend: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    more_programs: tuple[Program, ...] = ()
    """Programs of the system that it needs in addition to those of its environment."""
    programs_of_workers: tuple[Program, ...] = ()
    """Programs of the system that only several workers need, to exchange gradients."""
    gpu_needs: tuple[str, ...] = ()
    """The same as ``needs``, for cases on a GPU; none if nothing else is needed there."""
    gpu_environments: tuple[Environment, ...] = ()
    libraries: tuple[Addition, ...] = ()
    """The libraries of processors that its usual environment lacks."""
    engines: tuple[Addition, ...] = ()
    """The engines of searches that train in it, and that its usual environment lacks."""
    gpu_unlocked: str = ""
    """Why no lock file has its build for GPUs, if none has."""
    folders: tuple[Path, ...] = ()
    more_marks: tuple[str, ...] = ()
    python: Path | None = None
    """An existing Python that was requested instead of an environment."""
    is_explicit: bool = False
    """Whether a version, a requirements file or a Python was requested, which must then be used."""
    requirements_file: Path | None = None
    """The requirements file that was requested, of which each revision may have its own."""
    checkout: Checkout | None = None
    """The revision of the user's code that its workers import; None for the user's files as they are."""
    more_variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that a side of a comparison names, which take precedence."""
    base: "Framework | None" = None
    """Of which it is a side of a comparison, if that names more than the framework."""
    has_opencl: bool = False
    """Whether its code for GPUs also runs on OpenCL."""
    unsupported: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of this framework's cells."""
        # pytorch==2.12.0 is selected as pytorch: versions are not marks.
        return self.more_marks if self.is_explicit else (self.plain_name, *self.more_marks)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the system that it needs."""
        of_environment = self.environments[0].programs if self.environments else ()
        return tuple(dict.fromkeys((*of_environment, *self.more_programs)))

    @property
    def takes_processor_as_gpu(self) -> bool:
        """Whether its cases on a GPU may run on an OpenCL driver of the processor, as a test may ask for."""
        return PROCESSOR_AS_GPU in dict(self.variables)

    def on(self, device: str) -> "Framework":
        """The framework with what it needs on a device; the environment that somebody named is used on any."""
        if device == OPENCL and self.has_opencl:
            return replace(self, variables=(*self.variables, (PROCESSOR_AS_GPU, "1")))
        if device == "cpu" or self.is_explicit or self.takes_processor_as_gpu or not self.gpu_needs:
            return self
        return replace(self, needs=self.gpu_needs, environments=self.gpu_environments)

    @property
    def special_environments(self) -> tuple[Environment, ...]:
        """Those that it needs on a GPU, for a library, or for an engine of searches."""
        return (*self.gpu_environments, *self.additional_environments)

    @property
    def additional_environments(self) -> tuple[Environment, ...]:
        """Those that it needs for a library, or for an engine of searches, on processors."""
        return tuple(one.environment for one in (*self.libraries, *self.engines))

    def computing_with(self, library: str | None) -> "Framework":
        """The framework with what it needs for a library; the environment that somebody named is used for any."""
        return self._with(next((one for one in self.libraries if one.name == library), None))

    def searched_by(self, engine: str) -> "Framework":
        """The framework with what an engine of searches needs; the environment that somebody named is used for any."""
        return self._with(next((one for one in self.engines if one.name == engine), None))

    def _with(self, addition: Addition | None) -> "Framework":
        if addition is None or self.is_explicit:
            return self
        return replace(self, needs=(*self.needs, addition.need), environments=(addition.environment,))

    @property
    def is_for_processors(self) -> bool:
        """Whether it is one of ours that never computes on a GPU; others may, without needing anything else there."""
        return self.builder.startswith(f"{OURS}.") and not (self.gpu_needs or self.is_explicit)

    @property
    def to_build(self) -> str:
        """What ``dlbench env build`` takes for the environment that it would run in, of which it has one."""
        environment = self.environments[0]
        is_special = bool(environment.cuda) or environment in self.additional_environments
        return environment.name if is_special else self.specification

    @property
    def specification(self) -> str:
        """The name as it was given, without the mark of an A/A test."""
        return (self.base or self).name.removesuffix(AGAIN)

    @property
    def plain_name(self) -> str:
        """The name without a version, a requirements file or a Python."""
        return plain_name(self.name)


def is_one_framework(one: Framework, other: Framework) -> bool:
    """Whether two differ in nothing but their environments: neither in the user's code nor in variables."""
    return _facts(one) == _facts(other)


def _facts(framework: Framework) -> tuple[object, ...]:
    variables = (framework.variables, framework.more_variables)
    return (framework.plain_name, framework.builder, variables, _content(framework))


def _content(framework: Framework) -> str:
    return framework.checkout.content if framework.checkout else ""
