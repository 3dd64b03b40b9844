"""A framework as the driver sees it: names, paths and pins, nothing imported. The table of all is known.py."""

from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.environments.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """How to run one framework.

    ``builder`` is the module in the worker that builds networks; ``folders`` are put on the worker's path beside
    dlworker, for builders that live elsewhere. ``needs`` are the distributions without which it cannot be imported, as
    requirements ("keras>=3", or "tensorflow>=2 | tensorflow-cpu>=2"): where the Python that runs pytest has them,
    nothing else is needed. ``environments`` are what can be built for it elsewhere, the default first; ``package`` is
    the distribution that another version is asked of (``pytorch==2.12.0``). ``variables`` are set in its workers.
    ``unsupported`` says why nothing can run it.
    """

    name: str
    builder: str = ""
    needs: tuple[str, ...] = ()
    environments: tuple[Environment, ...] = ()
    package: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    folders: tuple[Path, ...] = ()
    more_marks: tuple[str, ...] = ()
    python: Path | None = None
    """An existing Python that was asked for, instead of an environment."""
    is_explicit: bool = False
    """Whether a version, a file or a Python was asked for: then no other will do."""
    unsupported: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of its cells."""
        # pytorch==2.12.0 is selected as pytorch: a version is no mark.
        return self.more_marks if self.is_explicit else (self.name, *self.more_marks)
