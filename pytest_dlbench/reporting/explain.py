"""Why a case has its outcome, and what to do about it: reasons as paragraphs, and as the text that a test fails with.

The terminal and JUnit show the text; GitHub's summary and the page put the paragraphs into their own markup.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from math import expm1

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import METRICS, Metrics, stored
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LAST_LOOK
from pytest_dlbench.judging.comparable import KNOWN_SESSIONS
from pytest_dlbench.judging.pairs import ALTERNATING_SPREAD
from pytest_dlbench.judging.sanity import too_good
from pytest_dlbench.judging.sequential import Reason
from pytest_dlbench.records import (
    Case,
    CaseOutcome,
    CaseResult,
    OperatorTime,
    Pairing,
    Record,
    Revision,
    Run,
    RunOutcome,
    Verdict,
    VerdictOutcome,
)
from pytest_dlbench.records import reasons as of
from pytest_dlbench.reporting import cautions, commands, figures, foreign, problems
from pytest_dlbench.storing.files import ONLY_WRITING
from pytest_dlbench.storing.recorded import Recorded

REMEDY = (
    "five or more sessions in the baseline (--dlbench-save) show how much sessions vary, --dlbench-runs N averages out"
    " the variation of runs; --dlbench-ab needs no baseline; or widen --dlbench-tolerance"
)
REMEDY_FOR_PAIRS = "--dlbench-max-runs N and a longer --dlbench-budget allow more pairs; or widen --dlbench-tolerance"
REMEDY_IF_SESSIONS_VARY = (
    "sessions of this machine vary too much: --dlbench-ab needs no baseline; or widen --dlbench-tolerance"
)
# How to have more pairs: the options, or what else helps those that lacked time or budget to be confirmed.
MORE_OPTIONS = "--dlbench-max-runs, --dlbench-budget"
MORE_PAIRS: Mapping[str, str] = {Reason.UNCONFIRMED: "--dlbench-budget, or this case in a session of its own"}
# What would decide a metric that no further pairs like these would.
REMEDIES: Mapping[str, str] = {
    Reason.FEW_PAIRS: f"; {FIRST_LOOK} would decide it whose runs are long enough to show it (a larger"
    " --dlbench-scale)",
    Reason.NOT_FINITE: "; no number of pairs would decide it: dlbench runs show has the figures of each run",
}
WHY_NOT_SAVED = {
    "failed": "the test failed",
    "skipped": "the test was skipped",
    "interrupted": "the test was interrupted",
    "too_good": f"such a gain becomes a baseline only with --dlbench-allow={CaseOutcome.SUSPECT}",
}
TO_CHECK = (
    "each step does all its work: batch size, precision, number of steps, a loss that falls, parameters that change",
    "steps wait for the device: dlbench runs show has the share of the machine's arithmetic that was used",
    "the other side is sound: the same network and data, on a machine that was not busy",
)
# Why the gate's rule stopped.
STOPPED: Mapping[str, str] = {
    Reason.FEW_PAIRS: "too few pairs",
    Reason.SPREAD: "the pairs differ by more than the reference spread allows",
    Reason.OPEN: "the interval still holds a tolerance",
    Reason.DECIDED: "decided",
    Reason.TOO_VARIABLE: "its own spread is too wide for its default tolerance",
    Reason.EXHAUSTED: "all pairs are used",
    Reason.NOT_FINITE: "a figure is not a finite number",
    Reason.UNCONFIRMED: "found in the screening, and no time or no budget of false alarms was left to confirm it",
    Reason.BUDGET_SPENT: "budget spent",
    Reason.CASE_ENDED: "the case ended with a confirmed regression",
    Reason.AT_ONCE: "decided at once: every pair is beyond the tolerance by more than earlier runs differ",
}
CHANGED = {VerdictOutcome.REGRESSED, VerdictOutcome.SUSPECT, VerdictOutcome.IMPROVED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A sentence, or the heading of a list; with a ``command``, the purpose of that.

    ``quoted`` are lines of another source, such as a traceback, ``log`` those that a worker printed.
    """

    text: str
    command: str = ""
    quoted: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a reason is about: the known metrics and, if the reason refers to verdicts, the case."""

    case: CaseResult | None = None
    metrics: Metrics = field(default_factory=lambda: METRICS)

    @property
    def result(self) -> CaseResult:
        """The case, which must be known."""
        assert self.case is not None
        return self.case


def paragraphs(result: CaseResult, metrics: Metrics = METRICS) -> tuple[Paragraph, ...]:
    """All reasons of a case; files from before reasons were data have a message instead."""
    if not result.reasons:
        return (_quoted(result.message),) if result.message else ()
    subject = Subject(case=result, metrics=metrics)
    return tuple(paragraph for reason in result.reasons for paragraph in _explained(reason, subject))


def message(result: CaseResult, metrics: Metrics = METRICS) -> str:
    """The same as plain text."""
    return _text(paragraphs(result, metrics))


def kinds(result: CaseResult) -> str:
    """The kinds of reasons by their names in JSON: ``saved compared``."""
    return " ".join(str(type(reason).__struct_config__.tag) for reason in result.reasons)


def settled_by(result: CaseResult, metrics: Metrics = METRICS) -> str:
    """The command that would settle a suspicion; empty without one."""
    compared = (reason for reason in result.reasons if isinstance(reason, of.Compared))
    found = (commands.in_pairs(result.case, one.again, one.pairs, metrics) for one in compared if one.pairs)
    return next(found, result.settled_by)


def rendered(result: CaseResult, metrics: Metrics = METRICS) -> CaseResult:
    """The case with its texts alongside the data, for readers that do not render reasons themselves."""
    return replace(
        result,
        message=message(result, metrics),
        settled_by=settled_by(result, metrics),
        warnings=cautions.warnings(result, metrics),
    )


def with_texts(case: Recorded) -> Recorded:
    """A recorded case whose result and runs have their texts alongside the data."""
    return replace(
        case,
        record=_with_messages(case.record),
        result=rendered(case.result, stored([case.record])),
        old=case.old and _with_messages(case.old),
    )


def _with_messages(record: Record) -> Record:
    return replace(record, runs=tuple(map(_with_message, record.runs)))


def _with_message(run: Run) -> Run:
    search = run.search and replace(
        run.search, trials=tuple(replace(trial, message=problems.of_run(trial)) for trial in run.search.trials)
    )
    return replace(run, message=problems.of_run(run), search=search)


def text(reason: of.Reason | of.NotPlanted) -> str:
    """A reason on its own, as plain text; it must not refer to the verdicts of a case."""
    return _text(_explained(reason, Subject()))


def brief(reason: of.Reason | of.NotPlanted) -> str:
    """The same in one line: its beginning, and the last quoted line, which often says why."""
    first, *others = _explained(reason, Subject())
    quoted = [line.strip() for one in (first, *others) for line in (*one.quoted, *one.log) if line.strip()]
    return " ".join([first.text, *(["; ".join(first.items)] if first.items else []), *quoted[-1:]])


def error(raised: DlbenchError, metrics: Metrics = METRICS) -> str:
    """The text of an error, which may carry a reason, or quote a file."""
    return foreign.block(_error(raised, metrics))


def system_error(raised: OSError) -> str:
    """The text of an error of the operating system: the file, if it names one, why, and what to do if that is known."""
    name = "" if raised.filename is None else foreign.line(str(raised.filename))
    said = raised.strerror or str(raised) or type(raised).__name__
    return foreign.block(": ".join(filter(None, (name, said, ONLY_WRITING.get(raised.errno or 0)))))


def _error(raised: DlbenchError, metrics: Metrics) -> str:
    match raised:
        case of.ToleranceTooTightError():
            return too_tight(raised.case, raised.reason, metrics)
        case of.NotFinishedError():
            return text(raised.reason)
        case of.ProblemError(problem=problem, log=log):
            return "\n".join([problems.text(problem), *log])
        case of.SharedCaseError(case=case, tests=(first, second)):
            differently = f"{first} and {second} train the case {case!r} differently and would share its baseline"
            return f"{differently};\n  give them labels: dlbench.train(..., label='big-batch')"
        case of.OtherGoldenError(case=case, differences=differences):
            lines = [f"  {difference(one)}" for one in differences]
            heading = f"{case}: the golden losses were made under different conditions:"
            return "\n".join([heading, *lines, "  make new golden losses"])
        case _:
            return str(raised)


def _text(paragraphs: Iterable[Paragraph]) -> str:
    return "\n".join(foreign.line(line) for paragraph in paragraphs for line in _lines(paragraph))


def _lines(paragraph: Paragraph) -> Iterator[str]:
    yield f"{paragraph.text}: {paragraph.command}" if paragraph.command else paragraph.text
    yield from paragraph.quoted
    yield from (f"  {item}" for item in paragraph.items)
    yield from (f"  | {line}" for line in paragraph.log)


def _quoted(message: str, before: str = "") -> Paragraph:
    """Text of another source, which may have several lines."""
    first, *others = message.split("\n")
    return Paragraph(text=f"{before}{first}", quoted=tuple(others))


@singledispatch
def _explained(reason: object, _: Subject) -> Iterator[Paragraph]:
    raise TypeError(f"no text for {type(reason).__name__}")


# Compared with a baseline


@_explained.register
def _saved(reason: of.Saved, _: Subject) -> Iterator[Paragraph]:
    session = "the first session" if reason.session == 1 else f"session {reason.session}"
    instead = f", instead of {sessions(reason.replaced)} of other conditions" if reason.replaced else ""
    yield Paragraph(text=f"saved as {session} of the baseline {reason.path} ({reason.why}){instead}")


@_explained.register
def _not_saved(reason: of.NotSaved, _: Subject) -> Iterator[Paragraph]:
    yield _quoted(WHY_NOT_SAVED.get(reason.cause, reason.problem), "not saved: ")


@_explained.register
def _too_good(reason: of.TooGood, _: Subject) -> Iterator[Paragraph]:
    """What to check, and how to save it if it is right."""
    gains = ", ".join(f"{gain.metric} is {gain.times:.3g} times as good" for gain in reason.gains)
    heading = f"suspect, too good to be true: {gains} as before (believed: up to {reason.limit:g} times); check that"
    yield Paragraph(text=heading, items=TO_CHECK)
    if reason.again:
        command = f"{commands.accept(reason.again)} --dlbench-allow={CaseOutcome.SUSPECT}"
        yield Paragraph(text="to save it if all that is right", command=command)


@_explained.register
def _no_baseline(reason: of.NoBaseline, _: Subject) -> Iterator[Paragraph]:
    elsewhere = (
        f" for {reason.machine}, only for {', '.join(reason.others)}: figures of other machines cannot be compared"
    )
    yield Paragraph(text=f"no baseline{elsewhere if reason.others else ''}")
    yield Paragraph(text="to save one", command=commands.accept(reason.again, "first baseline"))


@_explained.register
def _portable(reason: of.Portable, subject: Subject) -> Iterator[Paragraph]:
    """What does not depend on the machine, against the portable baseline."""
    verdicts = [one for one in subject.result.verdicts if not _is_absolute(one, subject.metrics)]
    source = f"the portable baseline of {reason.saved} ({reason.why})"
    heading = f"what does not depend on the machine, compared with {source}:"
    yield Paragraph(text=heading, items=_verdicts(verdicts, subject.metrics))
    if any(verdict.outcome is not VerdictOutcome.EQUIVALENT for verdict in verdicts):
        changes = tuple(map(difference, (*reason.versions, *reason.recipe)))
        yield Paragraph(text="what differs from it:", items=changes or ("no version and no recipe setting",))
        command = commands.accept_portable(subject.result.case, reason)
        yield Paragraph(text="to accept the new figures on every machine", command=command)
    yield Paragraph(text="time, memory and whatever else depends on the machine: nothing to compare with")


@_explained.register
def _portable_unused(reason: of.PortableUnused, _: Subject) -> Iterator[Paragraph]:
    heading = f"the portable baseline of {reason.saved} is not used: it was made under different conditions:"
    yield Paragraph(text=heading, items=tuple(map(difference, reason.differences)))


@_explained.register
def _not_in_baseline(reason: of.NotInBaseline, _: Subject) -> Iterator[Paragraph]:
    yield Paragraph(text=f"nothing to compare with: {reason.revision} ({reason.commit[:12]}) has no {reason.path}")


@_explained.register
def _incomparable(reason: of.Incomparable, _: Subject) -> Iterator[Paragraph]:
    subject = f"the baseline of {reason.saved} was" if reason.saved else "the two sides were"
    heading = f"{subject} measured under different conditions:"
    yield Paragraph(text=heading, items=tuple(map(difference, reason.differences)))
    if reason.again:
        yield Paragraph(text="to replace it", command=commands.accept(reason.again))


@_explained.register
def _compared(reason: of.Compared, subject: Subject) -> Iterator[Paragraph]:
    """Every metric against its baseline and reference session, what changed since then, and what to do."""
    result, metrics = subject.result, subject.metrics
    verdicts = [verdict for verdict in result.verdicts if not _is_absolute(verdict, metrics)]
    earlier = f" and {sessions(reason.sessions - 1)} before it" if reason.sessions > 1 else ""
    heading = f"compared with the baseline of {reason.saved} ({reason.why}){earlier}:"
    yield Paragraph(text=heading, items=_verdicts(verdicts, metrics))
    if result.since_anchor:
        yield from _since_reference(reason.reference, result, metrics)
    yield from (Paragraph(text=text) for text in drifted(result.drifting, metrics))
    changes = tuple(map(difference, (*reason.versions, *reason.recipe)))
    yield Paragraph(text="what changed in between:", items=changes or ("no version and no recipe setting",))
    found = {verdict.outcome for verdict in verdicts}
    if VerdictOutcome.INCONCLUSIVE in found:
        yield _undecided(reason, verdicts, result.runs, metrics)
    if reason.pairs:
        yield Paragraph(text=_suspected(_slower(verdicts, metrics)))
        command = commands.in_pairs(result.case, reason.again, reason.pairs, metrics)
        yield Paragraph(text="paired runs would settle it", command=command)
    if found & CHANGED:
        yield Paragraph(text="to accept the new figures", command=commands.accept(reason.again))


def _verdicts(verdicts: Iterable[Verdict], metrics: Metrics) -> tuple[str, ...]:
    return tuple(line(verdict, metrics) for verdict in verdicts)


def _is_absolute(verdict: Verdict, metrics: Metrics) -> bool:
    return verdict.metric in metrics and metrics[verdict.metric].is_absolute


def _since_reference(reference: of.Reference, result: CaseResult, metrics: Metrics) -> Iterator[Paragraph]:
    heading = f"since the reference session of {reference.saved} ({reference.why}):"
    yield Paragraph(text=heading, items=_verdicts(result.since_anchor, metrics))
    if added_up(result.since_anchor, metrics):
        command = commands.move_reference(result.case, reference.move)
        yield Paragraph(text="to accept what has added up", command=command)


def _undecided(reason: of.Compared, verdicts: Sequence[Verdict], runs: int, metrics: Metrics) -> Paragraph:
    undecided = [verdict for verdict in verdicts if verdict.outcome is VerdictOutcome.INCONCLUSIVE]
    names = ", ".join(verdict.metric for verdict in undecided)
    stored = max(verdict.sessions for verdict in undecided)
    known = f"{sessions(stored)} then" if stored else "the runs then"
    # More sessions do not help if sessions are known to vary a lot.
    remedy = REMEDY_IF_SESSIONS_VARY if stored >= KNOWN_SESSIONS else REMEDY
    text = f"inconclusive ({names}): {known} and {runs} runs now cannot resolve the tolerance"
    return Paragraph(text=text, items=(*(_history_needed(one, metrics) for one in reason.undecided), remedy))


def _history_needed(one: of.UndecidedSessions, metrics: Metrics) -> str:
    """What history would decide a metric, and what this one resolves."""
    least = figures.enough(one.metric, one.resolved, metrics)
    resolved = f"this one resolves a tolerance of {least}"
    if one.sessions is not None:
        return f"{one.metric}: {one.sessions} stored sessions that differ like these would decide it; {resolved}"
    is_by_run = one.metric in metrics and metrics[one.metric].is_exact
    return f"{one.metric}: {'' if is_by_run else 'no history that differs like this would decide it; '}{resolved}"


def _slower(verdicts: Iterable[Verdict], metrics: Metrics) -> list[Verdict]:
    """Without the gains that are too good to be true."""
    better = {gain.metric for gain in too_good(verdicts, metrics)}
    return [verdict for verdict in verdicts if verdict.metric not in better]


def _suspected(verdicts: Sequence[Verdict]) -> str:
    """Why it is only a suspicion."""
    suspects = [verdict for verdict in verdicts if verdict.outcome is VerdictOutcome.SUSPECT]
    few = [verdict for verdict in suspects if 0 < verdict.sessions < KNOWN_SESSIONS]
    if suspects and not few:
        names = ", ".join(verdict.metric for verdict in suspects)
        return f"suspect ({names}): in a session of as many cases, one is as much worse by chance too often"
    if few:
        names, known = ", ".join(verdict.metric for verdict in few), sessions(few[0].sessions)
        return (
            f"suspect ({names}): {known} cannot show how much sessions of this machine vary;"
            f" {KNOWN_SESSIONS} or more do (--dlbench-save)"
        )
    return "suspect: not visible against the newest sessions, only against the reference session or as drift"


@_explained.register
def _leaking(_: of.Leaking, subject: Subject) -> Iterator[Paragraph]:
    for verdict in subject.result.verdicts:
        if verdict.metric == "leak":
            yield Paragraph(
                text=line(verdict, subject.metrics),
                items=("resident memory grows with the steps, whatever the baseline shows",),
            )


@_explained.register
def _exceeding(reason: of.Exceeding, subject: Subject) -> Iterator[Paragraph]:
    verdicts = [one for one in subject.result.verdicts if one.metric in reason.metrics]
    yield Paragraph(text="judged without a baseline:", items=_verdicts(verdicts, subject.metrics))


# Compared in pairs


@_explained.register
def _paired(reason: of.Paired, subject: Subject) -> Iterator[Paragraph]:
    """Every metric, the phases of a run that changed, and how the two sides differ."""
    result = subject.result
    pairing = result.pairing
    assert pairing is not None
    passes = f"{pairing.screened} {'alternating ' if pairing.design == 'alternating' else ''}pairs"
    if pairing.confirmed:
        passes += f", and {pairing.confirmed} fresh ones to confirm what those flagged"
    kind = "A/A test, " if pairing.is_aa else ""
    heading = f"{kind}compared with {_side(pairing.old)} in {passes}{_spread(pairing)}:"
    lines = (
        *_verdicts(result.verdicts, subject.metrics),
        *_alongside(reason, pairing, result.verdicts),
        *_open(reason, pairing, result.verdicts, subject.metrics),
    )
    yield Paragraph(text=heading, items=lines)
    yield Paragraph(text="phases that take longer or shorter:", items=tuple(map(_phase, reason.phases)) or ("nothing",))
    differences = tuple(map(difference, reason.versions)) or ("nothing",)
    yield Paragraph(text="what differs between baseline and candidate:", items=differences)
    yield Paragraph(text="to run it again", command=commands.again(reason.again))


def _side(case: Case) -> str:
    """The framework of a side, with its revision of the user's code."""
    return f"{case.framework} ({revision(case.revision)})" if case.revision else case.framework


