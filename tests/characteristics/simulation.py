"""How often the shipped rules say what, over sessions drawn from a regime of noise."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np

from pytest_dlbench.judging.intervals import Values
from pytest_dlbench.judging.many import SCREENING_PAIRS, confirming, screening
from pytest_dlbench.judging.sequential import EQUIVALENT, IMPROVED, INCONCLUSIVE, REGRESSED, Rule, replay
from tests.characteristics.regimes import Regime, pairs, reference_spreads

TOLERANCE = log(1.05)
RULE = Rule(tolerance=TOLERANCE)
CHUNK = 20_000

Spreads = Callable[[np.random.Generator, Regime, int], Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of sessions by what was said of one case, and the pairs that it took on average."""

    regressed: float
    improved: float
    equivalent: float
    pairs: float
    sessions: int

    @property
    def false_alarms(self) -> float:
        """Where nothing changed: regressed or improved."""
        return self.regressed + self.improved


def single(
    regime: Regime,
    change: float,
    *,
    sessions: int,
    seed: int,
    rule: Rule = RULE,
    spreads: Spreads = reference_spreads,
) -> Shares:
    """One case, whose new version is truly slower by ``change`` (log)."""
    random = np.random.default_rng(seed)
    counts, used = np.zeros(4), 0
    for start in range(0, sessions, CHUNK):
        chunk = min(CHUNK, sessions - start)
        differences = pairs(random, regime, chunk, rule.max_pairs, change)
        found = replay(differences, spreads(random, regime, chunk), rule)
        counts += np.bincount(found.outcome, minlength=4)
        used += found.pairs.sum()
    shares = counts / sessions
    return Shares(
        regressed=shares[REGRESSED],
        improved=shares[IMPROVED],
        equivalent=shares[EQUIVALENT],
        pairs=used / sessions,
        sessions=sessions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteShares:
    """``family_error``: share of suites with any case called regressed whose true change is within the tolerance.

    ``power``: share of the cases beyond it that were called regressed. ``pairs`` are those of an average case.
    """

    family_error: float
    power: float
    pairs: float
    candidates: float
    suites: int


def suite(regime: Regime, changes: Values, *, suites: int, seed: int, budget: float) -> SuiteShares:
    """Suites of cases with these true changes: screened, and confirmed on fresh pairs."""
    random = np.random.default_rng(seed)
    shape = (suites, len(changes))
    all_changes = np.tile(changes, suites)
    spreads = reference_spreads(random, regime, len(all_changes))
    screened = replay(pairs(random, regime, len(all_changes), SCREENING_PAIRS, all_changes), spreads, screening(RULE))
    looks_worse = (screened.outcome == INCONCLUSIVE) & (screened.estimate > TOLERANCE)
    is_candidate = (screened.outcome == REGRESSED) | looks_worse
    used = screened.pairs.copy()
    is_regressed = np.zeros(len(all_changes), dtype=np.bool_)
    counts = is_candidate.reshape(shape).sum(axis=1)
    for count in np.unique(counts[counts > 0]):
        # Suites with as many candidates share a rule.
        rows = np.flatnonzero(is_candidate & np.repeat(counts == count, len(changes)))
        rule = confirming(RULE, int(count), budget)
        found = replay(pairs(random, regime, len(rows), rule.max_pairs, all_changes[rows]), spreads[rows], rule)
        is_regressed[rows] = found.outcome == REGRESSED
        used[rows] += found.pairs
    is_beyond = changes > TOLERANCE + 1e-12
    by_case = is_regressed.reshape(shape)
    return SuiteShares(
        family_error=float(by_case[:, ~is_beyond].any(axis=1).mean()) if not is_beyond.all() else 0.0,
        power=float(by_case[:, is_beyond].mean()) if is_beyond.any() else float("nan"),
        pairs=float(used.mean()),
        candidates=float(counts.mean()),
        suites=suites,
    )
