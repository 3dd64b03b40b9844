"""Compares a record with the stored baseline of its case, and saves it there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from pytest_dlbench import judging
from pytest_dlbench.environments import Framework
from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.judging import Metrics, counts, stored_baseline
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.reasons import unlikely
from pytest_dlbench.records import Baseline, Case, CaseOutcome, CaseResult, Context, Record
from pytest_dlbench.records.reasons import (
    DamagedBaseline,
    Incomparable,
    NoBaseline,
    Reason,
    Repeat,
    Saved,
    TooFew,
)
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.baselines import session_name
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.repository import commit_of
from pytest_dlbench.workflows import reasons

if TYPE_CHECKING:
    import pandas as pd


@dataclass(slots=True, kw_only=True)
class Comparer:
    """Compares the ``cases`` of one session with their baselines.

    ``reason`` is stored with every saved session; ``repeat_flags`` are the flags of a command that repeats a case.
    """

    baselines: BaselineStore
    reason: str = ""
    repeat_flags: tuple[str, ...] = ()
    history: str = ""
    metrics: Metrics
    is_resumed: bool = False
    """Whether the session goes on with one that may have saved some of its cases."""
    cases: int = 1
    _rows: "pd.DataFrame | None" = field(default=None)

    def compare(self, record: Record, framework: Framework, node: str, tolerance: Mapping[str, float]) -> CaseResult:
        """The case judged against its baseline; ``node`` is the test's id, for the suggested commands."""
        again = Repeat(node=node, flags=self.repeat_flags)
        try:
            baseline = self._before(self.baselines.read(record.case, record.context.machine), record)
            if baseline is None:
                return self._without_baseline(record, again)
            return self._against(baseline, record, framework, again, tolerance)
        except FileFormatError as error:
            return result(record, CaseOutcome.DAMAGED_BASELINE, self._damaged(record, error))

    def narrow(
        self,
        case: Case,
        context: Context,
        tolerances: Mapping[str, float],
        calibrated: Mapping[str, float],
        runs: int,
    ) -> Mapping[str, float]:
        """The smallest tolerance that the case's baseline can resolve, for each metric whose tolerance is smaller.

        Empty if the baseline is missing or damaged: ``compare`` will report that.
        """
        baseline = usable(self.baselines, case, context)
        try:
            return stored_baseline.narrow(baseline, tolerances, calibrated, runs, self.metrics) if baseline else {}
        except FileFormatError:
            return {}

    def stored_runs(self, case: Case, context: Context) -> int:
        """How many runs the baseline of the case has, none of which diverged; 0 without a baseline."""
        baseline = usable(self.baselines, case, context)
        return len(stored_baseline.seeds(baseline)) if baseline else 0

    def save(self, record: Record, compared: CaseResult) -> CaseResult:
        """Save the record as another session of its baseline. Saving accepts all changes, so the case passes.

        Raises FileFormatError for a damaged baseline, which stays as it is, and StorageError.
        """
        saved = add(self.baselines, record, self.reason, compared, metrics=self.metrics, before=self._before)
        return replace(compared, outcome=CaseOutcome.PASSED, reasons=(saved, *compared.reasons), saved=True)

    def _before(self, baseline: Baseline | None, record: Record) -> Baseline | None:
        """The baseline without this very session."""
        if baseline is None or not self.is_resumed:
            return baseline
        return stored_baseline.without(baseline, record, self.metrics)

    def _damaged(self, record: Record, error: FileFormatError) -> DamagedBaseline:
        path = str(self.baselines.path(record.case, record.context.machine))
        return DamagedBaseline(path=path, problem=str(error).removeprefix(path).lstrip(":, "))

    def _without_baseline(self, record: Record, again: Repeat) -> CaseResult:
        machine = record.context.machine
        others = self.baselines.others(record.case, machine)
        outcome = CaseOutcome.INCOMPARABLE if others else CaseOutcome.NO_BASELINE
        return result(record, outcome, NoBaseline(machine=machine.name, others=others, again=again))

    def _against(
        self, baseline: Baseline, record: Record, framework: Framework, again: Repeat, tolerance: Mapping[str, float]
    ) -> CaseResult:
        if differences := judging.obstacles(baseline.context, record.context):
            saved = baseline.sessions[-1].saved
            reason = Incomparable(saved=saved, differences=differences, again=again)
            return result(record, CaseOutcome.INCOMPARABLE, reason)
        stored_baseline.check(baseline, record.runs, tolerance, self.metrics)
        if len(record.runs) < FEWEST_RUNS:
            return result(record, CaseOutcome.INCONCLUSIVE, TooFew(runs=len(record.runs), needed=FEWEST_RUNS))
        judged = stored_baseline.compare(
            baseline, record.runs, tolerance, self.metrics, self._series(record), cases=self.cases
        )
        gains = unlikely(judged.verdicts, self.metrics, again)
        better = {gain.metric for reason in gains for gain in reason.gains}
        # Pairs would show the same gain.
        is_slower = judged.outcome is CaseOutcome.SUSPECT and judged.is_slower(better)
        pairs = reasons.in_pairs(baseline, record, framework, tolerance, self.metrics) if is_slower else None
        compared = reasons.compared(
            baseline, record, self.baselines.folder, again, pairs=pairs, undecided=judged.undecided
        )
        found = replace(
            result(record, judged.outcome, *gains, compared),
            verdicts=judged.verdicts,
            since_anchor=judged.since_anchor,
            drifting=judged.drifting,
        )
        then, now = counts.of_session(baseline.sessions[-1], self.metrics), counts.of_runs(record.runs, self.metrics)
        return counts.with_changes(found, counts.changes(then, now))

    def _series(self, record: Record) -> Mapping[str, Sequence[float]]:
        """Medians of this case's sessions in --dlbench-history, oldest first; empty without a history."""
        if not self.history:
            return {}
        if self._rows is None:
            self._rows = _history(self.history, record.context.machine.name, self.metrics)
        return series_of(self._rows, record, self.metrics)