def revision(found: Revision) -> str:
    """A revision as it was asked for, with its commit and what is not committed."""
    changed = ", with changes that are not committed" if found.uncommitted else ""
    return f"{found.name} is {found.commit[:12]}: {found.subject}{changed}"


def revisions(results: Iterable[CaseResult]) -> tuple[str, ...]:
    """The revisions that were compared, a line each, and each only once."""
    sides = ((side, case) for one in results if one.pairing for side, case in _sides(one.case, one.pairing))
    return tuple(dict.fromkeys(f"{side}: {revision(case.revision)}" for side, case in sides if case.revision))


def _sides(case: Case, pairing: Pairing) -> tuple[tuple[str, Case], ...]:
    return (("baseline", pairing.old), ("candidate", case))


def _spread(pairing: Pairing) -> str:
    if "step_time" not in pairing.spreads:
        return ""
    spread = 100 * expm1(pairing.spreads["step_time"])
    if pairing.step_pairs:
        return f" ({pairing.step_pairs} earlier pairs of identical versions differ by {spread:.2g}% in step_time)"
    is_assumed = pairing.design == "alternating" and pairing.spreads["step_time"] >= ALTERNATING_SPREAD
    if not pairing.reference_runs or is_assumed:
        return ""
    return f" (two consecutive runs of {pairing.reference_runs} earlier ones differ by {spread:.2g}% in step_time)"


