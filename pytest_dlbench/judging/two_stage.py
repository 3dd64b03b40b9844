"""One case pair by pair: all metrics are screened, then possible regressions are confirmed on fresh pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_dlbench.judging import multiple_testing
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.multiple_testing import CaseMetric, Standing
from pytest_dlbench.judging.pairs import Pair, decide_all, has_metric, reference_spread, rules, verdict, wants_more
from pytest_dlbench.judging.power import too_narrow
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.judging.sequential import Decision, Reason, Rule
from pytest_dlbench.records import Run, Verdict

NextPair = Callable[[], Pair]
NextLevel = Callable[[], float | None]
"""The level of a session's next confirmation, None if its false-alarm budget is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is judged, with at most how many pairs per pass: tolerances and reference spreads by metric.

    ``metrics`` are all metrics of the session.

    The spreads are measured in ``reference_runs`` consecutive runs; if that is 0 they are assumed, but at least the
    ``calibrated`` ones from ``dlbench calibrate``.
    """

    tolerances: Mapping[str, float]
    metrics: Metrics
    max_pairs: int
    spreads: Mapping[str, float]
    reference_runs: int = 0
    calibrated: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pairs of both passes, and what is reported for each metric, from the pairs of its last pass.

    ``alpha`` is the total error rate of the second pass.
    """

    screened: Sequence[Pair]
    confirmed: Sequence[Pair]
    decisions: Mapping[str, Decision]
    verdicts: tuple[Verdict, ...]
    alpha: float


def terms_of(
    tolerances: Mapping[str, float],
    max_pairs: int,
    reference: Sequence[Run],
    metrics: Metrics,
    calibrated: Mapping[str, float] | None = None,
) -> Terms:
    """The terms, with spreads measured in the reference if it has enough runs of a metric.

    A calibration may be from a quieter day: without a reference it can widen the assumed spread, but never narrow it.
    """
    known = {} if reference or not calibrated else calibrated
    spreads = {
        name: max(reference_spread(metrics[name], metrics[name].values(reference)), known.get(name, 0.0))
        for name in tolerances
    }
    return Terms(
        tolerances=tolerances,
        metrics=metrics,
        max_pairs=max_pairs,
        spreads=spreads,
        reference_runs=len(reference),
        calibrated={name: spread for name, spread in known.items() if name in tolerances},
    )


def narrow(terms: Terms) -> dict[str, float]:
    """The smallest tolerance that the pairs can resolve, for each metric whose own is below it.

    An assumed spread makes no tolerance too narrow: without a reference, the calibrated spread counts, or else the
    smallest spread of any machine.
    """
    least = {name: smallest_spread(terms.metrics[name]) for name in terms.tolerances}
    spreads = terms.spreads if terms.reference_runs else {**least, **terms.calibrated}
    return too_narrow(terms.tolerances, spreads, terms.metrics, terms.max_pairs)


@dataclass(slots=True, kw_only=True)
class Pass:
    """Pairs under one rule for each metric."""

    rules: Mapping[str, Rule]
    spreads: Mapping[str, float]
    metrics: Metrics
    pairs: list[Pair] = field(default_factory=list, init=False)
    _decisions: Mapping[str, Decision] = field(init=False)

    def __post_init__(self) -> None:
        self._decisions = decide_all([], self.rules, self.spreads, self.metrics)

    def add(self, pair: Pair) -> None:
        """One more pair."""
        self.pairs.append(pair)
        self._decisions = decide_all(self.pairs, self.rules, self.spreads, self.metrics)

    @property
    def is_open(self) -> bool:
        """Whether another pair may still decide a metric."""
        return wants_more(self._decisions) and len(self.pairs) < max(rule.max_pairs for rule in self.rules.values())

    @property
    def standings(self) -> dict[CaseMetric, Standing]:
        """Where each metric stands; of the one case that there is."""
        return {
            CaseMetric(case="", metric=name): Standing(rule=self.rules[name], decision=decision)
            for name, decision in self._decisions.items()
        }


