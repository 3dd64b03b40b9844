"""Compares a session with its baseline: session by session, exact metrics run by run; also finds drift.

It also makes the sessions that baselines store.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import count
from math import exp, expm1, log, sqrt
from statistics import median

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.judging import kernels
from pytest_dlbench.judging.comparable import FEWEST_RUNS, KNOWN_SESSIONS, obstacles
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS, Metrics, read_all
from pytest_dlbench.judging.outcomes import of_verdicts
from pytest_dlbench.judging.power import as_given, smallest_of_repeated, smallest_of_runs, smallest_of_sessions
from pytest_dlbench.judging.sanity import believed
from pytest_dlbench.judging.scales import badness, limit, shown, smallest_spread, tolerance_at
from pytest_dlbench.judging.sessions import (
    Comparison,
    SessionFigure,
    SessionSpread,
    against_reference,
    against_sessions,
    drift,
    sessions_needed,
)
from pytest_dlbench.judging.tolerance import asked_for
from pytest_dlbench.judging.verdicts import is_comparable, measured, of_runs
from pytest_dlbench.records import (
    Baseline,
    BaselineSession,
    CaseOutcome,
    Record,
    Run,
    Verdict,
    VerdictOutcome,
)
from pytest_dlbench.records.reasons import UndecidedSessions

# The newest sessions, which give the level and spread of a case; older ones are for drift.
JUDGED_SESSIONS = 10
# Thirty are the reference of the CUSUM, which can still detect a drift ten nights later.
MOST_SESSIONS = 40
CONTROL = "machine_speed"
# A median of three runs is not more precise, files stay short, and diffs readable.
DIGITS = 7

Series = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The result of comparing a session with a baseline.

    ``since_anchor`` has verdicts against the reference session; it is empty if that is the only session. ``drifting``
    has the number of sessions since each metric's drift began, ``undecided`` what would decide an inconclusive one.
    """

    verdicts: tuple[Verdict, ...]
    since_anchor: tuple[Verdict, ...] = ()
    drifting: Mapping[str, int] = field(default_factory=dict)
    undecided: tuple[UndecidedSessions, ...] = ()

    def is_slower(self, better: AbstractSet[str]) -> bool:
        """Whether there is a suspicion other than that these metrics are too good to be true."""
        found = [verdict for verdict in (*self.verdicts, *self.since_anchor) if verdict.metric not in better]
        return bool(self.drifting) or any(verdict.outcome is VerdictOutcome.SUSPECT for verdict in found)

    @property
    def outcome(self) -> CaseOutcome:
        """The outcome of the case, which the reference session and drift can only make suspect."""
        suspicious = [verdict for verdict in self.since_anchor if verdict.outcome is VerdictOutcome.SUSPECT]
        found = of_verdicts([*self.verdicts, *suspicious])
        is_milder = found not in (CaseOutcome.REGRESSED, CaseOutcome.SUSPECT)
        return CaseOutcome.SUSPECT if self.drifting and is_milder else found


