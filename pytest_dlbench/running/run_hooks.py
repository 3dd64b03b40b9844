"""Callbacks of a run into the driver's own process."""

from collections.abc import Callable
from dataclasses import dataclass

from pytest_dlbench.environments.requested import Packages
from pytest_dlbench.records import CallCheck, StepCheck
from pytest_dlbench.records.problems import Problem
from pytest_dlbench.sampling.sampler import MakeSampler


def _ignore(_: object) -> None:
    """Do nothing."""


def _accept(_: Packages) -> None:
    """Any versions will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """Callables that a run needs in the driver; they cannot be sent to another host."""

    samplers: tuple[MakeSampler, ...] = ()
    is_suspicious: Callable[[StepCheck | CallCheck], bool] | None = None
    """Whether a step check of the first run must be repeated. Without it, steps are not checked."""
    phase_began: Callable[[str], None] = _ignore
    """Called with each phase before its request is sent, while the worker still waits."""
    packages_reported: Callable[[Packages], Problem | None] = _accept
    """Called before anything is built; why these versions must not be measured, None if they may be."""
    weights_known: Callable[[int], None] = _ignore
    """Called after the training of several workers with the fingerprint of the weights."""


NO_HOOKS = RunHooks()
