"""How often the shipped rules give each outcome, over sessions drawn from a regime of noise."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import log, nan

import numpy as np

from pytest_dlbench.judging.intervals import Values
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.multiple_testing import (
    BUDGET,
    SCREENING_PAIRS,
    confirming,
    places_in_turn,
    screening,
    share_in_turn,
)
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.judging.sequential import (
    EQUIVALENT,
    IMPROVED,
    INCONCLUSIVE,
    REGRESSED,
    Codes,
    Flags,
    Replay,
    Rule,
    replay,
)
from pytest_dlbench.judging.sessions import SessionFigure, SessionSpread, against_sessions
from tests.characteristics.regimes import Regime, pairs, reference_spreads, session_figures

TOLERANCE = log(1.05)
RULE = Rule(tolerance=TOLERANCE)
CHUNK = 20_000

Spreads = Callable[[np.random.Generator, Regime, int], Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of sessions by outcome of one case, and the mean number of pairs."""

    regressed: float
    improved: float
    equivalent: float
    pairs: float
    sessions: int

    @property
    def false_alarms(self) -> float:
        """If nothing changed: regressed or improved."""
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


def shipped(regime: Regime, change: float, *, sessions: int, seed: int, spreads: Spreads = reference_spreads) -> Shares:
    """One metric of one case under the rule that ships: screened, and if it may have regressed confirmed.

    Confirmation takes fresh pairs. The case is the first candidate of its session.
    """
    random = np.random.default_rng(seed)
    counts, used = np.zeros(4), 0
    for start in range(0, sessions, CHUNK):
        chunk = min(CHUNK, sessions - start)
        outcome, taken = _both_passes(random, regime, change, spreads(random, regime, chunk))
        counts += np.bincount(outcome, minlength=4)
        used += taken.sum()
    shares = counts / sessions
    return Shares(
        regressed=shares[REGRESSED],
        improved=shares[IMPROVED],
        equivalent=shares[EQUIVALENT],
        pairs=used / sessions,
        sessions=sessions,
    )


def _both_passes(random: np.random.Generator, regime: Regime, change: float, spreads: Values) -> tuple[Codes, Codes]:
    """The outcome and the number of pairs of each session."""
    first = screening(RULE)
    screened = replay(pairs(random, regime, len(spreads), first.max_pairs, change), spreads, first)
    rows = np.flatnonzero(are_candidates(screened))
    outcome, used = screened.outcome.copy(), screened.pairs.copy()
    if len(rows):
        rule = confirming(RULE, 1, share_in_turn(1, BUDGET))
        confirmed = replay(pairs(random, regime, len(rows), rule.max_pairs, change), spreads[rows], rule)
        outcome[rows] = confirmed.outcome
        used[rows] += confirmed.pairs
    return outcome, used


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


SUITES_AT_ONCE = 250


def suite(
    regime: Regime, changes: Values, *, suites: int, seed: int, budget: float = BUDGET, is_in_turn: bool = False
) -> SuiteShares:
    """Suites of cases with these true changes: screened, and confirmed on fresh pairs.

    ``is_in_turn``: each case is settled before the next begins, in random order.
    """
    random = np.random.default_rng(seed)
    drawn = [
        _suites(
            random, regime, np.tile(changes, (min(SUITES_AT_ONCE, suites - start), 1)), budget, is_in_turn=is_in_turn
        )
        for start in range(0, suites, SUITES_AT_ONCE)
    ]
    regressed, used, candidates = (np.concatenate(part) for part in zip(*drawn, strict=True))
    is_beyond = changes > TOLERANCE + 1e-12
    return SuiteShares(
        family_error=float(regressed[:, ~is_beyond].any(axis=1).mean()),
        power=float(regressed[:, is_beyond].mean()) if is_beyond.any() else nan,
        pairs=float(used.mean()),
        candidates=float(candidates.mean()),
        suites=suites,
    )


def _places(random: np.random.Generator, is_candidate: Flags) -> Codes:
    """Of every case the number of candidates up to it, in an order of its suite's own."""
    order = np.argsort(random.random(is_candidate.shape), axis=1)
    places = np.empty(is_candidate.shape, dtype=np.intp)
    np.put_along_axis(places, order, np.cumsum(np.take_along_axis(is_candidate, order, axis=1), axis=1), axis=1)
    return places


def are_candidates(screened: Replay) -> Flags:
    """``multiple_testing.candidates`` for arrays; a test compares the two."""
    looks_worse = (screened.outcome == INCONCLUSIVE) & (screened.estimate > TOLERANCE)
    is_candidate: Flags = (screened.outcome == REGRESSED) | looks_worse
    return is_candidate


def _suites(
    random: np.random.Generator, regime: Regime, changes: Values, budget: float, *, is_in_turn: bool
) -> tuple[Flags, Codes, Codes]:
    """Whether each case was called regressed and the pairs it took, and each suite's number of candidates."""
    cases = changes.ravel()
    spreads = reference_spreads(random, regime, len(cases))
    screened = replay(pairs(random, regime, len(cases), SCREENING_PAIRS, cases), spreads, screening(RULE))
    is_candidate = are_candidates(screened).reshape(changes.shape)
    counts = is_candidate.sum(axis=1)
    # Candidates that share a rule: of suites with as many, or with the same place.
    groups = _places(random, is_candidate) if is_in_turn else is_candidate * counts[:, np.newaxis]
    is_regressed, used = np.zeros(len(cases), dtype=np.bool_), screened.pairs.copy()
    for group in np.unique(groups[is_candidate]).tolist():
        if is_in_turn and group > places_in_turn(budget):
            continue
        rows = np.flatnonzero(is_candidate & (groups == group))
        rule = confirming(RULE, 1, share_in_turn(group, budget)) if is_in_turn else confirming(RULE, group, budget)
        found = replay(pairs(random, regime, len(rows), rule.max_pairs, cases[rows]), spreads[rows], rule)
        is_regressed[rows] = found.outcome == REGRESSED
        used[rows] += found.pairs
    return is_regressed.reshape(changes.shape), used.reshape(changes.shape), counts


def stored(regime: Regime, change: float, *, sessions: int, histories: int, seed: int) -> dict[str, float]:
    """Shares of outcomes of a new session against this many stored ones."""
    random = np.random.default_rng(seed)
    figures = session_figures(random, regime, histories, sessions + 1)
    figures[:, -1] += change
    spread = SessionSpread(assumed=METRICS["step_time"].session_sd, smallest=smallest_spread(METRICS["step_time"]))
    said = Counter(
        against_sessions(
            [SessionFigure(value=value) for value in row[:-1]],
            SessionFigure(value=row[-1]),
            spread=spread,
            tolerance=TOLERANCE,
        ).outcome
        for row in figures.tolist()
    )
    return {outcome.value: count / histories for outcome, count in said.items()}
