"""What a worker reports about a single operator."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCheck:
    """A check after the measurement: some calls, then twice as many, each followed by copying the last result.

    Times are pairs of seconds: wall-clock time, and processor time of the worker's process. ``behind_single`` and
    ``behind_double`` are the copies after the calls, ``alone`` is one of a result that was copied before.
    """

    calls: int
    single: tuple[float, float]
    double: tuple[float, float]
    behind_single: tuple[float, float]
    behind_double: tuple[float, float]
    alone: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPass:
    """One pass of an operator: the seconds of each call, of which the first compiles.

    ``flops`` and ``least_bytes`` are computed from its sizes: the arithmetic of a call by the direct algorithm, and its
    arrays, each read or written once. ``deviation`` is the largest difference of the last call's results from NumPy's
    in float64, relative to the largest number of each array. ``bounds`` are the largest that were accepted, by array:
    1e-5, or 2⁻²⁴·√n for sums of n > 28,000 products, which rounding alone may take further; empty in older records.
    ``bus_bytes`` are those that each of several workers has to send in an all-reduce, 0 otherwise.
    """

    seconds: tuple[float, ...]
    flops: float
    least_bytes: float
    deviation: float
    bounds: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[CallCheck, ...] = ()
    bus_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The passes of an operator that a framework computes apart from each other, by name.

    Where it cannot compute both gradients apart, there is one pass "backward", and where it cannot compute them without
    the output, "forward_backward". ``probes`` are the seconds of the fastest call of large operators that were timed
    between the passes, and ``probe_flops`` their arithmetic.
    """

    passes: Mapping[str, OperatorPass]
    probes: Mapping[str, float]
    probe_flops: Mapping[str, float]

    @property
    def best_flops_per_second(self) -> float:
        """The rate of the fastest probe; 0 without any."""
        return max((self.probe_flops[name] / seconds for name, seconds in self.probes.items()), default=0.0)