def _alongside(reason: of.Paired, pairing: Pairing, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What is reported but not judged, and what was judged by processor time or without fresh pairs."""
    yield from (
        f"{verdict.metric}: decided by the processor time of the steps; wall time alone is inconclusive"
        for verdict in verdicts
        if verdict.is_of_cpu
    )
    yield from (f"{name}: {STOPPED[why]}" for name, why in pairing.reasons.items() if why == Reason.AT_ONCE)
    if reason.stall:
        yield _stall(reason.stall, {verdict.metric: verdict.outcome for verdict in verdicts})
    if reason.time_to_target:
        yield _time_to_target(reason.time_to_target)


def _open(reason: of.Paired, pairing: Pairing, verdicts: Sequence[Verdict], metrics: Metrics) -> Iterator[str]:
    """Why metrics are undecided, and what would decide them."""
    remedies = {
        one.metric: _would_decide(one, metrics, MORE_PAIRS.get(pairing.reasons.get(one.metric, ""), MORE_OPTIONS))
        for one in reason.undecided
    }
    for verdict in verdicts:
        if verdict.outcome is VerdictOutcome.INCONCLUSIVE and verdict.decides:
            why = pairing.reasons.get(verdict.metric, "why is not known")
            remedy = REMEDIES.get(why) or remedies.get(verdict.metric, "")
            yield f"{verdict.metric}: {stopped(why)}{remedy}"


def _would_decide(one: of.UndecidedPairs, metrics: Metrics, options: str) -> str:
    if one.is_contradictory:
        return "; later pairs contradict earlier ones, as if the machine had changed: repeat the case"
    amount = one.resolvable if one.resolved is None else one.resolved
    least = None if amount is None else figures.enough(one.metric, amount, metrics)
    by = "these pairs resolve" if one.resolved is not None else f"{LAST_LOOK} would resolve"
    resolved = f"{by} a tolerance of {least} (--dlbench-tolerance={one.metric}:{least})" if least else ""
    if one.pairs is None or one.seconds is None:
        none = f"; not even {LAST_LOOK} pairs like these would decide it"
        return f"{none}; {resolved}" if resolved else f"{none}: repeat the case when the machine is less busy"
    minutes = max(1, round(one.seconds / 60))
    pairs = f"{one.pairs} fresh pairs after the first ones" if one.is_confirmation else f"{one.pairs} pairs"
    remedy = f"; about {pairs} would decide it ({minutes} min; {options})"
    return f"{remedy}, or {resolved}" if resolved else remedy


def _stall(kind: str, found: Mapping[str, VerdictOutcome]) -> str:
    median, quantile = (found.get(name, "unknown") for name in ("step_time_median", "step_time"))
    both = f"the median step {median}, the 10 % quantile {quantile}"
    if kind == "worse":
        return f"a stall: {both}; something now delays some steps"
    return f"less of a stall: {both}; fewer steps are delayed"


def _time_to_target(times: of.TimeToTarget) -> str:
    baseline, candidate, horizon = map(figures.seconds, (times.baseline, times.candidate, times.horizon))
    longer, lower, upper = (
        "unknown" if value is None else f"{value:+.3g}" for value in (times.longer, times.lower, times.upper)
    )
    p_value = "unknown" if times.p_value is None else f"{times.p_value:.2g}"
    return (
        f"time to an accuracy of {100 * times.target:g} %: {baseline} → {candidate} of the first {horizon},"
        f" {longer} s [{lower}, {upper}], log-rank p {p_value};"
        f" {times.missed[0]} of {times.runs[0]} and {times.missed[1]} of {times.runs[1]} runs never reached it"
    )


def _phase(change: of.PhaseChange) -> str:
    baseline, candidate = figures.seconds(change.baseline), figures.seconds(change.candidate)
    direction = "longer" if change.candidate > change.baseline else "shorter"
    by = figures.seconds(abs(change.candidate - change.baseline))
    return f"{change.phase:<10} {baseline} → {candidate}, {by} {direction}"


@_explained.register
def _profiled(_: of.Profiled, subject: Subject) -> Iterator[Paragraph]:
    heading = "operators that changed most, time per step under the framework's own profiler:"
    yield Paragraph(text=heading, items=tuple(map(_operator, subject.result.operators)) or ("nothing",))


@_explained.register
def _not_profiled(reason: of.NotProfiled, _: Subject) -> Iterator[Paragraph]:
    if reason.purpose:
        only = f"only trainings of networks are, and this case is of the kind {reason.purpose}"
        yield Paragraph(text=f"not profiled: {only}")
        return
    problem = problems.text(reason.run_problem).partition("\n")[0] if reason.run_problem else reason.problem
    yield _quoted(problem, "not profiled: ")


@_explained.register
def _counts_changed(reason: of.CountsChanged, subject: Subject) -> Iterator[Paragraph]:
    heading = "what a step does changed, in all runs of either side; a likely cause:"
    yield Paragraph(text=heading, items=causes((reason,), subject.metrics))


@_explained.register
def _kernels_changed(reason: of.KernelsChanged, _: Subject) -> Iterator[Paragraph]:
    heading = "recurrent layers are computed by other kernels in all runs of either side; a likely cause:"
    yield Paragraph(text=heading, items=(figures.changed_kernels(reason),))


def causes(reasons: Iterable[of.Reason], metrics: Metrics = METRICS) -> tuple[str, ...]:
    """The counts and kernels that changed where something got worse, a line each."""
    found = []
    for reason in reasons:
        if isinstance(reason, of.CountsChanged):
            found += [figures.counted(change, metrics) for change in reason.changes]
        elif isinstance(reason, of.KernelsChanged):
            found.append(f"recurrent layers by {figures.changed_kernels(reason)}")
    return tuple(found)


def _operator(change: OperatorTime) -> str:
    old, new = (figures.seconds(value) if value else "none" for value in (change.old, change.new))
    sign = "+" if change.new > change.old else "-"
    return f"{change.name:<28} {old} → {new}, {sign}{figures.seconds(abs(change.new - change.old))}"


# Not compared


@_explained.register
def _damaged_baseline(reason: of.DamagedBaseline, _: Subject) -> Iterator[Paragraph]:
    first, *others = reason.problem.split("\n")
    text = f"the baseline is damaged: {reason.path}: {first}"
    yield Paragraph(text=text, items=tuple(line.strip() for line in others))


@_explained.register
def _too_few(reason: of.TooFew, _: Subject) -> Iterator[Paragraph]:
    text = f"{reason.runs} of the {reason.needed} runs that a comparison needs: --dlbench-runs {reason.needed}"
    yield Paragraph(text=text)


@_explained.register
def _missing(reason: of.Missing, _: Subject) -> Iterator[Paragraph]:
    other = "candidate" if reason.side == "baseline" else "baseline"
    lacking = f"the {reason.side}" if reason.side else "this session"
    text = f"not judged, because the {other} has what some run of {lacking} has not: {', '.join(reason.metrics)}"
    yield Paragraph(text=text)


@_explained.register
def _not_stored(reason: of.NotStored, _: Subject) -> Iterator[Paragraph]:
    names = ", ".join(reason.metrics)
    yield Paragraph(text=f"not judged, because the baseline does not have it yet: {names}")


@_explained.register
def _unshown(reason: of.Unshown, _: Subject) -> Iterator[Paragraph]:
    names = ", ".join(reason.metrics)
    yield Paragraph(text=f"not judged, because fewer than {reason.needed} runs show it: {names}")


@_explained.register
def _unavailable(reason: of.Unavailable, _: Subject) -> Iterator[Paragraph]:
    yield _quoted(reason.problem)


@_explained.register
def _not_tried(reason: of.NotTried, _: Subject) -> Iterator[Paragraph]:
    yield Paragraph(text=f"not tried: {reason.missed} was not found")


@_explained.register
def _no_dropout(reason: of.NoDropout, _: Subject) -> Iterator[Paragraph]:
    yield Paragraph(text=f"{reason.model} has no dropout")


@_explained.register
def _unfinished(reason: of.Unfinished, _: Subject) -> Iterator[Paragraph]:
    """With the worker's last output."""
    if reason.side:
        framework = f", {reason.framework}," if reason.framework else ""
        yield Paragraph(text=f"the {reason.side}{framework} did not finish ({reason.outcome}):")
    if reason.outcome in (RunOutcome.MISSING_FRAMEWORK, RunOutcome.MISSING_DATA):
        yield _quoted(problems.of_run(reason))
        return
    yield _quoted(problems.of_run(reason), f"run {reason.index + 1} (seed {reason.seed}): ")
    if reason.log:
        yield Paragraph(text="the worker's last output:", log=reason.log)


@_explained.register
def _body_failed(reason: of.BodyFailed, _: Subject) -> Iterator[Paragraph]:
    yield Paragraph(text=f"the test failed after the measurement: {reason.problem}")


@_explained.register
def _interrupted(reason: of.Interrupted, _: Subject) -> Iterator[Paragraph]:
    planned = f" of {reason.planned}" if reason.planned else ""
    yield Paragraph(text=f"not judged: the session was ended after {reason.runs}{planned} runs of this case")


@_explained.register
def _diverged(reason: of.Diverged, _: Subject) -> Iterator[Paragraph]:
    counts = (
        f"{reason.baseline} of {reason.baseline_runs} runs of the baseline diverged,"
        f" {reason.candidate} of {reason.candidate_runs} of the candidate"
    )
    if reason.chance is not None:
        counts += f": the probability of at least this many more by chance is {100 * reason.chance:.2g}%"
    yield Paragraph(text=counts)


@_explained.register
def _invalid(reason: of.Invalid, _: Subject) -> Iterator[Paragraph]:
    repeated = f", as were {reason.repeats} repetitions" if reason.repeats else ""
    lines = tuple(
        f"{f'{run.side}, ' if run.side else ''}run {run.index + 1} (seed {run.seed}): {cautions.trouble(problem)}"
        for run in reason.runs
        for problem in run.reasons
    )
    yield Paragraph(text=f"invalid{repeated}; neither compared nor saved:", items=lines)
    allowed = "--dlbench-allow invalid (in dlbench's commands: --allow invalid) keeps such runs, marked"
    yield Paragraph(text=f"dlbench doctor says how to quiet the machine; {allowed}")


def too_tight(case: str, reason: of.ToleranceTooTight, metrics: Metrics = METRICS) -> str:
    """Tolerances that cannot be resolved, and the smallest that can."""
    lines = [f"{case}: tolerance too tight: {cautions.judges(reason)} cannot resolve it:"]
    for one in reason.metrics:
        asked, least = figures.amount(one.metric, one.asked, metrics), figures.enough(one.metric, one.smallest, metrics)
        smallest = f"the minimum detectable change is {least} (90 % power), {_basis(reason)}"
        lines.append(f"  {one.metric}: {asked} was requested, {smallest}")
    enough = {one.metric: figures.enough(one.metric, one.smallest, metrics) for one in reason.metrics}
    wider = [f"--dlbench-tolerance={name}:{amount}" for name, amount in enough.items()]
    return "\n".join([*lines, f"  tolerances that can be resolved: {' '.join(wider)}"])


def _basis(reason: of.ToleranceTooTight) -> str:
    match reason.basis:
        case "sessions":
            return "given how sessions and runs vary here; --dlbench-ab or more runs may resolve less"
        case "runs":
            return f"given how {reason.reference_runs} consecutive runs vary here"
        case "calibration":
            return "given how runs varied in dlbench calibrate"
        case "any":
            return "on any machine"
        case "pairs":
            return "given how these pairs vary"


# Lines that other texts use


def line(verdict: Verdict, metrics: Metrics = METRICS) -> str:
    """One metric: verdict, both figures, change with its interval, tolerance."""
    old, new = (figures.side(verdict.metric, value, metrics) for value in (verdict.old, verdict.new))
    change, tolerance = figures.change(verdict, metrics), figures.tolerance(verdict, metrics)
    alongside = "" if verdict.decides else ", does not decide"
    return f"{verdict.metric:<16} {verdict.outcome:<12} {old} → {new}, {change}, tolerance {tolerance}{alongside}"


def required(result: CaseResult, unmet: Mapping[str, float], metrics: Metrics = METRICS) -> str:
    """Requirements of a test that its case does not meet, with the figures: medians over the runs."""
    lines = [
        f"{figures.bound(name, bound, metrics)} is required,"
        f" {figures.figure(name, result.figures[name], metrics)} was measured (median of {result.runs} runs)"
        for name, bound in unmet.items()
    ]
    return "; ".join(lines)


def portable(result: CaseResult, metrics: Metrics = METRICS) -> str:
    """What was found on each metric that does not depend on the machine: ``accuracy equivalent``."""
    verdicts = [one for one in result.verdicts if not _is_absolute(one, metrics)]
    return ", ".join(f"{one.metric} {one.outcome.value}" for one in verdicts) or "no metric in common"


def stopped(reason: str) -> str:
    """Why the gate's rule stopped, by the name of a ``sequential.Reason``; older files have the sentence itself."""
    return STOPPED.get(reason, reason)


def difference(found: of.Difference) -> str:
    """What differs: ``torch 2.12.0 → 2.13.0``."""
    then, now = ("none" if value is None else value for value in (found.baseline, found.candidate))
    return f"{found.name} {then} → {now}"


def sessions(count: int) -> str:
    """A number of sessions."""
    return f"{count} session{'' if count == 1 else 's'}"


def deciding(result: CaseResult, metrics: Metrics = METRICS) -> list[str]:
    """The metrics that decided the outcome of a case, a line each; none if it was not compared."""
    decisive = [one for one in result.verdicts if one.decides and one.outcome.value == result.outcome.value]
    found = list(_verdicts(decisive, metrics))
    if result.outcome is CaseOutcome.SUSPECT:
        found += [*added_up(result.since_anchor, metrics), *drifted(result.drifting, metrics)]
    return found


def added_up(since_reference: Sequence[Verdict], metrics: Metrics = METRICS) -> list[str]:
    """Metrics that are worse than in the reference session, a line each."""
    found = [verdict for verdict in since_reference if verdict.outcome is VerdictOutcome.SUSPECT]
    return [f"since the reference session: {line(verdict, metrics)}" for verdict in found]


def drifted(drifting: Mapping[str, int], metrics: Metrics = METRICS) -> list[str]:
    """Metrics that drifted, a line each."""
    advice = "too little per session to notice; see dlbench history"
    return [
        f"{metric} has drifted {_worse(metric, metrics)} for {sessions(count)}, {advice}"
        for metric, count in drifting.items()
    ]


def _worse(metric: str, metrics: Metrics) -> str:
    if metric not in metrics:
        return "for the worse"
    return "up" if metrics[metric].better == "lower" else "down"
