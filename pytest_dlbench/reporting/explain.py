"""Why a case is what it is, and what to do: the texts that a test fails, is skipped or is noted with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1
from typing import TYPE_CHECKING

from pytest_dlbench import judging
from pytest_dlbench.judging import METRICS, Metrics, TimeToAccuracy
from pytest_dlbench.judging.comparable import KNOWN_SESSIONS
from pytest_dlbench.judging.phases import Growth, growths
from pytest_dlbench.records import (
    Baseline,
    CaseOutcome,
    CaseResult,
    OperatorTime,
    Pairing,
    Record,
    Run,
    RunOutcome,
    Verdict,
    VerdictOutcome,
)
from pytest_dlbench.reporting import figures

if TYPE_CHECKING:
    # Only the types: they are slow to load.
    from pytest_dlbench.judging.accuracy import Divergences, TimesToAccuracy
    from pytest_dlbench.judging.stored_baseline import Judged

WAY_OUT = (
    "five or more sessions in the baseline (--dlbench-save) tell what sessions differ by, --dlbench-runs N narrows what"
    " runs differ by; --dlbench-ab needs no baseline; --dlbench-tolerance can be wider"
)

WAY_OUT_OF_PAIRS = (
    "--dlbench-max-runs N and a longer --dlbench-budget let more pairs be run; --dlbench-tolerance can be wider"
)

SURE_WAY_OUT = "sessions of this machine differ by too much: --dlbench-ab needs none; --dlbench-tolerance can be wider"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What a user may do about a comparison: run the case again, run it in pairs, move its anchor."""

    again: str
    pairs: str
    anchor: str


def accept_command(again: str, reason: str = "why the new figure is right") -> str:
    """The command that makes this session's figures the baseline; ``again`` runs the same case again."""
    return f'{again} --dlbench-save --dlbench-reason "{reason}"'


def unfinished(run: Run) -> str:
    """A run that did not finish, with the worker's last words."""
    if run.outcome in (RunOutcome.MISSING_FRAMEWORK, RunOutcome.MISSING_DATA):
        return run.message
    lines = [f"run {run.index + 1} (seed {run.seed}): {run.message}"]
    if run.log:
        lines += ["the worker's last output:", *(f"  | {line}" for line in run.log)]
    return "\n".join(lines)


def invalid(runs: Sequence[Run], repeats: int) -> str:
    """Runs that measured the machine's troubles, and nothing was compared with."""
    lines = [f"run {run.index + 1} (seed {run.seed}): {reason}" for run in runs for reason in run.invalid]
    return "\n".join(
        [
            f"invalid, as were {repeats} repetitions; not compared, and not saved:",
            *(f"  {line}" for line in lines),
            "  dlbench doctor tells what to do about the machine; --dlbench-allow invalid keeps such runs, marked",
        ]
    )


def no_baseline(machine: str, others: Sequence[str], again: str) -> str:
    """Nothing to compare with."""
    save = accept_command(again, "first baseline")
    if others:
        elsewhere = f"no baseline of {machine}, only of {', '.join(others)}: other machines say nothing here"
        return f"{elsewhere}\n  to save one: {save}"
    return f"no baseline\n  to save one: {save}"


def incomparable(baseline: Baseline, obstacles: Sequence[str], again: str) -> str:
    """A baseline of something else."""
    return "\n".join(
        [
            f"the baseline of {baseline.sessions[-1].saved} was measured under other conditions:",
            *(f"  {obstacle}" for obstacle in obstacles),
            f"  to replace it: {accept_command(again)}",
        ]
    )


def compared(
    baseline: Baseline, record: Record, judged: "Judged", commands: Commands, metrics: Metrics = METRICS
) -> str:
    """Every metric against its baseline and its anchor, what changed in between, and what to do."""
    newest, verdicts = baseline.sessions[-1], judged.verdicts
    changes = [
        *judging.changes(newest.versions, record.runs[0].versions),
        *judging.changes(baseline.recipe, record.recipe),
    ]
    behind = f" and {sessions(len(baseline.sessions) - 1)} before it" if len(baseline.sessions) > 1 else ""
    lines = [
        f"against the baseline of {newest.saved} ({newest.reason}){behind}:",
        *(f"  {line(verdict, metrics)}" for verdict in verdicts),
        *_since_anchor(baseline, judged.since_anchor, commands.anchor, metrics),
        *drifted(judged.drifting),
    ]
    lines += ["what changed in between:", *(f"  {change}" for change in changes or ["no version, no recipe setting"])]
    found = {verdict.outcome for verdict in verdicts}
    if VerdictOutcome.INCONCLUSIVE in found:
        lines.append(_undecided(verdicts, len(record.runs)))
    if judged.outcome is CaseOutcome.SUSPECT:
        lines += [_suspected(judged), f"pairs would tell: {commands.pairs}"]
    if found & {VerdictOutcome.REGRESSED, VerdictOutcome.SUSPECT, VerdictOutcome.IMPROVED}:
        lines.append(f"to accept the new figures: {accept_command(commands.again)}")
    return "\n".join(lines)


