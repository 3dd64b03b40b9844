"""How often the shipped rules give each outcome: whole cases, with all their metrics, drawn from a regime of noise."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import log
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.at_once import replay_at_once, rule_at_once
from pytest_dlbench.judging.intervals import Values
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.multiple_testing import (
    SCREENING_ALPHA,
    confirming,
    part_at_once,
    part_of,
    places_in_turn,
    screening,
    share_in_turn,
)
from pytest_dlbench.judging.pairs import ALTERNATING_SPREAD, REFERENCE_RUNS, by_steps, rules
from pytest_dlbench.judging.scales import smallest_spread, tolerance_at
from pytest_dlbench.judging.sequential import (
    DECIDED,
    EQUIVALENT,
    IMPROVED,
    INCONCLUSIVE,
    REGRESSED,
    TOO_VARIABLE,
    Codes,
    Flags,
    Replay,
    Rule,
    replay,
)
from pytest_dlbench.judging.sessions import SessionFigure, SessionSpread, against_sessions
from tests.characteristics.regimes import (
    Alternating,
    Regime,
    orders,
    pairs,
    references,
    session_figures,
    spreads_of,
    steps,
)

TOLERANCE = log(1.05)
TIME = "step_time"
CHUNK = 20_000
# Besides time: the standard deviation of a run. PyTorch's peak memory, an accuracy of some thousand images, and the
# growth of memory over a training, which is never negative.
OTHERS = {"accuracy": 0.3, "peak_rss": 0.003, "leak": 0.2}
DEFAULTS = frozenset({TIME, *OTHERS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Simulated cases as arrays: their outcomes, the pairs they took, and whether the interval of time holds the truth.

    ``outcome`` is that of the case, ``time`` that of its time; an outcome is an index into ``sequential.OUTCOMES``.
    """

    outcome: Codes
    time: Codes
    pairs: Codes
    is_covered: Flags

    def share(self, outcome: int) -> float:
        """The share of cases with an outcome; EQUIVALENT is a case that passed."""
        return float(np.mean(self.outcome == outcome))

    def sessions_with(self, outcome: int, cases: int) -> float:
        """The share of sessions of this many cases in which any case has the outcome."""
        whole = len(self.outcome) // cases * cases
        return float((self.outcome[:whole] == outcome).reshape(-1, cases).any(axis=1).mean())


def simulate(
    regime: Regime | Alternating,
    change: float,
    *,
    cases: int,
    seed: int,
    session: int = 8,
    place: int = 1,
    tolerance: float = 0.05,
    others: Mapping[str, float] = OTHERS,
    max_pairs: int = 20,
    old: Mapping[str, float] = MappingProxyType({}),
) -> Cases:
    """Cases whose new version is slower by ``change`` (0.1 is 10 %), in sessions of ``session`` tests.

    Each has the part of the false-alarm budget that the ``place``-th case in which something is flagged has; the first
    one has most of it. ``old`` are figures of the baseline, otherwise so large that no tolerance is wider for them.
    """
    random = np.random.default_rng(seed)
    judged = {name: METRICS[name].tolerance or 0.0 for name in others} | {TIME: tolerance}
    judged |= {name: tolerance_at(METRICS[name], judged[name], figure) for name, figure in old.items()}
    found = rules(judged, METRICS, max_pairs=max_pairs, defaults=DEFAULTS)
    source = _Source(regime=regime, change=log(1 + change), judged=found, others=others)
    budget = Budget(confirming=part_of(place, session), at_once=part_at_once(session))
    parts = [source.cases(random, min(CHUNK, cases - start), budget) for start in range(0, cases, CHUNK)]
    return Cases(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in Cases.__slots__})


