"""An A/B of one case: pairs are run until every metric is decided, twice over for what the first pass did not clear."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_dlbench import judging
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import Metric, many
from pytest_dlbench.judging.accuracies import Divergences, compare_times, more_divergences
from pytest_dlbench.judging.detectable import too_narrow
from pytest_dlbench.judging.many import CaseMetric, Standing
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import (
    Pair,
    decide_all,
    is_told,
    paired_tolerances,
    reference_spread,
    rules,
    stall,
    verdict,
    wants_more,
)
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.judging.sequential import Decision, Rule
from pytest_dlbench.profiling import profiled
from pytest_dlbench.records import CaseOutcome, CaseResult, Pairing, Record, Run, RunOutcome, Verdict
from pytest_dlbench.reporting import messages
from pytest_dlbench.running.pairs import InvalidError, Pairs, UnfinishedError
from pytest_dlbench.running.plan import Plan, recipe_json
from pytest_dlbench.session import REPEATS, Session

# Of each side: so many tell five diverging runs from none, and three with a chance of 3 %.
COUNTED_RUNS = 5
NextPair = Callable[[], Pair]
NextLevel = Callable[[], float | None]
"""The level of a session's next confirmation, None where its budget of false alarms is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is judged, and by how many pairs a pass at most: tolerances and reference spreads by metric.

    The spreads are of ``reference_runs`` in a row; with none of them they are assumed.
    """

    tolerances: Mapping[str, float]
    max_pairs: int
    spreads: Mapping[str, float]
    reference_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pairs of both passes, and what is reported of each metric, with the pairs that it rests on.

    ``alpha`` is what the second pass may err with, in all.
    """

    screened: Sequence[Pair]
    confirmed: Sequence[Pair]
    decisions: Mapping[str, Decision]
    verdicts: tuple[Verdict, ...]
    alpha: float


def train(
    session: Session, old: Plan, new: Plan, node: str, tolerance: Mapping[str, float]
) -> tuple[Record, CaseResult]:
    """Run a case on both sides and judge the new one; ``node`` is the test's id, for the command in messages."""
    session.claim(new, node)
    asked = of_purpose(tolerance, new.purpose)
    terms = terms_of(paired_tolerances(asked), session.options.max_runs, session.reference(old))
    unheard = narrow(terms)
    # What nobody asked for is told, and is judged as well as that goes.
    if refused := {name: least for name, least in unheard.items() if name in asked and _is_asked_for(name, asked)}:
        raise OptionError(messages.too_narrow(new.case.id, asked, refused, terms.max_pairs, terms.reference_runs))
    pairs = pairs_of(session, old, new, min(terms.max_pairs, many.SCREENING_PAIRS))
    with pairs.alone():
        try:
            found = judge(lambda: next_of(pairs), terms, lambda: session.has_time, session.level)
        except UnfinishedError as error:
            record = _record(session, new, pairs.runs["new"] or [error.run])
            told = _divergences(pairs) if error.run.outcome is RunOutcome.DIVERGED else ""
            result = _unfinished(record, error.run, old, new, told)
        except InvalidError as error:
            record = _record(session, new, [*pairs.runs["new"], error.pair["new"]])
            result = _invalid(record, list(error.pair.values()))
        else:
            record = _record(session, new, pairs.runs["new"])
            pairing = _pairing(old, found, pairs, terms)
            again = shlex.join(["pytest", node, *session.options.again])
            result = _judged(record, pairing, found, pairs.runs, again)
            warned = (*result.warnings, *messages.narrow(unheard, terms.max_pairs))
            result = replace(result, warnings=warned)
    if session.options.profile and result.outcome is CaseOutcome.REGRESSED and new.purpose == "training":
        result = profiled(session, old, new, result)
    session.conclude(record, result)
    return record, result


def pairs_of(session: Session, old: Plan, new: Plan, limit: int) -> Pairs:
    """Pairs of two sides, each run watched, examined and in the journal; ``limit`` is told as their number."""
    return Pairs(
        old=session.watched(old),
        new=session.watched(new),
        keep=session.keep,
        progress=session.progress,
        limit=limit,
        examine=session.examiner.examine,
        repeats=session.repeats,
        keeps_invalid=session.keeps_invalid,
    )


def next_of(pairs: Pairs) -> Pair:
    """One more pair; raises UnfinishedError and InvalidError."""
    old, new = pairs.next()
    return Pair(old=old, new=new)


def terms_of(tolerances: Mapping[str, float], max_pairs: int, reference: Sequence[Run]) -> Terms:
    """The terms, with spreads measured in the reference where it has so many runs of a metric as that takes."""
    spreads = {name: reference_spread(metric, metric.told(reference)) for name, metric in _metrics(tolerances).items()}
    return Terms(tolerances=tolerances, max_pairs=max_pairs, spreads=spreads, reference_runs=len(reference))


def narrow(terms: Terms) -> dict[str, float]:
    """The least tolerance that the pairs can tell from no change, of each metric whose own is below it.

    What is only assumed of this machine makes none too narrow: then the least spread counts that is ever believed.
    """
    least = {name: smallest_spread(metric) for name, metric in _metrics(terms.tolerances).items()}
    spreads = terms.spreads if terms.reference_runs else least
    return too_narrow(terms.tolerances, spreads, terms.max_pairs)


def _is_asked_for(name: str, tolerances: Mapping[str, float]) -> bool:
    return tolerances[name] != judging.METRICS[name].tolerance


def _metrics(names: Iterable[str]) -> Mapping[str, Metric]:
    return {name: judging.METRICS[name] for name in names}


