"""Why a case is what it is, and what to do: paragraphs made from reasons, and the plain text that a test fails with.

The terminal and JUnit show the text; GitHub's summary and the page have the paragraphs in their own markup.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from math import expm1

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.comparable import KNOWN_SESSIONS
from pytest_dlbench.records import CaseOutcome, CaseResult, OperatorTime, Pairing, RunOutcome, Verdict, VerdictOutcome
from pytest_dlbench.records import reasons as of
from pytest_dlbench.reporting import cautions, commands, figures

WAY_OUT = (
    "five or more sessions in the baseline (--dlbench-save) show how much sessions vary, --dlbench-runs N narrows what"
    " runs vary by; --dlbench-ab needs no baseline; --dlbench-tolerance can be wider"
)
WAY_OUT_OF_PAIRS = (
    "--dlbench-max-runs N and a longer --dlbench-budget allow more pairs; --dlbench-tolerance can be wider"
)
SURE_WAY_OUT = (
    "sessions of this machine vary by too much: --dlbench-ab needs no baseline; --dlbench-tolerance can be wider"
)
CHANGED = {VerdictOutcome.REGRESSED, VerdictOutcome.SUSPECT, VerdictOutcome.IMPROVED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A sentence, or the heading of a list; with a ``command``, what that is for.

    ``quoted`` are lines that somebody else wrote, such as a traceback, ``log`` those that a worker printed.
    """

    text: str
    command: str = ""
    quoted: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


def paragraphs(result: CaseResult) -> tuple[Paragraph, ...]:
    """Everything that there is to say about a case; of a file that is older than reasons, what is written there."""
    if not result.reasons:
        return (_quoted(result.message),) if result.message else ()
    return tuple(paragraph for reason in result.reasons for paragraph in _explained(reason, result))


def message(result: CaseResult) -> str:
    """The same as plain text."""
    return _text(paragraphs(result))


def kinds(result: CaseResult) -> str:
    """Which reasons there are, by the names that they have in JSON: ``saved compared``."""
    return " ".join(str(type(reason).__struct_config__.tag) for reason in result.reasons)


def settled_by(result: CaseResult) -> str:
    """The command that would settle what is suspect; empty where nothing is."""
    compared = (reason for reason in result.reasons if isinstance(reason, of.Compared))
    found = (commands.in_pairs(result.case, reason.again, reason.pairs) for reason in compared if reason.pairs)
    return next(found, result.settled_by)


def rendered(result: CaseResult) -> CaseResult:
    """The case with its texts alongside the data, for readers that make no sentences of their own."""
    return replace(result, message=message(result), settled_by=settled_by(result), warnings=cautions.warnings(result))


def text(reason: of.Reason | of.NotPlanted) -> str:
    """A reason on its own, as plain text; not one that speaks of the verdicts of its case."""
    return _text(_explained(reason, None))


def brief(reason: of.Reason | of.NotPlanted) -> str:
    """The same in one line: what it begins with, and the last line of somebody else's, which often says why."""
    first, *others = _explained(reason, None)
    quoted = [line.strip() for one in (first, *others) for line in (*one.quoted, *one.log) if line.strip()]
    return " ".join([first.text, *(["; ".join(first.items)] if first.items else []), *quoted[-1:]])


def error(raised: DlbenchError) -> str:
    """What a user reads of an error, which may carry a reason."""
    match raised:
        case of.ToleranceTooTightError():
            return too_tight(raised.case, raised.reason)
        case of.NotFinishedError():
            return text(raised.reason)
        case of.SharedCaseError(case=case, tests=(first, second)):
            differently = f"{first} and {second} train the case {case!r} differently and would share its baseline"
            return f"{differently};\n  give them labels: dlbench.train(..., label='big-batch')"
        case of.OtherGoldenError(case=case, differences=differences):
            lines = [f"  {difference(one)}" for one in differences]
            return "\n".join([f"{case}: the golden losses are of something else:", *lines, "  make new golden losses"])
        case _:
            return str(raised)


def _text(paragraphs: Iterable[Paragraph]) -> str:
    return "\n".join(line for paragraph in paragraphs for line in _lines(paragraph))


def _lines(paragraph: Paragraph) -> Iterator[str]:
    yield f"{paragraph.text}: {paragraph.command}" if paragraph.command else paragraph.text
    yield from paragraph.quoted
    yield from (f"  {item}" for item in paragraph.items)
    yield from (f"  | {line}" for line in paragraph.log)


def _quoted(message: str, before: str = "") -> Paragraph:
    """Words of somebody else, which may be several lines."""
    first, *others = message.split("\n")
    return Paragraph(text=f"{before}{first}", quoted=tuple(others))