class Budget(NamedTuple):
    """A case's parts of the budget of false alarms: for confirmations, and for deciding its time at once."""

    confirming: float
    at_once: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What cases are drawn from."""

    regime: Regime | Alternating
    change: float
    judged: Mapping[str, Rule]
    others: Mapping[str, float]

    def cases(self, random: np.random.Generator, cases: int, budget: Budget) -> Cases:
        """Settled cases."""
        most = 2 * self.judged[TIME].max_pairs
        drawn = {name: Drawn(pairs=_of_other(random, name, sd, (cases, most))) for name, sd in self.others.items()}
        spreads = {
            name: spreads_of(random.normal(0.0, sd, (cases, REFERENCE_RUNS)), METRICS[name])
            for name, sd in self.others.items()
        }
        if isinstance(self.regime, Alternating):
            wall, cpu = steps(random, self.regime, cases, most)
            earlier = self.regime.earlier
            drawn[TIME] = Drawn(pairs=wall, cpu=cpu, change=self.change)
            spreads[TIME] = np.full(cases, ALTERNATING_SPREAD)
            if earlier:
                spread, widest = references(random, earlier, cases)
                drawn[TIME] = replace(drawn[TIME], widest=widest, earlier=earlier.earlier)
                spreads[TIME] = np.minimum(ALTERNATING_SPREAD, spread)
        else:
            between = pairs(random, self.regime, cases, most)
            ordered = (orders(random, cases, most), orders(random, cases, most))
            spreads[TIME], widest = references(random, self.regime, cases)
            known = self.regime.earlier
            drawn[TIME] = Drawn(pairs=between, orders=ordered, change=self.change, widest=widest, earlier=known)
        return settle(drawn, spreads, self.judged, budget)


def _of_other(random: np.random.Generator, name: str, sd: float, shape: tuple[int, int]) -> Values:
    if METRICS[name].is_absolute:
        return np.maximum(0.0, random.normal(0.0, sd, shape))
    return random.normal(0.0, sd, shape) - random.normal(0.0, sd, shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One metric of many cases: differences second - first of pairs, of which each pass has the order of its own.

    Where steps alternate, ``cpu`` has the differences new - old in processor time. ``widest`` is how far ``earlier``
    runs are apart in each case; without any, nothing is decided at once.
    """

    pairs: Values
    orders: tuple[Values, Values] | None = None
    change: float = 0.0
    cpu: Values | None = None
    widest: Values | None = None
    earlier: int = 0

    def screened(self, spreads: Values, rule: Rule) -> Replay:
        """The first pass."""
        found = self._ordered(self.pairs[:, : rule.max_pairs], 0, slice(None))
        return self._decided(found, slice(None), 0, spreads, rule)

    def at_once(self, spreads: Values, rule: Rule, level: float, screened: Codes) -> Replay | None:
        """All pairs together: those after ``screened`` are in the order of the second pass."""
        direct = rule_at_once(rule, level, self.earlier) if self.earlier else None
        if direct is None or self.widest is None:
            return None
        count, widest = direct.max_pairs, self.widest
        wall = self._ordered(self.pairs[:, :count], 0, slice(None))
        if self.orders is not None:
            again = np.arange(count) - screened[:, np.newaxis]
            later = np.take_along_axis(self.orders[1], np.maximum(again, 0), axis=1) * self.pairs[:, :count]
            wall = np.where(again < 0, wall, later + self.change)
        if self.cpu is None:
            return replay_at_once(wall, spreads, widest, direct)
        half = replace(by_steps(direct), alpha=direct.alpha / 2)
        cpu = self.cpu[:, :count] + self.change
        return _either(replay_at_once(wall, spreads, widest, half), replay_at_once(cpu, spreads, widest, half))

    def confirmed(self, spreads: Values, rule: Rule, rows: Codes, begins: int) -> Replay:
        """A second pass, which begins there."""
        found = self._ordered(self.pairs[rows, begins : begins + rule.max_pairs], 1, rows)
        return self._decided(found, rows, begins, spreads, rule)

    def _decided(self, wall: Values, rows: Codes | slice, begins: int, spreads: Values, rule: Rule) -> Replay:
        if self.cpu is None:
            return replay(wall, spreads, rule)
        # ``pairs.decide_by_steps``.
        cpu = self.cpu[rows, begins : begins + rule.max_pairs] + self.change
        alpha = max(rule.alpha / 2, LEAST_ALPHA)
        is_of_one_kind = np.zeros(len(wall), dtype=np.bool_)
        if self.widest is not None:
            is_of_one_kind = self.widest[rows] < rule.tolerance
        parts = []
        for kind in (False, True):
            half = replace(by_steps(rule, is_of_one_kind=kind), alpha=alpha)
            chosen = is_of_one_kind == kind
            parts.append(_either(*(replay(found[chosen], spreads[chosen], half) for found in (wall, cpu))))
        return _interleaved(is_of_one_kind, parts)

    def _ordered(self, pairs: Values, which: int, rows: Codes | slice) -> Values:
        order = 1.0 if self.orders is None else self.orders[which][rows, : pairs.shape[1]]
        return order * pairs + self.change


