"""An A/B of one case: pairs are run until every metric is decided, twice over for what the first pass did not clear."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_dlbench import judging
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import multiple_testing
from pytest_dlbench.judging.accuracy import COUNTED_RUNS, Divergences, compare_times, more_divergences
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import Pair, paired_tolerances, stall
from pytest_dlbench.judging.two_stage import Found, Passes, Terms, narrow, terms_of
from pytest_dlbench.records import CaseOutcome, CaseResult, Pairing, Record, Run, RunOutcome
from pytest_dlbench.reporting import explain
from pytest_dlbench.running.pairs import InvalidError, Pairs, UnfinishedError
from pytest_dlbench.running.plan import Plan, recipe_json
from pytest_dlbench.workflows.benchmark import REPEATS, Session
from pytest_dlbench.workflows.profile import profiled
from pytest_dlbench.workflows.turns import Series


def train(
    session: Session, old: Plan, new: Plan, node: str, tolerance: Mapping[str, float]
) -> tuple[Record, CaseResult]:
    """Run a case on both sides and judge the new one; ``node`` is the test's id, for the command in explain.

    Raises SetAsideError where cases take turns and another one is to go on before this one is decided.
    """
    session.claim(new, node)
    series = session.turns.series(node, lambda: _series(session, old, new, tolerance))
    pairs, terms = series.pairs, series.passes.terms
    with pairs.alone():
        try:
            session.turns.proceed(node, series)
        except UnfinishedError as error:
            record = _record(session, new, pairs.runs["new"] or [error.run])
            told = _divergences(pairs) if error.run.outcome is RunOutcome.DIVERGED else ""
            result = _unfinished(record, error.run, old, new, told)
        except InvalidError as error:
            record = _record(session, new, [*pairs.runs["new"], error.pair["new"]])
            result = _invalid(record, list(error.pair.values()))
        else:
            found = series.passes.found()
            record = _record(session, new, pairs.runs["new"])
            pairing = _pairing(old, found, pairs, terms)
            again = shlex.join(["pytest", node, *session.options.again])
            beside = _told_beside(found, pairs.runs, has_time=session.has_time)
            message = explain.paired(pairing, found.verdicts, beside, pairs.runs, again, metrics=terms.metrics)
            result = _judged(record, pairing, found, pairs.runs, message)
            warned = (*result.warnings, *explain.narrow(narrow(terms), f"{terms.max_pairs} pairs", terms.metrics))
            result = replace(result, warnings=warned)
    if session.options.profile and result.outcome is CaseOutcome.REGRESSED and new.purpose == "training":
        result = profiled(session, old, new, result)
    session.conclude(record, result)
    return record, result


def _series(session: Session, old: Plan, new: Plan, tolerance: Mapping[str, float]) -> Series:
    """A case before its first pair; raises OptionError for a tolerance that pairs cannot tell from no change."""
    metrics = session.settings.metrics
    asked = of_purpose(tolerance, new.purpose, metrics)
    calibrated = session.calibrated(old, new)
    terms = terms_of(paired_tolerances(asked), session.options.max_runs, session.reference(old), metrics, calibrated)
    # What nobody asked for is told, and is judged as well as that goes; so is everything in the shadow.
    typed = {} if session.options.shadow else judging.asked_for(asked, metrics)
    if refused := {name: least for name, least in narrow(terms).items() if name in typed}:
        tellers = f"{terms.max_pairs} pairs"
        raise OptionError(explain.too_narrow(new.case.id, asked, refused, tellers, _seen(terms), metrics=metrics))
    pairs = pairs_of(session, old, new, min(terms.max_pairs, multiple_testing.SCREENING_PAIRS))
    return Series(pairs=pairs, passes=Passes(terms=terms, next_level=session.level))


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


def _seen(terms: Terms) -> str:
    """What it rests on that they cannot."""
    if terms.reference_runs:
        return f"as two of {terms.reference_runs} runs in a row differ here"
    return "as runs differed in dlbench calibrate" if terms.calibrated else "on any machine"


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
    return "\n" + explain.divergences(old, new, chance, ("the old side", "the new one"))


def _unfinished(record: Record, run: Run, old: Plan, new: Plan, told: str) -> CaseResult:
    outcome = judging.of_runs([run])
    assert outcome is not None
    side = "old" if run.case == old.case.id else "new"
    framework = (old if side == "old" else new).framework.name
    message = f"the {side} side, {framework}, could not be run to its end:\n{explain.unfinished(run)}{told}"
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
        message=explain.invalid(runs, REPEATS),
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


def _told_beside(found: Found, runs: Mapping[str, Sequence[Run]], *, has_time: bool = True) -> list[str]:
    """What is told and not judged: a stall, when either side reached the accuracy that it was to reach, and the end."""
    old, new = ([time for run in runs[side] if (time := judging.time_to_accuracy(run))] for side in ("old", "new"))
    times = explain.times_to_accuracy(compare_times(old, new), old, new) if min(len(old), len(new)) >= 2 else ""
    is_cut_short = not has_time and any(not decision.is_final for decision in found.decisions.values())
    spent = "no time was left for more pairs: --dlbench-budget is spent" if is_cut_short else ""
    return [line for line in (stall(found.decisions), times, spent) if line]


def _judged(
    record: Record, pairing: Pairing, found: Found, runs: Mapping[str, Sequence[Run]], message: str
) -> CaseResult:
    return CaseResult(
        case=record.case,
        outcome=judging.of_verdicts(found.verdicts),
        message=message,
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        verdicts=found.verdicts,
        warnings=(*judging.disturbances([*runs["old"], *runs["new"]]), *judging.censored(runs["new"])),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
        pairing=pairing,
    )