@singledispatch
def _explained(reason: object, _: CaseResult | None) -> Iterator[Paragraph]:
    raise TypeError(f"there are no words for {type(reason).__name__}")


# Compared with a baseline


@_explained.register
def _saved(reason: of.Saved, _: CaseResult | None) -> Iterator[Paragraph]:
    session = "the first session" if reason.session == 1 else f"session {reason.session}"
    yield Paragraph(text=f"saved as {session} of the baseline {reason.path} ({reason.why})")


@_explained.register
def _no_baseline(reason: of.NoBaseline, _: CaseResult | None) -> Iterator[Paragraph]:
    elsewhere = (
        f" for {reason.machine}, only for {', '.join(reason.others)}: figures of other machines say nothing here"
    )
    yield Paragraph(text=f"no baseline{elsewhere if reason.others else ''}")
    yield Paragraph(text="to save one", command=commands.accept(reason.again, "first baseline"))


@_explained.register
def _incomparable(reason: of.Incomparable, _: CaseResult | None) -> Iterator[Paragraph]:
    subject = f"the baseline of {reason.saved} was" if reason.saved else "the two sides were"
    heading = f"{subject} measured under different conditions:"
    yield Paragraph(text=heading, items=tuple(map(difference, reason.differences)))
    if reason.again:
        yield Paragraph(text="to replace it", command=commands.accept(reason.again))


@_explained.register
def _compared(reason: of.Compared, result: CaseResult | None) -> Iterator[Paragraph]:
    """Every metric against its baseline and reference session, what changed in between, and what to do."""
    assert result is not None
    verdicts = [verdict for verdict in result.verdicts if not _is_absolute(verdict)]
    earlier = f" and {sessions(reason.sessions - 1)} before it" if reason.sessions > 1 else ""
    heading = f"compared with the baseline of {reason.saved} ({reason.why}){earlier}:"
    yield Paragraph(text=heading, items=tuple(map(line, verdicts)))
    if result.since_anchor:
        yield from _since_reference(reason.reference, result)
    yield from (Paragraph(text=text) for text in drifted(result.drifting))
    changes = tuple(map(difference, (*reason.versions, *reason.recipe)))
    yield Paragraph(text="what changed in between:", items=changes or ("no version and no recipe setting",))
    found = {verdict.outcome for verdict in verdicts}
    if VerdictOutcome.INCONCLUSIVE in found:
        yield _undecided(verdicts, result.runs)
    if reason.pairs:
        yield Paragraph(text=_suspected(verdicts))
        yield Paragraph(
            text="paired runs would settle it", command=commands.in_pairs(result.case, reason.again, reason.pairs)
        )
    if found & CHANGED:
        yield Paragraph(text="to accept the new figures", command=commands.accept(reason.again))


def _is_absolute(verdict: Verdict) -> bool:
    return verdict.metric in METRICS and METRICS[verdict.metric].is_absolute


def _since_reference(reference: of.Reference, result: CaseResult) -> Iterator[Paragraph]:
    heading = f"since the reference session of {reference.saved} ({reference.why}):"
    yield Paragraph(text=heading, items=tuple(map(line, result.since_anchor)))
    if added_up(result.since_anchor):
        command = commands.move_reference(result.case, reference.move)
        yield Paragraph(text="to accept what has added up", command=command)


def _undecided(verdicts: Sequence[Verdict], runs: int) -> Paragraph:
    undecided = [verdict for verdict in verdicts if verdict.outcome is VerdictOutcome.INCONCLUSIVE]
    names = ", ".join(verdict.metric for verdict in undecided)
    stored = max(verdict.sessions for verdict in undecided)
    known = f"{sessions(stored)} then" if stored else "the runs then"
    # Sessions that are known to vary by much are not brought together by more of them.
    way_out = SURE_WAY_OUT if stored >= KNOWN_SESSIONS else WAY_OUT
    text = f"inconclusive ({names}): {known} and {runs} runs now cannot resolve the tolerance"
    return Paragraph(text=text, items=(way_out,))


def _suspected(verdicts: Sequence[Verdict]) -> str:
    """Why it is no more than a suspicion."""
    few = [verdict for verdict in verdicts if verdict.outcome is VerdictOutcome.SUSPECT]
    if few:
        names, known = ", ".join(verdict.metric for verdict in few), sessions(few[0].sessions)
        return (
            f"suspect ({names}): {known} cannot show how much sessions of this machine vary anyway;"
            f" {KNOWN_SESSIONS} or more do (--dlbench-save)"
        )
    return "suspect: the newest sessions alone do not show it, the reference session or the drift does"