def _either(wall: Replay, cpu: Replay) -> Replay:
    """The first of the two that is decided, wall time if both are at once or none is."""
    earlier = (wall.reason != DECIDED) | (cpu.pairs < wall.pairs)
    is_of_cpu = (cpu.reason == DECIDED) & earlier
    return _where(is_of_cpu, cpu, wall)


def _interleaved(flags: Flags, parts: list[Replay]) -> Replay:
    """The rows of two parts in their places: those of the second one where the flag is set."""
    places = np.argsort(np.argsort(flags, kind="stable"), kind="stable")
    fields = {name: [getattr(part, name) for part in parts] for name in Replay.__slots__}
    return Replay(**{name: np.concatenate(found)[places] for name, found in fields.items()})


def _where(flags: Flags, one: Replay, other: Replay) -> Replay:
    return Replay(**{name: np.where(flags, getattr(one, name), getattr(other, name)) for name in Replay.__slots__})


def settle(
    drawn: Mapping[str, Drawn], spreads: Mapping[str, Values], judged: Mapping[str, Rule], budget: Budget
) -> Cases:
    """``two_stage.judge`` for many cases at once, which begin with ``budget``; a test compares the two.

    It runs ``sequential.replay`` in the same way: each metric is screened, a change is confirmed on the pairs after the
    one that showed it, and a confirmed regression ends the case. All pairs may decide its time at once.
    """
    screened = {name: drawn[name].screened(spreads[name], screening(rule)) for name, rule in judged.items()}
    flags = {name: _is_change(found) for name, found in screened.items()}
    at_once = drawn[TIME].at_once(spreads[TIME], judged[TIME], budget.at_once, screened[TIME].pairs)
    if at_once is not None:
        # Before a confirmation begins, it spends no place.
        flags[TIME] &= ~(_is_change(at_once) & (at_once.pairs <= screened[TIME].pairs))
    places = _places(screened, flags)
    share = budget.confirming
    final = {
        name: _confirmed(drawn[name], spreads[name], screened[name], _Levels(rule, places[name] * flags[name], share))
        for name, rule in judged.items()
    }
    used = {name: found.pairs + flags[name] * screened[name].pairs for name, found in final.items()}
    if at_once is not None:
        is_first = _is_change(at_once) & ~((final[TIME].reason == DECIDED) & (used[TIME] < at_once.pairs))
        final[TIME] = _where(is_first, at_once, final[TIME])
        used[TIME] = np.where(is_first, at_once.pairs, used[TIME])
    ends = [np.where(found.outcome == REGRESSED, used[name], np.iinfo(np.intp).max) for name, found in final.items()]
    change = drawn[TIME].change
    return Cases(
        outcome=_outcomes(list(final.values())),
        time=final[TIME].outcome,
        pairs=np.minimum(np.min(ends, axis=0), np.max(list(used.values()), axis=0)),
        is_covered=(final[TIME].lower <= change) & (change <= final[TIME].upper),
    )