def usable(baselines: BaselineStore, case: Case, context: Context) -> Baseline | None:
    """The baseline that runs can be compared with; None if it is missing, damaged or not comparable."""
    try:
        found = baselines.read(case, context.machine)
    except FileFormatError:
        return None
    return None if found is None or judging.obstacles(found.context, context) else found


def add(
    baselines: BaselineStore,
    record: Record,
    reason: str,
    compared: CaseResult | None,
    *,
    metrics: Metrics,
    before: Callable[[Baseline | None, Record], Baseline | None] = lambda baseline, _: baseline,
) -> Saved:
    """Add a session to the baseline of its case; one of other conditions is replaced.

    ``before`` gives the baseline to which the session is added, from the one that is stored. No other process saves
    the case meanwhile. Raises FileFormatError for a damaged baseline, and StorageError.
    """
    found: Baseline | None = None
    kept: Baseline | None = None

    def added(read: Baseline | None) -> Baseline:
        nonlocal found, kept
        found = before(read, record)
        kept = None if found is None or judging.obstacles(found.context, record.context) else found
        return accepted(kept, record, baselines, reason, compared, metrics=metrics)

    path = baselines.update(record.case, record.context.machine, added)
    replaced = len(found.sessions) if found and not kept else 0
    return Saved(path=str(path), session=len(kept.sessions) + 1 if kept else 1, why=reason, replaced=replaced)


def accepted(
    before: Baseline | None,
    record: Record,
    baselines: BaselineStore,
    reason: str,
    compared: CaseResult | None = None,
    *,
    metrics: Metrics,
) -> Baseline:
    """The baseline with the record as its newest session; metrics that changed start a new level."""
    saved = datetime.now(UTC).isoformat(timespec="seconds")
    session = stored_baseline.session_of(
        record,
        name=session_name(saved, before),
        saved=saved,
        reason=reason,
        metrics=metrics,
        commit=commit_of(baselines.folder if baselines.folder.is_dir() else baselines.folder.parent),
    )
    changed = stored_baseline.changed(compared.verdicts) if compared and before else ()
    return stored_baseline.appended(before, record, replace(session, accepted=changed))


def _history(address: str, machine: str, metrics: Metrics) -> "pd.DataFrame":
    """All runs of a machine class in a history; none if the history does not exist or cannot be reached."""
    columns = ["case", "began", "network_digest", "dataset_digest", "steps", "run_outcome", "invalid"]
    try:
        return History(address=address).read(machine=machine, columns=[*columns, *metrics]).rows
    except (DlbenchError, OSError):
        # The end of the session will report it, because the history cannot be written either.
        import pandas as pd  # noqa: PLC0415 - slow to load

        return pd.DataFrame()


def series_of(rows: "pd.DataFrame", record: Record, metrics: Metrics) -> Mapping[str, Sequence[float]]:
    """Each metric's medians over the valid runs of every session of the same case and context, oldest first."""
    context = record.context
    if rows.empty:
        return {}
    mine = rows[
        (rows["case"] == record.case.id)
        & (rows["network_digest"] == context.network_digest)
        & (rows["dataset_digest"] == context.dataset_digest)
        & (rows["steps"] == context.steps)
        & (rows["run_outcome"] == "finished")
        & (rows["invalid"].fillna("") == "")
    ]
    sessions = sorted((group for _, group in mine.groupby("session")), key=lambda group: group["began"].min())
    names = [name for name in metrics if name in mine]
    return {name: [median(values) for group in sessions if len(values := group[name].dropna())] for name in names}


def result(record: Record, outcome: CaseOutcome, *found: Reason) -> CaseResult:
    """The result of a case, for the given reasons."""
    return CaseResult(
        case=record.case,
        outcome=outcome,
        reasons=found,
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        cautions=(*judging.disturbances(record.runs), *judging.censored(record.runs)),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
    )
