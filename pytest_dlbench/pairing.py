"""An A/B of one case: pairs are run until every metric is decided, twice over for what the first pass did not clear."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_dlbench import judging
from pytest_dlbench.judging import many
from pytest_dlbench.judging.many import CaseMetric, Standing
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import (
    Pair,
    decide_all,
    paired_tolerances,
    reference_spread,
    rules,
    stall,
    verdict,
    wants_more,
)
from pytest_dlbench.judging.sequential import Decision, Rule
from pytest_dlbench.records import CaseOutcome, CaseResult, Pairing, Record, Run, Verdict
from pytest_dlbench.reporting import messages
from pytest_dlbench.running.pairs import InvalidError, Pairs, UnfinishedError
from pytest_dlbench.running.training import Plan, recipe_json
from pytest_dlbench.session import REPEATS, Session

NextPair = Callable[[], Pair]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is judged and how surely: tolerances by metric, pairs a pass, and the level of a confirmation."""

    tolerances: Mapping[str, float]
    max_pairs: int
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pairs of both passes, and what is reported of each metric, with the pairs that it rests on."""

    screened: Sequence[Pair]
    confirmed: Sequence[Pair]
    decisions: Mapping[str, Decision]
    verdicts: tuple[Verdict, ...]


def train(session: Session, old: Plan, new: Plan, node: str) -> tuple[Record, CaseResult]:
    """Run a case on both sides and judge the new one; ``node`` is the test's id, for the command in messages."""
    session.claim(new, node)
    terms = terms_of(session, new)
    pairs = pairs_of(session, old, new, min(terms.max_pairs, many.SCREENING_PAIRS))
    with pairs.alone():
        try:
            found = judge(lambda: next_of(pairs), terms, lambda: session.has_time)
        except UnfinishedError as error:
            record = _record(session, new, pairs.runs["new"] or [error.run])
            result = _unfinished(record, error.run, old, new)
        except InvalidError as error:
            record = _record(session, new, [*pairs.runs["new"], error.pair["new"]])
            result = _invalid(record, list(error.pair.values()))
        else:
            record = _record(session, new, pairs.runs["new"])
            pairing = _pairing(old, found, pairs, terms)
            again = shlex.join(["pytest", node, *session.options.again])
            result = _judged(record, pairing, found, pairs.runs, again)
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


def terms_of(session: Session, plan: Plan) -> Terms:
    """The session's budget of false alarms, in equal shares for every metric of every case that was collected.

    A test has to end before it is known how many others will have to be confirmed: all of them is the safe number.
    """
    options = session.options
    tolerances = paired_tolerances(of_purpose(options.tolerance, plan.purpose))
    alpha = options.false_alarms / (max(1, session.cases) * len(tolerances))
    return Terms(tolerances=tolerances, max_pairs=options.max_runs, alpha=alpha)


def judge(next_pair: NextPair, terms: Terms, has_time: Callable[[], bool]) -> Found:
    """Screen all metrics, then confirm on fresh pairs those that may have regressed."""
    full = rules(terms.tolerances, alpha=terms.alpha, max_pairs=terms.max_pairs)
    screened, first = until_decided(next_pair, {name: many.screening(rule) for name, rule in full.items()}, has_time)
    again = {key.metric: many.confirming(full[key.metric], 1, terms.alpha) for key in many.candidates(first)}
    confirmed, second = until_decided(next_pair, again, has_time) if again and has_time() else ([], {})
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
    return Found(screened=screened, confirmed=confirmed, decisions=decisions, verdicts=verdicts)


def until_decided(
    next_pair: NextPair, wanted: Mapping[str, Rule], has_time: Callable[[], bool]
) -> tuple[list[Pair], dict[CaseMetric, Standing]]:
    """Pairs, until each metric is decided by its rule or there is no time left."""
    spreads = {name: reference_spread(judging.METRICS[name]) for name in wanted}
    pairs = [next_pair()]
    while wants_more(decisions := decide_all(pairs, wanted, spreads)) and has_time():
        pairs.append(next_pair())
    standings = {name: Standing(rule=wanted[name], decision=decision) for name, decision in decisions.items()}
    # A case has its share of the session's budget: no other one is looked at.
    return pairs, {CaseMetric(case="", metric=name): standing for name, standing in standings.items()}


def _record(session: Session, plan: Plan, runs: Sequence[Run]) -> Record:
    return Record(
        case=plan.case,
        context=session.settings.context(plan),
        recipe=recipe_json(plan.recipe),
        runs=tuple(runs),
        certificate=session.certificate_of(plan, runs[0]),
    )


def _unfinished(record: Record, run: Run, old: Plan, new: Plan) -> CaseResult:
    outcome = judging.of_runs([run])
    assert outcome is not None
    side = "old" if run.case == old.case.id else "new"
    framework = (old if side == "old" else new).framework.name
    message = f"the {side} side, {framework}, could not be run to its end:\n{messages.unfinished(run)}"
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
        alpha=terms.alpha,
        new_first=tuple(pairs.new_first),
        reasons={name: decision.reason.value for name, decision in found.decisions.items()},
    )


def _judged(
    record: Record, pairing: Pairing, found: Found, runs: Mapping[str, Sequence[Run]], again: str
) -> CaseResult:
    return CaseResult(
        case=record.case,
        outcome=judging.of_verdicts(found.verdicts),
        message=messages.paired(pairing, found.verdicts, stall(found.decisions), runs, again),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        verdicts=found.verdicts,
        warnings=(*judging.disturbances([*runs["old"], *runs["new"]]), *judging.censored(runs["new"])),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
        pairing=pairing,
    )