@_explained.register
def _leaking(_: of.Leaking, result: CaseResult | None) -> Iterator[Paragraph]:
    assert result is not None
    for verdict in result.verdicts:
        if verdict.metric == "leak":
            yield Paragraph(
                text=line(verdict), items=("the resident set grows with the steps, whatever the baseline shows",)
            )


# Compared in pairs


@_explained.register
def _paired(reason: of.Paired, result: CaseResult | None) -> Iterator[Paragraph]:
    """Every metric, which phases of a run changed, and how the two sides differ."""
    assert result is not None
    pairing = result.pairing
    assert pairing is not None
    passes = f"{pairing.screened} pairs"
    if pairing.confirmed:
        passes += f", and {pairing.confirmed} fresh ones to confirm what those did not clear"
    heading = f"compared with {pairing.old.framework} in {passes}{_spread(pairing)}:"
    lines = (*map(line, result.verdicts), *_alongside(reason, result.verdicts), *_open(pairing, result.verdicts))
    yield Paragraph(text=heading, items=lines)
    yield Paragraph(text="what takes a different time:", items=tuple(map(_phase, reason.phases)) or ("nothing",))
    differences = tuple(map(difference, reason.versions)) or ("nothing",)
    yield Paragraph(text="what differs between baseline and candidate:", items=differences)
    yield Paragraph(text="to run it again", command=commands.again(reason.again))


def _spread(pairing: Pairing) -> str:
    if not pairing.reference_runs or "step_time" not in pairing.spreads:
        return ""
    spread = 100 * expm1(pairing.spreads["step_time"])
    return f" (two consecutive runs of {pairing.reference_runs} earlier ones differ by {spread:.2g}% in step_time)"


