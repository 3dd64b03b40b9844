"""Verdicts on claims as text, Markdown and JSON, and what decides each claim in a sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import singledispatch
from math import isfinite
from typing import Any

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.claim_cases import Named
from pytest_dlbench.judging.claim_rules import Alike, Effect, Order, Reaches, Rule, Scope, Steeper
from pytest_dlbench.judging.claims import FEWEST_STEPS, Comparison, Decision, Obstacle
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.records.outcomes import ClaimOutcome
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.published.evidence import AXES, sentence
from pytest_dlbench.reporting.published.register import Claim, Verdict, by_outcome

WORDS: Mapping[ClaimOutcome, str] = {
    ClaimOutcome.HOLDS: "holds",
    ClaimOutcome.DOES_NOT_HOLD: "does not hold",
    ClaimOutcome.UNDECIDED: "cannot be decided",
}
WORDS_OF_SEVERAL = {
    ClaimOutcome.HOLDS: "hold",
    ClaimOutcome.DOES_NOT_HOLD: "do not hold",
    ClaimOutcome.UNDECIDED: "cannot be decided",
}
WHY: Mapping[Obstacle, str] = {
    Obstacle.NO_EQUIVALENT: "a framework that it needs has no equivalent that is still developed or can be built",
    Obstacle.NOT_MEASURED: "no metric measures it",
    Obstacle.NO_GPU: "it is about GPUs, and no record of its networks is from one",
    Obstacle.NOT_RUN: "the records lack some of the cases that it needs",
    Obstacle.OTHER_DATA: "it is about the accuracy on another data set than those of the records",
    Obstacle.CUT_SHORT: "the trainings ended before the recipe did (--dlbench-scale full trains all of it)",
    Obstacle.TOO_FEW_RUNS: f"no case has {FEWEST_RUNS} valid runs with the figure",
    Obstacle.TOO_FEW_STEPS: f"the runs have fewer than {FEWEST_STEPS} timed steps",
    Obstacle.NOTHING_TO_COMPARE: "no session has two cases that differ in nothing but what is compared",
    Obstacle.TOO_SHORT: "the runs are too short to resolve it: the kernel counts in ticks of 10 ms",
    Obstacle.TOO_WIDE: "the runs differ too much: an interval contains the limit",
}
DEVICES = {"cpu": "processors", "gpu": "GPUs"}
# More pieces of evidence are in --json.
MOST_EVIDENCE = 4


def lines(found: Sequence[Verdict]) -> list[str]:
    """A paragraph per claim, then how many there are of each verdict."""
    shown: list[str] = []
    for one in found:
        claim = one.claim
        shown += [f"{claim.id}: {WORDS[one.decision.outcome]}", f"  {claim.says} ({claim.source}, {claim.table})"]
        shown += [f"  {line}" for line in _because(one.decision)]
        shown += [f"  flaw: {flaw}" for flaw in claim.flaws]
        shown.append("")
    return [*shown, summary(found)]


def markdown(found: Sequence[Verdict]) -> list[str]:
    """A table per study."""
    shown = [summary(found), ""]
    for source in dict.fromkeys(one.claim.source for one in found):
        rows = [one for one in found if one.claim.source == source]
        shown += [f"**{source}**", "", "| claim | where | verdict | evidence | flaws of the source |", f"|{'---|' * 5}"]
        shown += [_row(cells(one)) for one in rows]
        shown.append("")
    return shown


def reference(claims: Iterable[Claim]) -> Iterator[str]:
    """The register without verdicts, for the documentation."""
    claims = tuple(claims)
    for source in dict.fromkeys(claim.source for claim in claims):
        yield from (
            "",
            f"## {source}",
            "",
            "| claim | where | what decides it | flaws of the source |",
            f"|{'---|' * 4}",
        )
        for claim in claims:
            if claim.source == source:
                decided = "; and ".join(map(decided_by, claim.rules))
                yield _row((f"{claim.says} ({claim.id})", claim.table, decided, "; ".join(claim.flaws) or "–"))


def as_json(one: Verdict) -> dict[str, Any]:
    """One document of dictionaries, lists, numbers and texts; unbounded intervals and ranges end in null."""
    claim, decision = one.claim, one.decision
    return {
        "id": claim.id,
        "source": claim.source,
        "table": claim.table,
        "says": claim.says,
        "decided_by": [decided_by(rule) for rule in claim.rules],
        "flaws": list(claim.flaws),
        "verdict": decision.outcome.value,
        "obstacle": decision.obstacle and decision.obstacle.value,
        "missing": list(decision.missing),
        "evidence": [_evidence_in_json(comparison) for comparison in decision.comparisons],
    }


def summary(found: Sequence[Verdict]) -> str:
    """How many claims have each verdict."""
    counts = ((outcome, by_outcome(found).get(outcome.value, 0)) for outcome in WORDS)
    parts = (f"{count} {(WORDS if count == 1 else WORDS_OF_SEVERAL)[outcome]}" for outcome, count in counts)
    return f"of {len(found)} claims: {', '.join(parts)}"


@singledispatch
def decided_by(rule: Rule) -> str:
    """What decides a rule, as a phrase."""
    raise TypeError(rule)


@decided_by.register
def _(rule: Order) -> str:
    size = f" by {_amount(rule, rule.at_least)}" if rule.at_least is not None else ""
    return f"{_of(rule.scope)} is better in {rule.first.published} than in {_listed(rule.others)}{size}"


@decided_by.register
def _(rule: Alike) -> str:
    return f"{_of(rule.scope)} differs by less than {_share(rule, rule.within)} between {_listed(rule.frameworks)}"


@decided_by.register
def _(rule: Effect) -> str:
    who = _listed(rule.frameworks) if rule.frameworks else "every framework"
    limits = " from {:g} to {:g}".format(*rule.between) if rule.between else ""
    with_what = "on GPUs than on processors" if rule.axis == "device" else f"with a larger {AXES[rule.axis]}{limits}"
    if rule.direction == "same":
        change = f"changes by less than {_share(rule, rule.amount)}"
    elif rule.amount == (0 if _is_in_points(rule) else 1):
        change = f"is {rule.direction}"
    elif _is_in_points(rule) or rule.amount > 1:
        change = f"is {rule.direction} by {_amount(rule, rule.amount)}"
    else:
        change = f"stays above {rule.amount:g} times what it was"
    return f"{_of(rule.scope)} {change} {with_what} in {who}"


def _is_in_points(rule: Rule) -> bool:
    metric = METRICS.get(rule.scope.metric)
    return metric is not None and metric.kind == "points"


def _amount(rule: Rule, amount: float) -> str:
    return f"{amount:g} points or more" if _is_in_points(rule) else f"a factor of {amount:g} or more"


def _share(rule: Rule, share: float) -> str:
    return f"{share:g} points" if _is_in_points(rule) else f"{100 * share:g} %"


@decided_by.register
def _(rule: Steeper) -> str:
    what = f"what a larger {AXES[rule.axis]} does to {_of(rule.scope)}"
    return f"{what} is of more use to {rule.first.published} than to {_listed(rule.others)}"


@decided_by.register
def _(rule: Reaches) -> str:
    limits = [f"above {rule.lower:g} %"] if isfinite(rule.lower) else []
    limits += [f"below {rule.upper:g} %"] if isfinite(rule.upper) else []
    return f"{_of(rule.scope)} is {' and '.join(limits)} in {_listed(rule.frameworks)}"


def _of(scope: Scope) -> str:
    metric = METRICS.get(scope.metric)
    device = f" on {' or '.join(DEVICES[device] for device in scope.devices)}" if len(scope.devices) == 1 else ""
    data = f" with {', '.join(scope.datasets)}" if scope.datasets else ""
    heading = metric.heading if metric else scope.metric.replace("_", " ")
    return f"{heading} of {', '.join(scope.models)}{data}{device}{_threads(scope)}"


def _threads(scope: Scope) -> str:
    low, high = scope.threads
    if low == high:
        return f" with {low:g} thread{'s' * (low != 1)}"
    return f" with {low:g} to {high:g} threads" if isfinite(high) else ""


def _listed(named: Sequence[Named]) -> str:
    lacking = [name.published for name in named if not name.ours]
    known = ", ".join(name.published for name in named if name.ours)
    without = f"{', '.join(lacking)} (no equivalent)" if lacking else ""
    return ", ".join(part for part in (known, without) if part)


def _because(decision: Decision) -> Iterator[str]:
    if decision.obstacle:
        yield f"because {WHY[decision.obstacle]}"
    if decision.missing:
        yield f"missing: {', '.join(decision.missing)}"
    yield from _evidence(decision)


def _evidence(decision: Decision) -> Iterator[str]:
    """The comparisons that decided it first, those that pairs settled last."""
    ordered = sorted(decision.comparisons, key=lambda one: (one.is_settled, one.outcome is not decision.outcome))
    yield from map(sentence, ordered[:MOST_EVIDENCE])
    if len(ordered) > MOST_EVIDENCE:
        yield f"and {len(ordered) - MOST_EVIDENCE} more comparisons (--json)"


def cells(one: Verdict) -> tuple[str, str, str, str, str]:
    """A claim, where it is made, its verdict, the evidence, and the flaws of its source."""
    decision = one.decision
    why = f", because {WHY[decision.obstacle]}" if decision.obstacle else ""
    evidence = "; ".join(_evidence(decision)) or "–"
    verdict = f"{WORDS[decision.outcome]}{why}"
    return (one.claim.says, one.claim.table, verdict, evidence, "; ".join(one.claim.flaws) or "–")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(foreign.markdown, cells))} |"


def _evidence_in_json(one: Comparison) -> dict[str, Any]:
    return {
        "subject": one.subject,
        "reference": one.reference,
        "metric": one.metric,
        "pairs": one.pairs,
        "estimate": _finite(one.interval.estimate),
        "interval": [_finite(one.interval.lower), _finite(one.interval.upper)],
        "corrected": [_finite(one.corrected.lower), _finite(one.corrected.upper)],
        "within": [_finite(one.within.lower), _finite(one.within.upper)],
        "says": one.outcome.value,
        "settled_by_pairs": one.is_settled,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
