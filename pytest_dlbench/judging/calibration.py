"""What the gate can detect on this machine, from the spread of runs of one version."""

from collections.abc import Iterable, Sequence
from math import exp

import numpy as np

from pytest_dlbench.judging.intervals import MAD_TO_SD
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.pairs import Pair, difference, reference_spread, reference_values, takes_turns
from pytest_dlbench.judging.power import smallest_tolerance
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.judging.sequential import IMPROVED, REGRESSED, Rule, replay
from pytest_dlbench.records import Run

# Random swaps of sides: enough to resolve a rate of 1 in 1,000.
EXCHANGES = 10_000


def in_order(pairs: Sequence[Pair], new_first: Sequence[bool]) -> tuple[Run, ...]:
    """The runs of both sides in the order in which they ran."""
    sides = zip(pairs, new_first, strict=True)
    return tuple(
        run for pair, is_first in sides for run in ((pair.new, pair.old) if is_first else (pair.old, pair.new))
    )


def spreads(pairs: Sequence[Pair], new_first: Sequence[bool], metrics: Iterable[Metric]) -> dict[str, float]:
    """The expected standard deviation of a pair's difference, by metric, from pairs of one version with itself.

    Where the steps of a pair alternate, the differences themselves vary; elsewhere, consecutive runs do. With fewer
    than ten runs, the assumed spread is the minimum. Raises DlbenchError for a figure that cannot be compared.
    """
    runs = in_order(pairs, new_first)
    return {metric.name: _spread(metric, pairs, runs) for metric in metrics}


def _spread(metric: Metric, pairs: Sequence[Pair], runs: Sequence[Run]) -> float:
    if not all(takes_turns(metric, pair) for pair in pairs):
        return reference_spread(metric, reference_values(metric, runs))
    distances = np.abs(differences(metric, pairs))
    return max(smallest_spread(metric), MAD_TO_SD * float(np.median(distances)))


def smallest(metric: Metric, spread: float, *, alpha: float, max_pairs: int) -> float:
    """The smallest tolerance that can be resolved, as it is written: 0.03 for 3 %, 0.5 for half a point.

    There, 90 % of cases without a change are called equivalent, and 90 % of those worse by twice as much regressed.
    """
    found = smallest_tolerance(spread, alpha=alpha, max_pairs=max_pairs)
    return exp(found) - 1 if metric.kind == "ratio" else found


def false_alarms(differences: Sequence[float], spread: float, rule: Rule, seed: int) -> float:
    """The false-alarm rate of the rule if the sides of these pairs, and their order, are shuffled at random.

    Because both sides are the same version, each shuffle is as likely as the data. Conditional on these pairs.
    """
    generator = np.random.default_rng(seed)
    rows = generator.permuted(np.tile(np.asarray(differences, dtype=np.float64), (EXCHANGES, 1)), axis=1)
    signs = generator.choice([-1.0, 1.0], size=rows.shape)
    outcome = replay(rows * signs, np.full(EXCHANGES, spread), rule).outcome
    return float(np.isin(outcome, (REGRESSED, IMPROVED)).mean())


def differences(metric: Metric, pairs: Sequence[Pair]) -> list[float]:
    """How much worse the candidate is, for each pair."""
    return [difference(metric, pair) for pair in pairs]
