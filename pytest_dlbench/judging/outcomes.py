"""The outcome of a case, from its runs and verdicts, and whether it fails a test."""

from collections.abc import Sequence

from pytest_dlbench.records import CaseOutcome, CaseResult, Run, RunOutcome, Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import InvalidRuns

OF_RUNS = {
    RunOutcome.DIVERGED: CaseOutcome.DIVERGED,
    RunOutcome.OUT_OF_MEMORY: CaseOutcome.OUT_OF_MEMORY,
    RunOutcome.TIMEOUT: CaseOutcome.TIMEOUT,
    RunOutcome.CRASHED: CaseOutcome.CRASHED,
    RunOutcome.BROKEN_PROTOCOL: CaseOutcome.BROKEN_PROTOCOL,
    RunOutcome.WRONG_VERSION: CaseOutcome.WRONG_VERSION,
    RunOutcome.FAILED: CaseOutcome.FAILED,
    RunOutcome.UNSUPPORTED: CaseOutcome.UNSUPPORTED,
    RunOutcome.MISSING_FRAMEWORK: CaseOutcome.SKIPPED,
    RunOutcome.MISSING_DATA: CaseOutcome.SKIPPED,
    RunOutcome.MACHINE_LOST: CaseOutcome.MACHINE_LOST,
}

# The case's outcome is the first of these that any metric has.
OF_VERDICTS = (
    (VerdictOutcome.REGRESSED, CaseOutcome.REGRESSED),
    (VerdictOutcome.SUSPECT, CaseOutcome.SUSPECT),
    (VerdictOutcome.INCONCLUSIVE, CaseOutcome.INCONCLUSIVE),
    (VerdictOutcome.IMPROVED, CaseOutcome.IMPROVED),
)

ALWAYS_FAILING = frozenset(
    {
        CaseOutcome.REGRESSED,
        CaseOutcome.DIVERGED,
        CaseOutcome.OUT_OF_MEMORY,
        CaseOutcome.TIMEOUT,
        CaseOutcome.CRASHED,
        CaseOutcome.BROKEN_PROTOCOL,
        CaseOutcome.WRONG_VERSION,
        CaseOutcome.FAILED,
        CaseOutcome.MACHINE_LOST,
        # Figures that nothing guards any more, until somebody repairs the file.
        CaseOutcome.DAMAGED_BASELINE,
    }
)
# A gate that ignored these would pass silently.
GATE_FAILING = frozenset(
    {
        CaseOutcome.SUSPECT,
        CaseOutcome.NO_BASELINE,
        CaseOutcome.INCOMPARABLE,
        CaseOutcome.INCONCLUSIVE,
        CaseOutcome.SKIPPED,
        CaseOutcome.UNSUPPORTED,
        CaseOutcome.INVALID,
    }
)
# What does not outweigh that something could not be judged.
MILDER = frozenset({CaseOutcome.PASSED, CaseOutcome.IMPROVED, CaseOutcome.NO_BASELINE, CaseOutcome.INCOMPARABLE})
# Figures of these, if there are any, are not the framework's, or not those of the whole training.
UNSOUND = ALWAYS_FAILING - {CaseOutcome.REGRESSED} | {CaseOutcome.INVALID}
# Results of a comparison; a crash is not one.
JUDGEMENTS = frozenset({CaseOutcome.REGRESSED, CaseOutcome.IMPROVED})
# Outcomes whose tests are skipped if they do not fail.
SKIPPING = frozenset({CaseOutcome.SKIPPED, CaseOutcome.UNSUPPORTED})


def of_runs(runs: Sequence[Run]) -> CaseOutcome | None:
    """The outcome of a case if not all of its runs finished, else None."""
    return next((OF_RUNS[run.outcome] for run in runs if run.outcome is not RunOutcome.FINISHED), None)


def of_verdicts(verdicts: Sequence[Verdict]) -> CaseOutcome:
    """The outcome of a case that was compared; inconclusive if none of its verdicts decides."""
    found = {verdict.outcome for verdict in verdicts if verdict.decides}
    if verdicts and not found:
        return CaseOutcome.INCONCLUSIVE
    return next((outcome for verdict, outcome in OF_VERDICTS if verdict in found), CaseOutcome.PASSED)


def with_absolute(outcome: CaseOutcome, verdict: Verdict) -> CaseOutcome:
    """The outcome of a case after one metric was judged without a baseline, which can only make it worse."""
    if verdict.outcome is VerdictOutcome.REGRESSED:
        return CaseOutcome.REGRESSED
    is_undecided = verdict.outcome is VerdictOutcome.INCONCLUSIVE
    is_fine = outcome in (CaseOutcome.PASSED, CaseOutcome.IMPROVED)
    return CaseOutcome.INCONCLUSIVE if is_undecided and is_fine else outcome


def at_best_inconclusive(outcome: CaseOutcome) -> CaseOutcome:
    """The outcome of a case of which something cannot be judged."""
    return CaseOutcome.INCONCLUSIVE if outcome in MILDER else outcome


def with_validity(outcome: CaseOutcome, runs: Sequence[Run]) -> CaseOutcome:
    """The outcome of a case whose invalid runs were kept: it cannot pass by them."""
    is_invalid = any(run.invalid for run in runs)
    return CaseOutcome.INVALID if is_invalid and outcome is CaseOutcome.PASSED else outcome


def is_sound(result: CaseResult) -> bool:
    """Whether the figures of a case may be ranked: it finished, and none of its runs is invalid."""
    return result.outcome not in UNSOUND and not any(isinstance(one, InvalidRuns) for one in result.cautions)


def fails(
    outcome: CaseOutcome, *, is_gate: bool, is_strict: bool, allowed: frozenset[CaseOutcome], is_shadow: bool = False
) -> bool:
    """Whether the test fails.

    A gate also fails if it cannot decide; strict also fails on a stale baseline; in report-only mode no verdict fails
    a test.
    """
    if is_shadow and outcome in JUDGEMENTS:
        return False
    if outcome in ALWAYS_FAILING:
        return True
    if outcome is CaseOutcome.IMPROVED:
        return is_strict
    return is_gate and outcome in GATE_FAILING - allowed