@dataclass(slots=True, kw_only=True)
class Passes:
    """Both passes of a case. ``next_level`` is called once per candidate, when the screening has ended."""

    terms: Terms
    next_level: NextLevel
    _full: Mapping[str, Rule] = field(default_factory=dict, init=False)
    _first: Pass | None = field(default=None, init=False)
    _second: Pass | None = field(default=None, init=False)
    _is_stopped: bool = field(default=False, init=False)

    def goes_on(self, has_time: Callable[[], bool]) -> bool:
        """Whether another pair is wanted, and there is time for it; what is a candidate now takes its level here.

        The pairs of a first look are run whatever the time: fewer of them can conclude nothing.
        """
        if self._first is None or (self._first.is_open and len(self._first.pairs) < FIRST_LOOK):
            return True
        if not has_time():
            self._is_stopped = True
            return False
        if self._first.is_open:
            return True
        if self._second is None:
            again = _confirming(multiple_testing.candidates(self._first.standings), self._full, self.next_level)
            self._second = self._pass(again)
        return self._second.is_open

    def add(self, pair: Pair) -> None:
        """One more pair of the pass that goes on."""
        if self._first is None:
            self._full = rules(_told(self.terms, pair), self.terms.metrics, max_pairs=self.terms.max_pairs)
            screening = {name: multiple_testing.screening(rule) for name, rule in self._full.items()}
            self._first = self._pass(screening)
        (self._second or self._first).add(pair)

    def _pass(self, rules: Mapping[str, Rule]) -> Pass:
        return Pass(rules=rules, spreads=self.terms.spreads, metrics=self.terms.metrics)

    def found(self) -> Found:
        """What is reported, after at least one pair."""
        assert self._first is not None
        # Without pairs the second pass concludes nothing and cannot err.
        second = self._second if self._second and self._second.pairs else None
        screened, confirmed = self._first.pairs, second.pairs if second else []
        again = second.standings if second else {}
        standings = multiple_testing.settled(self._first.standings, again)
        if self._is_stopped:
            standings = {key: _stopped(standing) for key, standing in standings.items()}
        verdicts = tuple(
            verdict(
                self.terms.metrics[key.metric],
                confirmed if key in again else screened,
                standing.decision,
                self.terms.tolerances[key.metric],
            )
            for key, standing in standings.items()
        )
        return Found(
            screened=screened,
            confirmed=confirmed,
            decisions={key.metric: standing.decision for key, standing in standings.items()},
            verdicts=verdicts,
            alpha=sum(standing.rule.alpha for standing in again.values()),
        )


def _stopped(standing: Standing) -> Standing:
    """A metric as it stood when the time was up: one that more pairs might have decided says why there are none."""
    if standing.decision.is_final:
        return standing
    return replace(standing, decision=replace(standing.decision, reason=Reason.BUDGET_SPENT))


def judge(
    next_pair: NextPair, terms: Terms, next_level: NextLevel, has_time: Callable[[], bool] = lambda: True
) -> Found:
    """Both passes of a case."""
    passes = Passes(terms=terms, next_level=next_level)
    while passes.goes_on(has_time):
        passes.add(next_pair())
    return passes.found()


def until_decided(
    next_pair: NextPair, wanted: Mapping[str, Rule], metrics: Metrics
) -> tuple[list[Pair], dict[CaseMetric, Standing]]:
    """One pass of its own: pairs, until each metric is decided by its rule; spreads are assumed."""
    asked = Pass(rules=wanted, spreads={name: reference_spread(metrics[name]) for name in wanted}, metrics=metrics)
    asked.add(next_pair())
    while asked.is_open:
        asked.add(next_pair())
    return asked.pairs, asked.standings


def _told(terms: Terms, pair: Pair) -> Mapping[str, float]:
    """Tolerances of the metrics that such runs have: images have no perplexity, short runs show no leak."""
    found = {name: amount for name, amount in terms.tolerances.items() if has_metric(terms.metrics[name], pair)}
    # With nothing to judge, nothing could fail.
    return found or terms.tolerances


def _confirming(
    candidates: Sequence[CaseMetric], full: Mapping[str, Rule], next_level: NextLevel
) -> Mapping[str, Rule]:
    """The rules of the second pass: each candidate has its own level, because later tests may have more candidates."""
    levels = {key.metric: next_level() for key in candidates}
    return {
        name: multiple_testing.confirming(full[name], 1, level) for name, level in levels.items() if level is not None
    }
