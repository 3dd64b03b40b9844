"""Runs several sides interleaved, compares two of them, and passes the measurements to pytest-benchmark."""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import TypeVar

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture
from scipy import stats

T = TypeVar("T")


def in_turn(sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """The results of each side. A round runs each once; rounds cycle through all orders, so that none is favoured."""
    orders = list(permutations(sides))
    found: dict[str, list[T]] = {name: [] for name in sides}
    for number in range(rounds):
        for name in orders[number % len(orders)]:
            found[name].append(sides[name]())
    return found


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> str:
    """``1.003 [0.998, 1.008] (60 pairs)``: the median over pairs and its 95 % percentile bootstrap interval."""
    ratios = np.array(numerators) / np.array(denominators)
    interval = stats.bootstrap(
        (ratios,), np.median, method="percentile", n_resamples=5000, rng=np.random.default_rng(1)
    ).confidence_interval
    return f"{np.median(ratios):.4f} [{interval.low:.4f}, {interval.high:.4f}] ({len(ratios)} pairs)"


class Replayed:
    """A clock for pytest-benchmark that runs only while measured seconds are replayed."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        """Seconds replayed so far."""
        return self.seconds


REPLAYED = Replayed()


def replay(benchmark: BenchmarkFixture, seconds: Sequence[float]) -> None:
    """Replay one round for each of ``seconds``, because pytest-benchmark itself cannot interleave sides.

    For benchmarks that are marked ``benchmark(timer=REPLAYED.now)``.
    """
    left = iter(seconds)

    def one() -> None:
        REPLAYED.seconds = next(left)

    def start() -> None:
        REPLAYED.seconds = 0.0

    benchmark.pedantic(one, setup=start, rounds=len(seconds))