def sessions(count: int) -> str:
    """A number of sessions."""
    return f"{count} session{'' if count == 1 else 's'}"


def _since_anchor(baseline: Baseline, verdicts: Sequence[Verdict], command: str, metrics: Metrics) -> list[str]:
    if not verdicts:
        return []
    anchor = next(session for session in baseline.sessions if session.id == baseline.anchor)
    lines = [
        f"since the anchor of {anchor.saved} ({anchor.reason}):",
        *(f"  {line(verdict, metrics)}" for verdict in verdicts),
    ]
    if any(verdict.outcome is VerdictOutcome.SUSPECT for verdict in verdicts):
        lines.append(f"  to accept what has added up: {command}")
    return lines


def deciding(result: CaseResult, metrics: Metrics = METRICS) -> list[str]:
    """What made the outcome of a case, a line each; nothing where it was not compared."""
    told = [line(verdict, metrics) for verdict in result.verdicts if verdict.outcome.value == result.outcome.value]
    if result.outcome is CaseOutcome.SUSPECT:
        told += [*added_up(result.since_anchor, metrics), *drifted(result.drifting)]
    return told


def added_up(since_anchor: Sequence[Verdict], metrics: Metrics = METRICS) -> list[str]:
    """Metrics that are worse than at the anchor, a line each."""
    found = [verdict for verdict in since_anchor if verdict.outcome is VerdictOutcome.SUSPECT]
    return [f"since the anchor: {line(verdict, metrics)}" for verdict in found]


def drifted(drifting: Mapping[str, int]) -> list[str]:
    """Metrics that crept, a line each."""
    return [
        f"{metric} has crept to the worse for {sessions(count)}, too little to be seen in one; dlbench history shows it"
        for metric, count in drifting.items()
    ]


def _suspected(judged: "Judged") -> str:
    """Why it is no more than a suspicion."""
    few = [verdict for verdict in judged.verdicts if verdict.outcome is VerdictOutcome.SUSPECT]
    if few:
        names, known = ", ".join(verdict.metric for verdict in few), sessions(few[0].sessions)
        return (
            f"suspect ({names}): {known} cannot tell what two sessions of this machine differ by anyway;"
            f" from {KNOWN_SESSIONS} on --dlbench-save has made it known"
        )
    return "suspect: the newest sessions alone do not show it, the anchor or the drift does"


def paired(
    pairing: Pairing,
    verdicts: Sequence[Verdict],
    told: Sequence[str],
    runs: Mapping[str, Sequence[Run]],
    again: str,
    *,
    metrics: Metrics = METRICS,
) -> str:
    """A new side against an old one: every metric, which part of a run changed, and how the two sides differ.

    ``runs`` are those of the sides "old" and "new".
    """
    old, new = runs["old"], runs["new"]
    passes = f"{pairing.screened} pairs"
    if pairing.confirmed:
        passes += f", and {pairing.confirmed} fresh ones for what those did not clear"
    lines = [
        f"against {pairing.old.framework} in {passes}{_reference(pairing)}:",
        *(f"  {line(verdict, metrics)}" for verdict in verdicts),
    ]
    lines += [f"  {line}" for line in told]
    if undecided := [verdict for verdict in verdicts if verdict.outcome is VerdictOutcome.INCONCLUSIVE]:
        lines += [f"  {verdict.metric}: {pairing.reasons[verdict.metric]}" for verdict in undecided]
    lines += _listed("what takes another time:", [_growth(growth) for growth in growths(old, new)])
    lines += _listed("what differs between the two sides:", judging.changes(old[0].versions, new[0].versions))
    return "\n".join([*lines, f"to run it again: {again}"])


def times_to_accuracy(compared: "TimesToAccuracy", old: Sequence[TimeToAccuracy], new: Sequence[TimeToAccuracy]) -> str:
    """Restricted means with their interval, and how many runs of either side never got there."""
    longer = compared.longer
    missed = [sum(time.is_censored for time in side) for side in (old, new)]
    return (
        f"time to an accuracy of {100 * old[0].target:g} %: {figures.seconds(compared.old)} →"
        f" {figures.seconds(compared.new)} of the first {figures.seconds(compared.horizon)},"
        f" {longer.estimate:+.3g} s [{longer.lower:+.3g}, {longer.upper:+.3g}], log-rank p {compared.p_value:.2g};"
        f" {missed[0]} of {len(old)} and {missed[1]} of {len(new)} runs never reached it"
    )