def _alongside(reason: of.Paired, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What is reported and not judged."""
    if reason.stall:
        yield _stall(reason.stall, {verdict.metric: verdict.outcome for verdict in verdicts})
    if reason.time_to_target:
        yield _time_to_target(reason.time_to_target)


def _open(pairing: Pairing, verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.outcome is VerdictOutcome.INCONCLUSIVE:
            yield f"{verdict.metric}: {pairing.reasons[verdict.metric]}"


def _stall(kind: str, found: Mapping[str, VerdictOutcome]) -> str:
    both = f"the usual step {found['step_time_median']}, the fastest tenth {found['step_time']}"
    if kind == "worse":
        return f"a stall: {both}; something now delays some of the steps"
    return f"less of a stall: {both}; fewer of the steps are delayed"


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
def _profiled(_: of.Profiled, result: CaseResult | None) -> Iterator[Paragraph]:
    assert result is not None
    heading = "operators that changed most, time per step under the framework's own profiler:"
    yield Paragraph(text=heading, items=tuple(map(_operator, result.operators)) or ("nothing",))


@_explained.register
def _not_profiled(reason: of.NotProfiled, _: CaseResult | None) -> Iterator[Paragraph]:
    yield Paragraph(text=f"not profiled: {reason.problem}")


def _operator(change: OperatorTime) -> str:
    old, new = (figures.seconds(value) if value else "none" for value in (change.old, change.new))
    sign = "+" if change.new > change.old else "-"
    return f"{change.name:<28} {old} → {new}, {sign}{figures.seconds(abs(change.new - change.old))}"


# Not compared


@_explained.register
def _damaged_baseline(reason: of.DamagedBaseline, _: CaseResult | None) -> Iterator[Paragraph]:
    yield _quoted(reason.problem, f"the baseline is damaged: {reason.path}: ")


@_explained.register
def _too_few(reason: of.TooFew, _: CaseResult | None) -> Iterator[Paragraph]:
    text = f"{reason.runs} of the {reason.needed} runs that a comparison needs: --dlbench-runs {reason.needed}"
    yield Paragraph(text=text)


@_explained.register
def _unavailable(reason: of.Unavailable, _: CaseResult | None) -> Iterator[Paragraph]:
    yield _quoted(reason.problem)


@_explained.register
def _not_tried(reason: of.NotTried, _: CaseResult | None) -> Iterator[Paragraph]:
    yield Paragraph(text=f"not tried: {reason.missed} was not found")


@_explained.register
def _no_dropout(reason: of.NoDropout, _: CaseResult | None) -> Iterator[Paragraph]:
    yield Paragraph(text=f"{reason.model} has no dropout")


@_explained.register
def _unfinished(reason: of.Unfinished, _: CaseResult | None) -> Iterator[Paragraph]:
    """With the worker's last words."""
    if reason.side:
        framework = f", {reason.framework}," if reason.framework else ""
        yield Paragraph(text=f"the {reason.side}{framework} did not finish ({reason.outcome}):")
    if reason.outcome in (RunOutcome.MISSING_FRAMEWORK, RunOutcome.MISSING_DATA):
        yield _quoted(reason.message)
        return
    yield _quoted(reason.message, f"run {reason.index + 1} (seed {reason.seed}): ")
    if reason.log:
        yield Paragraph(text="the worker's last output:", log=reason.log)


@_explained.register
def _diverged(reason: of.Diverged, _: CaseResult | None) -> Iterator[Paragraph]:
    counts = (
        f"{reason.baseline} of {reason.baseline_runs} runs of the baseline diverged,"
        f" {reason.candidate} of {reason.candidate_runs} of the candidate"
    )
    if reason.chance is not None:
        counts += f": the probability of so many more, or of even more, by chance is {100 * reason.chance:.2g}%"
    yield Paragraph(text=counts)


@_explained.register
def _invalid(reason: of.Invalid, _: CaseResult | None) -> Iterator[Paragraph]:
    repeated = f", as were {reason.repeats} repetitions" if reason.repeats else ""
    lines = tuple(
        f"{f'{run.side}, ' if run.side else ''}run {run.index + 1} (seed {run.seed}): {problem}"
        for run in reason.runs
        for problem in run.reasons
    )
    yield Paragraph(text=f"invalid{repeated}; not compared, and not saved:", items=lines)
    allowed = "--dlbench-allow invalid (of dlbench's commands: --allow invalid) keeps such runs, marked"
    yield Paragraph(text=f"dlbench doctor says what to do about the machine; {allowed}")


def too_tight(case: str, reason: of.ToleranceTooTight) -> str:
    """Tolerances that cannot be judged, and the smallest that can."""
    lines = [f"{case}: tolerance too tight: {cautions.judges(reason)} cannot resolve it:"]
    for one in reason.metrics:
        asked, least = figures.amount(one.metric, one.asked), figures.enough(one.metric, one.smallest)
        smallest = f"the minimum detectable change is {least} (90 % power), {_basis(reason)}"
        lines.append(f"  {one.metric}: {asked} is asked for, {smallest}")
    wider = [f"--dlbench-tolerance={one.metric}:{figures.enough(one.metric, one.smallest)}" for one in reason.metrics]
    return "\n".join([*lines, f"  a tolerance that can be judged: {' '.join(wider)}"])


def _basis(reason: of.ToleranceTooTight) -> str:
    match reason.basis:
        case "sessions":
            return "as sessions and runs vary here; --dlbench-ab or more runs may resolve less"
        case "runs":
            return f"as {reason.reference_runs} consecutive runs vary here"
        case "calibration":
            return "as runs varied in dlbench calibrate"
        case "any":
            return "on any machine"


# Lines that stand in other texts, too


def line(verdict: Verdict) -> str:
    """One metric: verdict, both figures, change with its interval, tolerance."""
    old, new = (figures.figure(verdict.metric, value) for value in (verdict.old, verdict.new))
    change, tolerance = figures.change(verdict), figures.tolerance(verdict)
    return f"{verdict.metric:<16} {verdict.outcome:<12} {old} → {new}, {change}, tolerance {tolerance}"


def difference(found: of.Difference) -> str:
    """What differs: ``torch 2.12.0 → 2.13.0``."""
    then, now = ("none" if value is None else value for value in (found.baseline, found.candidate))
    return f"{found.name} {then} → {now}"


def sessions(count: int) -> str:
    """A number of sessions."""
    return f"{count} session{'' if count == 1 else 's'}"


def deciding(result: CaseResult) -> list[str]:
    """What made the outcome of a case, a line each; nothing where it was not compared."""
    found = [line(verdict) for verdict in result.verdicts if verdict.outcome.value == result.outcome.value]
    if result.outcome is CaseOutcome.SUSPECT:
        found += [*added_up(result.since_anchor), *drifted(result.drifting)]
    return found


def added_up(since_reference: Sequence[Verdict]) -> list[str]:
    """Metrics that are worse than in the reference session, a line each."""
    found = [verdict for verdict in since_reference if verdict.outcome is VerdictOutcome.SUSPECT]
    return [f"since the reference session: {line(verdict)}" for verdict in found]


def drifted(drifting: Mapping[str, int]) -> list[str]:
    """Metrics that drifted, a line each."""
    advice = "too little to be seen in one; see dlbench history"
    return [
        f"{metric} has drifted {_worse(metric)} for {sessions(count)}, {advice}" for metric, count in drifting.items()
    ]


def _worse(metric: str) -> str:
    if metric not in METRICS:
        return "to the worse"
    return "up" if METRICS[metric].better == "lower" else "down"
