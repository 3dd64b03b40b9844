"""Where a training becomes steady: the steps before are warm-up, and excluded from step times."""

from collections.abc import Sequence
from statistics import quantiles

from pytest_dlbench.records import Training, WarmUp

LEAST_STEPS = 10
# Steps slower than the second half of the rest by this factor are warm-up: the default tolerance of step times.
SLOWER = 1.05
# The halves of a steady series differ by no more than this; on a quiet machine by 1 to 3 %.
STEADY = 1.1
# An eighth of fewer steps has no useful quartile.
ENOUGH_STEPS = 40


def warm_up(seconds: Sequence[float]) -> WarmUp:
    """How many steps to exclude, and whether the rest is steady.

    The first 10 steps, or the first quarter of fewer than 40, are always excluded. The first eighth of the rest is also
    excluded as long as it is more than 5 % slower than the last half, up to half of the series. Lower quartiles are
    compared, because compiling, allocating and filling caches slow every step, other processes only some.
    """
    least = max(1, min(LEAST_STEPS, len(seconds) // 4))
    cut = least
    while _is_warming(seconds[cut:]) and (further := cut + (len(seconds) - cut) // 8) <= len(seconds) // 2:
        cut = further
    return WarmUp(steps=min(cut, len(seconds) - 1), is_steady=_is_steady(seconds[cut:]))


def _is_warming(rest: Sequence[float]) -> bool:
    return len(rest) >= ENOUGH_STEPS and _level(rest[: len(rest) // 8]) > SLOWER * _level(rest[len(rest) // 2 :])


def _is_steady(rest: Sequence[float]) -> bool | None:
    if len(rest) < ENOUGH_STEPS:
        return None
    low, high = sorted((_level(rest[: len(rest) // 2]), _level(rest[len(rest) // 2 :])))
    return high <= STEADY * low


def _level(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=4, method="inclusive")[0]


def steady_steps(training: Training) -> Sequence[float]:
    """Seconds of the steps after the warm-up; at least the last step."""
    return training.step_seconds[warm_up(training.step_seconds).steps :]