def divergences(old: "Divergences", new: "Divergences", chance: float, sides: tuple[str, str]) -> str:
    """Runs that diverged, counted on both sides."""
    then, now = sides
    counts = f"{old.diverged} of {old.runs} runs of {then} diverged, {new.diverged} of {new.runs} of {now}"
    more = (
        f": so many more, or more still, come by chance in {100 * chance:.2g}%" if new.diverged > old.diverged else ""
    )
    return f"{counts}{more}"


def _reference(pairing: Pairing) -> str:
    if not pairing.reference_runs or "step_time" not in pairing.spreads:
        return ""
    spread = 100 * expm1(pairing.spreads["step_time"])
    return f" (two of {pairing.reference_runs} earlier runs in a row differ by {spread:.2g}% of step_time)"


def too_narrow(
    case: str,
    tolerances: Mapping[str, float],
    smallest: Mapping[str, float],
    tellers: str,
    seen: str,
    *,
    metrics: Metrics = METRICS,
) -> str:
    """Tolerances that cannot be told from no change, and the smallest that can.

    ``tellers`` are such as "20 pairs", ``seen`` says what it rests on: "on any machine".
    """
    lines = [f"{case}: {tellers} cannot tell so little from no change:"]
    for name, least in smallest.items():
        given, needed = figures.amount(name, tolerances[name], metrics), figures.enough(name, least, metrics)
        lines.append(f"  {name}: {given} is asked for, {needed} is the least that is found in 90% of cases, {seen}")
    enough = {name: figures.enough(name, least, metrics) for name, least in smallest.items()}
    wider = " ".join(f"--dlbench-tolerance={name}:{amount}" for name, amount in enough.items())
    return "\n".join([*lines, f"  tolerate more: {wider}"])


def narrow(smallest: Mapping[str, float], tellers: str, metrics: Metrics = METRICS) -> list[str]:
    """The same of tolerances that nobody asked for: those metrics may stay inconclusive."""
    return [
        f"{name}: {tellers} on this machine tell no less than {figures.enough(name, least, metrics)}, more than its"
        " tolerance"
        for name, least in smallest.items()
    ]


def operators(changes: Sequence[OperatorTime]) -> str:
    """The operators that changed most, with their time a step."""
    told = [_operator(change) for change in changes]
    return "\n".join(_listed("operators that changed most, time a step under the framework's own profiler:", told))


def _operator(change: OperatorTime) -> str:
    old, new = (figures.seconds(value) if value else "none" for value in (change.old, change.new))
    sign = "+" if change.new > change.old else "-"
    return f"{change.name:<28} {old} → {new}, {sign}{figures.seconds(abs(change.new - change.old))}"


def _listed(heading: str, lines: Sequence[str]) -> list[str]:
    return [heading, *(f"  {line}" for line in lines or ["nothing"])]


def _growth(growth: Growth) -> str:
    old, new = figures.seconds(growth.old), figures.seconds(growth.new)
    return f"{growth.phase:<10} {old} → {new}, {figures.seconds(abs(growth.new - growth.old))} {growth.direction}"


def line(verdict: Verdict, metrics: Metrics = METRICS) -> str:
    """One metric: verdict, old and new figure, change with its interval, tolerance."""
    old, new = (figures.figure(verdict.metric, value, metrics) for value in (verdict.old, verdict.new))
    change, tolerance = figures.change(verdict, metrics), figures.tolerance(verdict, metrics)
    return f"{verdict.metric:<16} {verdict.outcome:<12} {old} → {new}, {change}, tolerance {tolerance}"


def _undecided(verdicts: Sequence[Verdict], runs: int) -> str:
    undecided = [verdict for verdict in verdicts if verdict.outcome is VerdictOutcome.INCONCLUSIVE]
    names = ", ".join(verdict.metric for verdict in undecided)
    stored = max(verdict.sessions for verdict in undecided)
    known = f"{sessions(stored)} then" if stored else "the runs then"
    # Sessions that are known to lie far apart are not brought together by more of them.
    way_out = SURE_WAY_OUT if stored >= KNOWN_SESSIONS else WAY_OUT
    return (
        f"inconclusive ({names}): {known} and {runs} runs now cannot tell the change from its tolerance.\n  {way_out}"
    )


def with_leak(verdict: Verdict, message: str) -> str:
    """A message, below what memory that grows adds to it."""
    if verdict.outcome is VerdictOutcome.EQUIVALENT:
        return message
    return f"{line(verdict)}\n  the resident set grows with the steps, whatever a baseline has\n{message}"


def too_few(runs: int, needed: int) -> str:
    """Runs whose spread is not known."""
    return f"{runs} of {needed} runs that a comparison needs: --dlbench-runs {needed}"