def changed(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Metrics that have changed: saving this session starts a new level of them."""
    levels = (VerdictOutcome.REGRESSED, VerdictOutcome.SUSPECT, VerdictOutcome.IMPROVED)
    return tuple(verdict.metric for verdict in verdicts if verdict.outcome in levels)


def session_of(
    record: Record, *, name: str, saved: str, reason: str, metrics: Metrics, commit: str = ""
) -> BaselineSession:
    """What a baseline stores of a session whose runs have finished. ``saved`` is a time in ISO 8601."""
    figures = read_all(record.runs)
    return BaselineSession(
        id=name,
        saved=saved,
        reason=reason,
        commit=commit,
        versions=record.runs[0].versions,
        seeds=tuple(run.seed for run in record.runs),
        medians={name: _rounded(median(values)) for name, values in figures.items()},
        values={name: tuple(values) for name, values in figures.items() if _is_kept_by_run(name, metrics)},
        recurrent_kernels=kernels.of_runs(record.runs),
    )


def _is_kept_by_run(name: str, metrics: Metrics) -> bool:
    return name in metrics and (metrics[name].is_exact or metrics[name].is_counted)


def appended(baseline: Baseline | None, record: Record, session: BaselineSession) -> Baseline:
    """The baseline with one more session; the first becomes the reference session, which is never dropped.

    The oldest sessions beyond MOST_SESSIONS are dropped. The baseline must have the same context.
    """
    before = baseline.sessions if baseline else ()
    anchor = baseline.anchor if baseline else session.id
    return Baseline(
        case=record.case,
        context=record.context,
        recipe=record.recipe,
        anchor=anchor,
        sessions=_newest((*before, session), anchor),
    )


def merged(first: Baseline, second: Baseline) -> Baseline:
    """One baseline with the sessions of both, in the order of their times, as a merge of two branches needs it.

    The reference session is that of the first. Raises FileFormatError if they are of different cases or conditions.
    """
    differences = obstacles(first.context, second.context)
    if first.case.id != second.case.id or differences:
        what = ", ".join(one.name for one in differences) or "case"
        raise FileFormatError(f"{first.case.id}: the two sides differ in {what}: keep one of them")
    known = {session.id: session for session in first.sessions}
    added = [session for session in second.sessions if session != known.get(session.id)]
    taken = known.keys() | {session.id for session in added if session.id not in known}
    # Two sessions that were saved in the same second.
    fresh = [replace(one, id=_free(one.id, taken)) if one.id in known else one for one in added]
    sessions = sorted((*first.sessions, *fresh), key=lambda session: (session.saved, session.id))
    newest = first if sessions[-1] in first.sessions else second
    return replace(newest, anchor=first.anchor, sessions=_newest(sessions, first.anchor))


def _free(name: str, taken: AbstractSet[str]) -> str:
    return next(unique for number in count(2) if (unique := f"{name}-{number}") not in taken)


def _newest(sessions: Sequence[BaselineSession], anchor: str) -> tuple[BaselineSession, ...]:
    """The sessions that are kept: the newest ones, and the reference session."""
    surplus = [known for known in sessions if known.id != anchor][: max(0, len(sessions) - MOST_SESSIONS)]
    return tuple(known for known in sessions if known not in surplus)


def check(baseline: Baseline, runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics) -> None:
    """Raise FileFormatError for a baseline without a judged figure that it had, which would otherwise pass silently."""
    for metric in _judged(baseline, read_all(runs), tolerances, metrics):
        _Stored.of(baseline, metric)


def unstored(
    baseline: Baseline, runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics
) -> tuple[str, ...]:
    """The metrics that would be judged, if a session of the baseline had them: it is older than they are."""
    asked = _compared(read_all(runs), tolerances, metrics)
    return tuple(metric.name for metric in asked if not _may_have(baseline, metric))


def _judged(baseline: Baseline, figures: Series, tolerances: Mapping[str, float], metrics: Metrics) -> list[Metric]:
    return [metric for metric in _compared(figures, tolerances, metrics) if _may_have(baseline, metric)]


def _compared(figures: Series, tolerances: Mapping[str, float], metrics: Metrics) -> list[Metric]:
    """Images have no perplexity; absolute metrics are judged without a baseline."""
    return [metrics[name] for name in tolerances if name in figures and not metrics[name].is_absolute]


def _may_have(baseline: Baseline, metric: Metric) -> bool:
    """Whether the baseline has the metric, or had it: without a checksum, somebody may have deleted it."""
    return not baseline.has_checksum or any(metric.name in session.medians for session in baseline.sessions)


def missing(
    baseline: Baseline, runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics
) -> tuple[str, ...]:
    """The metrics that the newest session has and that would be judged, if every one of these runs had them.

    Absolute metrics are judged in those runs that have them: of these, what no run has, if somebody asked for it.
    """
    figures, known, asked = read_all(runs), baseline.sessions[-1].medians, asked_for(tolerances, metrics)
    lost = {name for name in asked if metrics[name].is_absolute and not metrics[name].values(runs)}
    lost |= {name for name in tolerances if name not in figures and not metrics[name].is_absolute}
    return tuple(name for name in tolerances if name in known and name in lost)


def accepted_at(baseline: Baseline, name: str) -> str:
    """When the present level of a metric was saved although it had changed; empty if it is the first level."""
    return next((one.saved for one in reversed(baseline.sessions) if name in one.accepted), "")


def found_in(baseline: Baseline, record: Record, metrics: Metrics) -> BaselineSession | None:
    """The newest session that has the figures of this record; None if there is none."""
    same = session_of(record, name="", saved="", reason="", metrics=metrics)
    asked = (same.seeds, same.medians, same.versions)
    return next((one for one in reversed(baseline.sessions) if (one.seeds, one.medians, one.versions) == asked), None)


def without(baseline: Baseline, record: Record, metrics: Metrics) -> Baseline | None:
    """The baseline without its newest session if that has the figures of this record; None if it has no other.

    A session that was killed after it saved a case saves the same runs again when it is resumed.
    """
    newest, *others = reversed(baseline.sessions)
    if found_in(baseline, record, metrics) is not newest:
        return baseline
    if not others:
        return None
    return baseline if newest.id == baseline.anchor else replace(baseline, sessions=tuple(reversed(others)))


def seeds(baseline: Baseline) -> frozenset[int]:
    """The seeds of the newest sessions, none of which diverged; a repeated seed is the same run."""
    return frozenset(seed for session in baseline.sessions[-JUDGED_SESSIONS:] for seed in session.seeds)


def judged_sessions(baseline: Baseline, metric: Metric) -> Sequence[BaselineSession]:
    """The newest sessions of the metric's present level; raises FileFormatError for a baseline without its figures."""
    return _Stored.of(baseline, metric).level[-JUDGED_SESSIONS:]


def by_seed(metric: Metric, sessions: Sequence[BaselineSession]) -> Mapping[int, Sequence[float]]:
    """Each seed's values over the sessions, of a metric that is judged run by run.

    Repetitions of a seed may agree, and are no further runs then.
    """
    values: dict[int, list[float]] = {}
    for session in sessions:
        for seed, value in zip(session.seeds, session.values[metric.name], strict=True):
            values.setdefault(seed, []).append(value)
    return values


def compare(
    baseline: Baseline,
    runs: Sequence[Run],
    tolerances: Mapping[str, float],
    metrics: Metrics,
    history: Series | None = None,
    *,
    cases: int = 1,
) -> Judged:
    """Compare this session's runs with a baseline of the case: one verdict for each metric with a tolerance.

    ``history`` has medians of sessions by metric, oldest first, of the present level: if it has more sessions than the
    baseline, drift is detected there. ``cases`` is how many are compared in the session. Raises FileFormatError for a
    baseline without a judged figure that it had, which would otherwise pass silently.
    """
    figures = read_all(runs)
    judged = _judged(baseline, figures, tolerances, metrics)
    control = median(figures[CONTROL]) if CONTROL in figures else None
    verdicts, since_anchor, undecided, drifting = [], [], [], {}
    for metric in judged:
        new = measured(runs, metric, figures)
        stored = _Stored.of(baseline, metric)
        found, needed = stored.verdict(new, control, tolerances[metric.name], cases)
        found = believed(metric, found)
        verdicts.append(found)
        if found.outcome is VerdictOutcome.INCONCLUSIVE:
            undecided.append(UndecidedSessions(metric=metric.name, sessions=needed, resolved=_resolved(metric, found)))
        if anchored := stored.anchored(new, control, tolerances[metric.name]):
            since_anchor.append(anchored)
        if since := stored.drifting(median(new.values()), (history or {}).get(metric.name, ())):
            drifting[metric.name] = since
    return Judged(
        verdicts=tuple(verdicts), since_anchor=tuple(since_anchor), drifting=drifting, undecided=tuple(undecided)
    )


def _resolved(metric: Metric, found: Verdict) -> float:
    """The tolerance at which it would have been cleared, as written."""
    lower, upper = found.lower or 0.0, found.upper or 0.0
    if metric.kind == "points":
        return max(0.0, -lower if metric.better == "higher" else upper)
    return expm1(max(log(upper), -log(lower)))


def narrow(
    baseline: Baseline, tolerances: Mapping[str, float], calibrated: Mapping[str, float], runs: int, metrics: Metrics
) -> dict[str, float]:
    """The smallest tolerance at which a session of this many runs can be cleared, for metrics whose own is below it.

    With fewer than five sessions, the assumed spread makes no tolerance too narrow. Then the smallest spread of any
    machine counts, or that of ``calibrated`` (spreads of pairs by metric), because sessions differ at least as much as
    their runs. For metrics that are judged run by run, runs are assumed to agree until then.
    Raises FileFormatError as ``compare`` does.
    """
    found = {}
    for name, tolerance in tolerances.items():
        metric = metrics[name]
        if metric.is_absolute or name not in baseline.sessions[-1].medians:
            continue
        stored = _Stored.of(baseline, metric)
        least, applied = stored.smallest(runs, calibrated.get(name, 0.0)), stored.applied(tolerance)
        if limit(metric, applied) < min(least, smallest_of_repeated(metric, max(runs, FEWEST_RUNS))):
            found[name] = as_given(metric, least)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """One metric of a baseline: the sessions of its present level, oldest first, and the reference session."""

    metric: Metric
    level: Sequence[BaselineSession]
    anchor: BaselineSession | None

    @classmethod
    def of(cls, baseline: Baseline, metric: Metric) -> "_Stored":
        level: list[BaselineSession] = []
        for session in reversed(baseline.sessions):
            # A metric may be younger than the baseline, and a session may have been saved without it. Without a
            # checksum, the newest session must have it.
            if metric.name not in session.medians and (level or baseline.has_checksum):
                continue
            _check(baseline, session, metric)
            level.insert(0, session)
            if metric.name in session.accepted:
                break
        anchor = next(session for session in baseline.sessions if session.id == baseline.anchor)
        is_new = metric.name in anchor.medians and [session.id for session in level] != [anchor.id]
        if is_new:
            _check(baseline, anchor, metric)
        return cls(metric=metric, level=level, anchor=anchor if is_new else None)

    def applied(self, tolerance: float) -> float:
        """The tolerance at the figure of the newest session."""
        return tolerance_at(self.metric, tolerance, self.level[-1].medians[self.metric.name])

    def verdict(
        self, new: Mapping[int, float], control: float | None, tolerance: float, cases: int
    ) -> tuple[Verdict, int | None]:
        """The verdict against the newest sessions, and how many of them would decide it if they do not."""
        judged = self.level[-JUDGED_SESSIONS:]
        if self.metric.is_exact:
            return of_runs(self.metric, by_seed(self.metric, judged), new, tolerance, cases), None
        found = against_sessions(
            [_figure(self.metric, session.medians) for session in judged],
            self._new(new, control),
            spread=self._spread,
            tolerance=limit(self.metric, tolerance),
            cases=cases,
        )
        needed = sessions_needed(found, limit(self.metric, tolerance), JUDGED_SESSIONS)
        return self._shown(found, new, tolerance), needed

    def smallest(self, runs: int, calibrated: float) -> float:
        """The smallest tolerance at which a session of ``runs`` can be cleared; pairs differ by ``calibrated``."""
        judged = self.level[-JUDGED_SESSIONS:]
        if self.metric.is_exact:
            # Fewer are reported as too few, and not judged.
            counted = max(runs, FEWEST_RUNS)
            values = list(by_seed(self.metric, judged).values())
            # The spread of a few runs is a guess: before five sessions they are assumed to agree.
            middle = median(value for seed in values for value in seed)
            assumed_values = values if len(judged) >= KNOWN_SESSIONS else [[middle] * len(seed) for seed in values]
            return smallest_of_runs(self.metric, assumed_values, counted)
        least = smallest_spread(self.metric)
        figures = [_figure(self.metric, session.medians) for session in judged]
        assumed = max(least, calibrated / sqrt(2 * runs))
        return smallest_of_sessions(figures, SessionSpread(assumed=assumed, smallest=least))

    def anchored(self, new: Mapping[int, float], control: float | None, tolerance: float) -> Verdict | None:
        """The verdict against the reference session, at worst ``suspect``; None if it is the only one or lacks it."""
        if self.anchor is None:
            return None
        if self.metric.is_exact:
            found = of_runs(self.metric, by_seed(self.metric, [self.anchor]), new, tolerance)
            is_worse = found.outcome is VerdictOutcome.REGRESSED
            return replace(found, outcome=VerdictOutcome.SUSPECT) if is_worse else found
        since = against_reference(
            _figure(self.metric, self.anchor.medians),
            [_figure(self.metric, session.medians) for session in self.level[-JUDGED_SESSIONS:]],
            self._new(new, control),
            spread=self._spread,
            tolerance=limit(self.metric, tolerance),
        )
        return self._shown(since, new, tolerance)

    def drifting(self, new: float, history: Sequence[float]) -> int:
        """How many sessions ago an ongoing drift began, 0 without one. Exact metrics need no such rule."""
        if self.metric.is_exact:
            return 0
        stored = [session.medians[self.metric.name] for session in self.level]
        longest = history[-MOST_SESSIONS:] if len(history) > len(stored) else stored
        figures = [value for value in longest if is_comparable(self.metric, value)]
        found = drift([badness(self.metric, value) for value in [*figures, new]], smallest_spread(self.metric))
        return found.latest if found.is_suspect else 0

    @property
    def _spread(self) -> SessionSpread:
        assumed = max(self.metric.session_sd, self.metric.run_sd)
        return SessionSpread(assumed=assumed, smallest=smallest_spread(self.metric))

    def _new(self, new: Mapping[int, float], control: float | None) -> SessionFigure:
        probe = {CONTROL: control} if control else {}
        return _figure(self.metric, {self.metric.name: median(new.values()), **probe})

    def _shown(self, found: Comparison, new: Mapping[int, float], tolerance: float) -> Verdict:
        change, lower, upper = shown(self.metric, found.change.estimate, found.change.lower, found.change.upper)
        now = median(new.values())
        grown = found.change.estimate if self.metric.better == "lower" else -found.change.estimate
        return Verdict(
            metric=self.metric.name,
            outcome=found.outcome,
            old=now / exp(grown) if self.metric.kind == "ratio" else now - grown / 100,
            new=now,
            change=change,
            lower=lower,
            upper=upper,
            tolerance=tolerance,
            sessions=found.sessions,
            is_corrected=found.is_corrected,
        )


def _figure(metric: Metric, medians: Mapping[str, float]) -> SessionFigure:
    speed = medians.get(CONTROL) if metric.is_timed else None
    control = badness(METRICS[CONTROL], speed) if speed else None
    # A slow machine makes both figures worse: the difference is the framework's.
    return SessionFigure(value=badness(metric, medians[metric.name]), control=control)


def _check(baseline: Baseline, session: BaselineSession, metric: Metric) -> None:
    """Raise FileFormatError if the session has no comparable figure of the metric."""
    values = session.values.get(metric.name, ()) if metric.is_exact else ()
    found = [*values, *(session.medians[name] for name in (metric.name,) if name in session.medians)]
    if found and all(_is_possible(metric, value) for value in found) and bool(values) >= metric.is_exact:
        return
    there = ", ".join(map(str, found)) or "not in it"
    raise FileFormatError(
        f"the baseline of {baseline.case.id} cannot be compared with: {metric.name} is {there}"
        f" in the session {session.id}\n"
        "  restore it from version control, or delete it and save a new one with --dlbench-save"
    )


def _is_possible(metric: Metric, value: float) -> bool:
    """Whether a stored figure can be one of this metric: only those of hooks and programs may be negative."""
    return is_comparable(metric, value) and (value >= 0 or metric.name not in METRICS)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