def judge(next_pair: NextPair, terms: Terms, has_time: Callable[[], bool], next_level: NextLevel) -> Found:
    """Screen all metrics, then confirm on fresh pairs those that may have regressed."""
    begun = next_pair()
    full = rules(_told(terms.tolerances, begun), max_pairs=terms.max_pairs)
    screening = {name: many.screening(rule) for name, rule in full.items()}
    screened, first = until_decided(next_pair, screening, has_time, spreads=terms.spreads, begun=[begun])
    again = _confirming(many.candidates(first), full, next_level) if has_time() else {}
    confirmed, second = until_decided(next_pair, again, has_time, spreads=terms.spreads) if again else ([], {})
    standings = many.settled(first, second)
    decisions = {key.metric: standing.decision for key, standing in standings.items()}
    verdicts = tuple(
        verdict(
            judging.METRICS[key.metric],
            confirmed if key in second else screened,
            standing.decision,
            terms.tolerances[key.metric],
        )
        for key, standing in standings.items()
    )
    alpha = sum(rule.alpha for rule in again.values())
    return Found(screened=screened, confirmed=confirmed, decisions=decisions, verdicts=verdicts, alpha=alpha)


def _told(tolerances: Mapping[str, float], pair: Pair) -> Mapping[str, float]:
    """Those of metrics that such runs have: images have no perplexity, and a short run tells no leak."""
    found = {name: amount for name, amount in tolerances.items() if is_told(judging.METRICS[name], pair)}
    # With nothing to judge there would be nothing to fail.
    return found or tolerances


def _confirming(
    candidates: Sequence[CaseMetric], full: Mapping[str, Rule], next_level: NextLevel
) -> Mapping[str, Rule]:
    """The rules of the second pass: each candidate's level is its own, for others may come with later tests."""
    levels = {key.metric: next_level() for key in candidates}
    return {name: many.confirming(full[name], 1, level) for name, level in levels.items() if level is not None}


def until_decided(
    next_pair: NextPair,
    wanted: Mapping[str, Rule],
    has_time: Callable[[], bool],
    *,
    spreads: Mapping[str, float] | None = None,
    begun: Sequence[Pair] = (),
) -> tuple[list[Pair], dict[CaseMetric, Standing]]:
    """Pairs, until each metric is decided by its rule or no time is left; ``spreads`` are assumed without them."""
    spreads = spreads or {name: reference_spread(judging.METRICS[name]) for name in wanted}
    pairs, most = [*begun] or [next_pair()], max(rule.max_pairs for rule in wanted.values())
    while wants_more(decisions := decide_all(pairs, wanted, spreads)) and len(pairs) < most and has_time():
        pairs.append(next_pair())
    standings = {name: Standing(rule=wanted[name], decision=decision) for name, decision in decisions.items()}
    # A case is settled before the next one begins: no other one is looked at.
    return pairs, {CaseMetric(case="", metric=name): standing for name, standing in standings.items()}


def _record(session: Session, plan: Plan, runs: Sequence[Run]) -> Record:
    return Record(
        case=plan.case,
        context=session.settings.context(plan),
        recipe=recipe_json(plan.recipe),
        runs=tuple(runs),
        certificate=session.certificate_of(plan, runs[0]),
    )


def _divergences(pairs: Pairs) -> str:
    """How many runs of either side diverge, and how often chance alone would have it so."""
    seen = pairs.count(COUNTED_RUNS)
    sides = [[run.outcome is RunOutcome.DIVERGED for run in seen[name]] for name in ("old", "new")]
    old, new = (Divergences(runs=len(side), diverged=sum(side)) for side in sides)
    chance = more_divergences(old, new) if old.runs and new.runs else 1.0
    return "\n" + messages.divergences(old, new, chance)


def _unfinished(record: Record, run: Run, old: Plan, new: Plan, told: str) -> CaseResult:
    outcome = judging.of_runs([run])
    assert outcome is not None
    side = "old" if run.case == old.case.id else "new"
    framework = (old if side == "old" else new).framework.name
    message = f"the {side} side, {framework}, could not be run to its end:\n{messages.unfinished(run)}{told}"
    return CaseResult(
        case=record.case,
        outcome=outcome,
        message=message,
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
    )


def _invalid(record: Record, runs: Sequence[Run]) -> CaseResult:
    return CaseResult(
        case=record.case,
        outcome=CaseOutcome.INVALID,
        message=messages.invalid(runs, REPEATS),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
    )


def _pairing(old: Plan, found: Found, pairs: Pairs, terms: Terms) -> Pairing:
    return Pairing(
        old=old.case,
        screened=len(found.screened),
        confirmed=len(found.confirmed),
        alpha=found.alpha,
        new_first=tuple(pairs.new_first),
        reasons={name: decision.reason.value for name, decision in found.decisions.items()},
        spreads={name: terms.spreads[name] for name in found.decisions},
        reference_runs=terms.reference_runs,
    )


def _told_beside(found: Found, runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """What is told and not judged: a stall, and when either side reached the accuracy that it was to reach."""
    old, new = ([time for run in runs[side] if (time := judging.time_to_accuracy(run))] for side in ("old", "new"))
    times = messages.times_to_accuracy(compare_times(old, new), old, new) if min(len(old), len(new)) >= 2 else ""
    return [line for line in (stall(found.decisions), times) if line]


def _judged(
    record: Record, pairing: Pairing, found: Found, runs: Mapping[str, Sequence[Run]], again: str
) -> CaseResult:
    return CaseResult(
        case=record.case,
        outcome=judging.of_verdicts(found.verdicts),
        message=messages.paired(pairing, found.verdicts, _told_beside(found, runs), runs, again),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        verdicts=found.verdicts,
        warnings=(*judging.disturbances([*runs["old"], *runs["new"]]), *judging.censored(runs["new"])),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
        pairing=pairing,
    )
