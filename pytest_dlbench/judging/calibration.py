"""What runs of one version say of the gate on this machine: how they spread, and what can be told from that."""

from collections.abc import Iterable, Sequence
from math import exp

import numpy as np

from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.pairs import Pair, difference, reference_spread
from pytest_dlbench.judging.power import smallest_tolerance
from pytest_dlbench.judging.sequential import IMPROVED, REGRESSED, Rule, replay
from pytest_dlbench.records import Run

# Of exchanged sides: so many that a share of 1 in 1,000 shows.
EXCHANGES = 10_000


def in_order(pairs: Sequence[Pair], new_first: Sequence[bool]) -> tuple[Run, ...]:
    """The runs of both sides as they were run, one behind the other."""
    sides = zip(pairs, new_first, strict=True)
    return tuple(
        run for pair, is_first in sides for run in ((pair.new, pair.old) if is_first else (pair.old, pair.new))
    )


def spreads(runs: Sequence[Run], metrics: Iterable[Metric]) -> dict[str, float]:
    """How far the difference of a pair is expected to lie from 0 (a standard deviation), by metric.

    ``runs`` are of one version, one behind the other; of fewer than ten of them what is assumed is the least.
    """
    return {metric.name: reference_spread(metric, [metric.figure(run) for run in runs]) for metric in metrics}


def smallest(metric: Metric, spread: float, *, alpha: float, max_pairs: int) -> float:
    """The smallest tolerance that can be judged, as it is written: 0.03 for 3 %, 0.5 for half a point.

    A case without a change is called equivalent in 90 % at it, and one that is worse by twice as much regressed.
    """
    found = smallest_tolerance(spread, alpha=alpha, max_pairs=max_pairs)
    return exp(found) - 1 if metric.kind == "ratio" else found


def false_alarms(differences: Sequence[float], spread: float, rule: Rule, seed: int) -> float:
    """How often the rule calls pairs changed whose sides are exchanged at random, and their order: a share.

    Both sides being one version, each exchange is as likely as what was seen. It is conditional on these pairs.
    """
    generator = np.random.default_rng(seed)
    rows = generator.permuted(np.tile(np.asarray(differences, dtype=np.float64), (EXCHANGES, 1)), axis=1)
    signs = generator.choice([-1.0, 1.0], size=rows.shape)
    outcome = replay(rows * signs, np.full(EXCHANGES, spread), rule).outcome
    return float(np.isin(outcome, (REGRESSED, IMPROVED)).mean())


def differences(metric: Metric, pairs: Sequence[Pair]) -> list[float]:
    """Of each pair, how much worse the new side is."""
    return [difference(metric, pair) for pair in pairs]