def _is_change(found: Replay) -> Flags:
    return np.isin(found.outcome, (REGRESSED, IMPROVED))


def _places(screened: Mapping[str, Replay], flags: Mapping[str, Flags]) -> dict[str, Codes]:
    """Each flagged metric's place among those of its case: by its pair, then by the order of the metrics."""
    names = list(screened)
    moments = {name: screened[name].pairs * len(names) + place for place, name in enumerate(names)}
    earlier = {
        name: sum(flags[other] & (moments[other] < moments[name]) for other in names if other != name) for name in names
    }
    return {name: 1 + np.asarray(earlier[name], dtype=np.intp) for name in names}


class _Levels(NamedTuple):
    """The rule of a metric, each case's place among its flagged metrics, 0 if it is not, and what they share."""

    rule: Rule
    places: Codes
    budget: float


def _confirmed(drawn: Drawn, spreads: Values, screened: Replay, levels: _Levels) -> Replay:
    """The screening, with the confirmation in its place in rows that have a place."""
    found = Replay(**{name: getattr(screened, name).copy() for name in Replay.__slots__})
    for place, begins in _groups(levels.places, screened.pairs):
        rows = np.flatnonzero((levels.places == place) & (screened.pairs == begins))
        if place > places_in_turn(levels.budget):
            found.outcome[rows] = INCONCLUSIVE
            found.pairs[rows] = 0
            continue
        fresh = confirming(levels.rule, share_in_turn(place, levels.budget))
        again = drawn.confirmed(spreads[rows], fresh, rows, begins)
        for name in Replay.__slots__:
            getattr(found, name)[rows] = getattr(again, name)
    return found


def _groups(places: Codes, begins: Codes) -> Iterator[tuple[int, int]]:
    """The places and beginnings of confirmations."""
    found = np.unique(np.stack([places, begins], axis=1)[places > 0], axis=0)
    yield from ((int(place), int(first)) for place, first in found)


def _outcomes(final: list[Replay]) -> Codes:
    """``outcomes.of_verdicts`` for arrays."""

    def has(outcome: int) -> Flags:
        return np.any([(found.outcome == outcome) & (found.reason != TOO_VARIABLE) for found in final], axis=0)

    chosen = np.select([has(REGRESSED), has(INCONCLUSIVE), has(IMPROVED)], [REGRESSED, INCONCLUSIVE, IMPROVED])
    return np.where(has(REGRESSED) | has(INCONCLUSIVE) | has(IMPROVED), chosen, EQUIVALENT)


def cleared(spread: float, tolerance: float, *, cases: int, seed: int, max_pairs: int = 20) -> float:
    """The share of unchanged metrics that the screening clears at a tolerance, with normal noise of a known spread."""
    random = np.random.default_rng(seed)
    rule = screening(Rule(tolerance=tolerance, max_pairs=max_pairs))
    assert rule.alpha == SCREENING_ALPHA
    found = replay(random.normal(0.0, spread, (cases, max_pairs)), np.full(cases, spread), rule)
    return float(np.mean(found.outcome == EQUIVALENT))


@cache
def stored(
    change: float, *, session_sd: float, sessions: int, cases: int, histories: int, seed: int
) -> dict[str, float]:
    """Shares of outcomes of a new session against this many stored ones, one of ``cases`` in its session."""
    random = np.random.default_rng(seed)
    regime = Regime(name="stored", run_sd=0.01, session_sd=session_sd)
    figures = session_figures(random, regime, histories, sessions + 1)
    figures[:, -1] += log(1 + change)
    spread = SessionSpread(assumed=METRICS[TIME].session_sd, smallest=smallest_spread(METRICS[TIME]))
    said = Counter(
        against_sessions(
            [SessionFigure(value=value) for value in row[:-1]],
            SessionFigure(value=row[-1]),
            spread=spread,
            tolerance=TOLERANCE,
            cases=cases,
        ).outcome
        for row in figures.tolist()
    )
    return {outcome.value: count / histories for outcome, count in said.items()}
