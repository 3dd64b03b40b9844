"""Compares a record with the stored baseline of its case, and saves it there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_dlbench import judging
from pytest_dlbench.environments import Framework
from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.judging import Metrics, counts, kernels, portable, stored_baseline
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.reasons import unlikely
from pytest_dlbench.records import Baseline, Case, CaseOutcome, CaseResult, Context, Record
from pytest_dlbench.records.reasons import (
    DamagedBaseline,
    Incomparable,
    Missing,
    NoBaseline,
    NotStored,
    Reason,
    Repeat,
    Saved,
    TooFew,
)
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.baselines import session_name
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.repository import commit_of
from pytest_dlbench.workflows import portable as portable_gate
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
    suite: Path | None = None
    """The folder of the test that runs, which may have portable baselines of its own."""
    _rows: "pd.DataFrame | None" = field(default=None)

    def compare(self, record: Record, framework: Framework, node: str, tolerance: Mapping[str, float]) -> CaseResult:
        """The case judged against its baseline; ``node`` is the test's id, for the suggested commands."""
        again = Repeat(node=node, flags=self.repeat_flags)
        try:
            baseline = self._before(self.baselines.read(record.case, record.context.machine), record)
            if baseline is None:
                return self._without_baseline(record, again, tolerance)
            return self._against(baseline, record, framework, again, tolerance)
        except FileFormatError as error:
            path = self.baselines.path(record.case, record.context.machine)
            return result(record, CaseOutcome.DAMAGED_BASELINE, _damaged(path, error))

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

    def _without_baseline(self, record: Record, again: Repeat, tolerance: Mapping[str, float]) -> CaseResult:
        """The case without a baseline of its machine class, compared with a portable one if there is any."""
        machine = record.context.machine
        others = self.baselines.others(record.case, machine)
        outcome = CaseOutcome.INCOMPARABLE if others else CaseOutcome.NO_BASELINE
        alone = result(record, outcome, NoBaseline(machine=machine.name, others=others, again=again))
        return self.with_portable(alone, record, tolerance)

    def with_portable(self, found: CaseResult, record: Record, tolerance: Mapping[str, float]) -> CaseResult:
        """The result of a case whose runs finished, with what a portable baseline says about them.

        As it was if there is none, or the case has a baseline of its machine class. A regression overrides its outcome.
        """
        suite = [self.suite / portable_gate.FOLDER] if self.suite else []
        path = portable_gate.path_of(record, [self.baselines.folder, *suite])
        if path is None or self.baselines.path(record.case, record.context.machine).is_file():
            return found
        try:
            compared = portable_gate.compared(path, record, tolerance, self.metrics)
        except FileFormatError as error:
            return result(record, CaseOutcome.DAMAGED_BASELINE, _damaged(path, error))
        outcome = compared.outcome(found.outcome)
        reasons = (compared.reason, *found.reasons)
        judged = replace(found, outcome=outcome, verdicts=compared.verdicts, reasons=reasons)
        return _with_missing(judged, compared.missing)

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
            baseline, record.runs, tolerance, self.metrics, self._series(record, baseline), cases=self.cases
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
        found = _with_missing(found, stored_baseline.missing(baseline, record.runs, tolerance, self.metrics))
        if unstored := stored_baseline.unstored(baseline, record.runs, tolerance, self.metrics):
            found = undecided(found, NotStored(metrics=unstored))
        then, now = counts.of_session(baseline.sessions[-1], self.metrics), counts.of_runs(record.runs, self.metrics)
        found = counts.with_changes(found, counts.changes(then, now))
        stored = baseline.sessions[-1].recurrent_kernels
        return kernels.with_change(found, kernels.change(stored, kernels.of_runs(record.runs)))

    def _series(self, record: Record, baseline: Baseline) -> Mapping[str, Sequence[float]]:
        """Medians of this case's sessions in --dlbench-history, oldest first; empty without a history.

        A metric whose change was accepted has those since then: earlier ones are of another level.
        """
        if not self.history:
            return {}
        if self._rows is None:
            self._rows = _history(self.history, record.context.machine.name, self.metrics)
        since = {name: stored_baseline.accepted_at(baseline, name) for name in self.metrics}
        return series_of(self._rows, record, since)


def usable(baselines: BaselineStore, case: Case, context: Context) -> Baseline | None:
    """The baseline that runs can be compared with; None if it is missing, damaged or not comparable."""
    try:
        found = baselines.read(case, context.machine)
    except FileFormatError:
        return None
    return None if found is None or judging.obstacles(found.context, context) else found


def _with_missing(found: CaseResult, missing: tuple[str, ...]) -> CaseResult:
    """The result of a case that lost these metrics: at best, it is inconclusive."""
    return undecided(found, Missing(metrics=missing)) if missing else found


