"""Compares a session with a baseline of any machine: accuracy, first losses and numbers of parameters.

Two machines round differently, and train from equal seeds on nearly the same path: their runs are pairs. Another
version of a framework may draw other random numbers, and then they are not. The first losses show which it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log, sqrt
from statistics import fmean

import numpy as np

from pytest_dlbench.judging import accuracy
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.intervals import Interval, of_mean, unpaired
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics, read_all
from pytest_dlbench.judging.scales import badness, limit, shown
from pytest_dlbench.judging.stored_baseline import by_seed, judged_sessions
from pytest_dlbench.judging.verdicts import measured, of_runs
from pytest_dlbench.records import PORTABLE, Baseline, BaselineSession, Record, Run, Verdict, VerdictOutcome

# Whether runs of equal seeds took the same path.
WITNESS = "first_loss"
OF_THE_MACHINE = ("kernel",)

BySeed = Mapping[int, Sequence[float]]
Sessions = Sequence[BaselineSession]


def anywhere(record: Record) -> Record:
    """The record as a portable baseline knows it: of no machine class."""
    return replace(record, context=replace(record.context, machine=PORTABLE))


def kept(session: BaselineSession, metrics: Metrics) -> BaselineSession:
    """The session with those of its figures that do not depend on the machine."""
    names = {name for name, metric in metrics.items() if metric.is_portable}
    return replace(
        session,
        versions=versions(session.versions),
        medians={name: value for name, value in session.medians.items() if name in names},
        values={name: values for name, values in session.values.items() if name in names},
    )


def versions(known: Mapping[str, str]) -> Mapping[str, str]:
    """The versions without those of the machine."""
    return {name: version for name, version in known.items() if name not in OF_THE_MACHINE}


def compare(
    baseline: Baseline, runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics
) -> tuple[Verdict, ...]:
    """A verdict for each portable metric that both have and that is judged.

    Raises FileFormatError for a baseline whose figures cannot be compared with.
    """
    figures = read_all(runs)
    known = baseline.sessions if baseline.has_checksum else baseline.sessions[-1:]
    both = figures.keys() & {name for session in known for name in session.values}
    judged = [metric for name, metric in metrics.items() if name in both and metric.is_portable]
    new = {metric.name: measured(runs, metric, figures) for metric in judged}
    old = {metric.name: judged_sessions(baseline, metric) for metric in judged}
    alike = [metric for metric in judged if metric.deviation is not None]
    found = [_alike(metric, old[metric.name], new[metric.name]) for metric in alike]
    same_path = [one for metric in alike if metric.name == WITNESS for one in _near(metric, old[WITNESS], new[WITNESS])]
    # The spread of so few runs is not known.
    others = [one for one in judged if one not in alike and one.name in tolerances and len(runs) >= FEWEST_RUNS]
    for one in others:
        sides = old[one.name], new[one.name]
        found.append(_not_worse(one, *sides, tolerances[one.name], same_path))
    return tuple(found)


def _near(metric: Metric, old: Sessions, new: Mapping[int, float]) -> Sessions:
    """The sessions that have what the runs have, in all of the seeds that both have.

    Each is compared by itself: another version's sessions take another path, and the mean of two paths is none.
    """
    largest = log(1 + (metric.deviation or 0.0))
    pairs = [(session, _pairs(metric, by_seed(metric, [session]), new)) for session in old]
    return [session for session, found in pairs if found and max(map(abs, found)) <= largest]


def _not_worse(
    metric: Metric,
    old: Sessions,
    new: Mapping[int, float],
    tolerance: float,
    same_path: Sessions,
) -> Verdict:
    """Whether the runs are not worse: as pairs with equal seeds of sessions on their path, otherwise all with all."""
    paired = by_seed(metric, [session for session in old if session in same_path])
    pairs = _pairs(metric, paired, new)
    if len(pairs) < FEWEST_RUNS:
        return of_runs(metric, by_seed(metric, old), new, tolerance)
    lost = of_mean(np.array(pairs), run_sd=sqrt(2) * metric.run_sd, is_robust=False, alpha=accuracy.ALPHA)
    outcome = accuracy.non_inferiority(lost, limit(metric, tolerance))
    return _verdict(metric, outcome, lost, _common(paired, new), tolerance)


def _pairs(metric: Metric, old: BySeed, new: Mapping[int, float]) -> list[float]:
    """How much worse each run is than those of the same seed."""
    return [
        badness(metric, value) - fmean(badness(metric, one) for one in old[seed])
        for seed, value in new.items()
        if seed in old
    ]


def _alike(metric: Metric, old: Sessions, new: Mapping[int, float]) -> Verdict:
    """Whether both sides have the same; any change is for the worse."""
    if metric.deviation:
        return _reproduced(metric, metric.deviation, old, new)
    return _equal(metric, by_seed(metric, old), new)


def _equal(metric: Metric, old: BySeed, new: Mapping[int, float]) -> Verdict:
    """Whether every run has the number that every stored run has."""
    before, after = [value for values in old.values() for value in values], list(new.values())
    changes = [badness(metric, now) - badness(metric, then) for now in after for then in before]
    outcome = VerdictOutcome.REGRESSED if any(changes) else VerdictOutcome.EQUIVALENT
    return _verdict(metric, outcome, _range(changes), (before, after), 0.0)


def _reproduced(metric: Metric, deviation: float, old: Sessions, new: Mapping[int, float]) -> Verdict:
    """Whether runs have what those of equal seeds had; on another path, whether they differ more than seeds do."""
    if near := _near(metric, old, new):
        same = by_seed(metric, near)
        return _verdict(
            metric, VerdictOutcome.EQUIVALENT, _range(_pairs(metric, same, new)), _common(same, new), deviation
        )
    largest, every = log(1 + deviation), by_seed(metric, old)
    found = _of_means(metric, every, new)
    is_other = found.lower > largest or found.upper < -largest
    outcome = VerdictOutcome.REGRESSED if is_other else VerdictOutcome.INCONCLUSIVE
    sides = [fmean(values) for values in every.values()], list(new.values())
    return _verdict(metric, outcome, found, sides, deviation)


def _common(old: BySeed, new: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """The values of the seeds that both have."""
    seeds = [seed for seed in new if seed in old]
    return [fmean(old[seed]) for seed in seeds], [new[seed] for seed in seeds]


def _range(changes: Sequence[float]) -> Interval:
    return Interval(estimate=fmean(changes), lower=min(changes), upper=max(changes))


def _of_means(metric: Metric, old: BySeed, new: Mapping[int, float]) -> Interval:
    before = np.array([fmean(badness(metric, value) for value in values) for values in old.values()])
    after = np.array([badness(metric, value) for value in new.values()])
    return unpaired(before, after, run_sd=metric.run_sd, session_sd=0.0, is_robust=False, alpha=accuracy.ALPHA)


def _verdict(
    metric: Metric,
    outcome: VerdictOutcome,
    found: Interval,
    sides: tuple[Sequence[float], Sequence[float]],
    tolerance: float,
) -> Verdict:
    change, lower, upper = shown(metric, found.estimate, found.lower, found.upper)
    old, new = map(fmean, sides)
    return Verdict(
        metric=metric.name,
        outcome=outcome,
        old=old,
        new=new,
        change=change,
        lower=lower,
        upper=upper,
        tolerance=tolerance,
    )
