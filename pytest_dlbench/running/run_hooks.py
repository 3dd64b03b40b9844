"""What a run calls back in the driver's own process."""

from collections.abc import Callable
from dataclasses import dataclass

from pytest_dlbench.records import StepCheck
from pytest_dlbench.sampling.sampler import MakeSampler


def _to_nobody(phase: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """Callables of a run, which stay with the driver."""

    samplers: tuple[MakeSampler, ...] = ()
    is_suspicious: Callable[[StepCheck], bool] | None = None
    """Whether a check of the first run's steps is to be repeated. Without it they are not checked."""
    phase_began: Callable[[str], None] = _to_nobody
    """Called with each phase before its request is sent, while the worker still waits."""


NO_HOOKS = RunHooks()