def undecided(found: CaseResult, because: Reason) -> CaseResult:
    """The result of a case of which something cannot be judged: at best, it is inconclusive."""
    return replace(found, outcome=judging.at_best_inconclusive(found.outcome), reasons=(*found.reasons, because))


def _damaged(path: Path, error: FileFormatError) -> DamagedBaseline:
    return DamagedBaseline(path=str(path), problem=str(error).removeprefix(str(path)).lstrip(":, "))


def add(
    baselines: BaselineStore,
    record: Record,
    reason: str,
    compared: CaseResult | None,
    *,
    metrics: Metrics,
    before: Callable[[Baseline | None, Record], Baseline | None] = lambda baseline, _: baseline,
    narrowed: Callable[[Baseline | None, Baseline], Baseline] = lambda _, baseline: baseline,
) -> Saved:
    """Add a session to the baseline of its case; one of other conditions is replaced.

    ``before`` gives the baseline to which the session is added, from the one that is stored, and ``narrowed`` what is
    stored of the new one. No other process saves the case meanwhile. Raises FileFormatError for a damaged baseline, and
    StorageError.
    """
    found: Baseline | None = None
    kept: Baseline | None = None

    def added(read: Baseline | None) -> Baseline:
        nonlocal found, kept
        found = before(read, record)
        kept = None if found is None or judging.obstacles(found.context, record.context) else found
        return narrowed(kept, accepted(kept, record, baselines, reason, compared, metrics=metrics))

    path = baselines.update(record.case, record.context.machine, added)
    replaced = len(found.sessions) if found and not kept else 0
    return Saved(path=str(path), session=len(kept.sessions) + 1 if kept else 1, why=reason, replaced=replaced)


def add_portable(baselines: BaselineStore, record: Record, reason: str, *, metrics: Metrics) -> Saved:
    """Add what does not depend on the machine to the portable baseline of a case; it raises the same errors."""
    tolerances = judging.parse_tolerances([], "", metrics)

    def narrowed(before: Baseline | None, now: Baseline) -> Baseline:
        verdicts = portable.compare(before, record.runs, tolerances, metrics) if before else ()
        changed = stored_baseline.changed(verdicts)
        newest = replace(portable.kept(now.sessions[-1], metrics), accepted=changed)
        return replace(now, sessions=(*now.sessions[:-1], newest))

    return add(baselines, portable.anywhere(record), reason, None, metrics=metrics, narrowed=narrowed)


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
    changed = (*stored_baseline.changed(compared.verdicts), *compared.drifting) if compared and before else ()
    session = replace(session, accepted=tuple(dict.fromkeys(changed)))
    return stored_baseline.appended(before, record, session)


def _history(address: str, machine: str, metrics: Metrics) -> "pd.DataFrame":
    """All runs of a machine class in a history; none if the history does not exist or cannot be reached."""
    conditions = ["network_digest", "dataset_digest", "steps", "batch_size", "precision"]
    columns = ["case", "began", *conditions, "run_outcome", "invalid"]
    try:
        return History(address=address).read(machine=machine, columns=[*columns, *metrics]).rows
    except (DlbenchError, OSError):
        # The end of the session will report it, because the history cannot be written either.
        import pandas as pd  # noqa: PLC0415 - slow to load

        return pd.DataFrame()


def series_of(rows: "pd.DataFrame", record: Record, since: Mapping[str, str]) -> Mapping[str, Sequence[float]]:
    """Medians over the valid runs of every session of the same case and context, oldest first, by metric.

    ``since`` has the metrics, each with the time after which a session must have begun, in ISO 8601; empty for all.
    """
    context = record.context
    if rows.empty:
        return {}
    mine = rows[
        (rows["case"] == record.case.id)
        & (rows["network_digest"] == context.network_digest)
        & (rows["dataset_digest"] == context.dataset_digest)
        & (rows["steps"] == context.steps)
        & _is(rows["batch_size"], context.batch_size)
        & (rows["precision"] == context.precision)
        & (rows["run_outcome"] == "finished")
        & (rows["invalid"].fillna("") == "")
    ]
    groups = [(datetime.fromisoformat(group["began"].min()), group) for _, group in mine.groupby("session")]
    groups.sort(key=itemgetter(0))
    return {
        name: [
            median(values)
            for began, group in groups
            if (not after or began > datetime.fromisoformat(after)) and len(values := group[name].dropna())
        ]
        for name, after in since.items()
        if name in mine
    }


def _is(column: "pd.Series[Any]", value: int | None) -> "pd.Series[bool]":
    """Where a column has a number; programs have no batch size, which is missing there."""
    return column.isna() if value is None else column == value


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
        recurrent_kernels=kernels.of_runs(record.runs),
    )
