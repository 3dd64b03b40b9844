"""A record against the stored baseline of its case, and into it."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from pytest_dlbench import judging
from pytest_dlbench.environments import Framework
from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.judging import stored_baseline
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.records import Baseline, Case, CaseOutcome, CaseResult, Context, Record
from pytest_dlbench.reporting import explain, figures
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.baselines import session_name
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.repository import commit_of

if TYPE_CHECKING:
    import pandas as pd

# What says which cells, or stands for one side only: pairs name all of it themselves.
OF_ONE_SIDE = ("--dlbench-frameworks", "--dlbench-ab", "--dlbench-runs", "--dlbench-baselines", "--dlbench-build")


@dataclass(slots=True, kw_only=True)
class Comparer:
    """Compares the cases of one session with their baselines.

    ``reason`` is kept with what it saves; ``repeat_flags`` are what a command that repeats a case needs.
    """

    baselines: BaselineStore
    reason: str = ""
    repeat_flags: tuple[str, ...] = ()
    history: str = ""
    _rows: "pd.DataFrame | None" = field(default=None)

    def compare(self, record: Record, framework: Framework, node: str, tolerance: Mapping[str, float]) -> CaseResult:
        """The case as its baseline has it judged; ``node`` is the test's id, for the commands in messages."""
        again = shlex.join(["pytest", node, *self.repeat_flags])
        try:
            baseline = self.baselines.read(record.case, record.context.machine)
            if baseline is None:
                return self._without_baseline(record, again)
            return self._against(baseline, record, framework, node, tolerance)
        except FileFormatError as error:
            return result(record, CaseOutcome.INCOMPARABLE, f"the baseline is damaged: {error}")

    def narrow(
        self,
        case: Case,
        context: Context,
        tolerances: Mapping[str, float],
        calibrated: Mapping[str, float],
        runs: int,
    ) -> Mapping[str, float]:
        """The least tolerance that the case's baseline can tell, of each metric whose own is below it.

        Nothing where there is none to compare with, or a damaged one: ``compare`` will say so.
        """
        baseline = usable(self.baselines, case, context)
        try:
            return stored_baseline.narrow(baseline, tolerances, calibrated, runs) if baseline else {}
        except FileFormatError:
            return {}

    def stored_runs(self, case: Case, context: Context) -> int:
        """How many runs the case can be held against, none of which diverged; 0 without a baseline."""
        baseline = usable(self.baselines, case, context)
        return len(stored_baseline.seeds(baseline)) if baseline else 0

    def save(self, record: Record, compared: CaseResult) -> CaseResult:
        """The record as a further session of its baseline. Saving accepts what was found, and fails nothing."""
        before = usable(self.baselines, record.case, record.context)
        path = self.baselines.write(accepted(before, record, self.baselines, self.reason, compared))
        sessions = f"session {len(before.sessions) + 1}" if before else "the first session"
        message = f"saved as {sessions} of the baseline {path} ({self.reason})\n{compared.message}"
        return replace(compared, outcome=CaseOutcome.PASSED, message=message, saved=True)

    def _without_baseline(self, record: Record, again: str) -> CaseResult:
        machine = record.context.machine
        others = self.baselines.others(record.case, machine)
        outcome = CaseOutcome.INCOMPARABLE if others else CaseOutcome.NO_BASELINE
        return result(record, outcome, explain.no_baseline(machine.name, others, again))

    def _against(
        self, baseline: Baseline, record: Record, framework: Framework, node: str, tolerance: Mapping[str, float]
    ) -> CaseResult:
        again = shlex.join(["pytest", node, *self.repeat_flags])
        if obstacles := judging.obstacles(baseline.context, record.context):
            return result(record, CaseOutcome.INCOMPARABLE, explain.incomparable(baseline, obstacles, again))
        if len(record.runs) < FEWEST_RUNS:
            return result(record, CaseOutcome.INCONCLUSIVE, explain.too_few(len(record.runs), FEWEST_RUNS))
        judged = stored_baseline.compare(baseline, record.runs, tolerance, self._series(record))
        pairs = self._pairs(baseline, record, framework, node, tolerance)
        commands = explain.Commands(again=again, pairs=pairs, anchor=self._anchor(record))
        found = result(record, judged.outcome, explain.compared(baseline, record, judged, commands))
        return replace(
            found,
            verdicts=judged.verdicts,
            since_anchor=judged.since_anchor,
            drifting=judged.drifting,
            settled_by=pairs if judged.outcome is CaseOutcome.SUSPECT else "",
        )

    def _pairs(
        self, baseline: Baseline, record: Record, framework: Framework, node: str, tolerances: Mapping[str, float]
    ) -> str:
        """The command that runs this case in pairs: the version of the baseline, and the one of now."""
        name, case = framework.name.partition("==")[0].partition("@")[0], record.case
        then, now = (
            versions.get(framework.package, "").partition("+")[0]
            for versions in (baseline.sessions[-1].versions, record.runs[0].versions)
        )
        is_released = then and now and then != now and framework.environments
        sides = f"{name}=={then},{name}=={now}" if is_released else "old.txt,new.txt"
        cells = {"models": case.model, "datasets": case.dataset, "devices": case.device}
        given = [flag for flag in self.repeat_flags if not flag.startswith(OF_ONE_SIDE)]
        narrowed = [f"--dlbench-{axis}={value}" for axis, value in cells.items()]
        # Requirements files may pin further frameworks.
        narrowed += [] if is_released else [f"--dlbench-frameworks={name}"]
        narrowed += [
            f"--dlbench-tolerance={metric}:{figures.amount(metric, tolerance)}"
            for metric, tolerance in tolerances.items()
            if tolerance != judging.METRICS[metric].tolerance
        ]
        return shlex.join(
            ["pytest", node.partition("[")[0], *narrowed, *given, "--dlbench-build", f"--dlbench-ab={sides}"]
        )

    def _anchor(self, record: Record) -> str:
        """The command that makes the newest session the anchor."""
        folder = os.path.relpath(self.baselines.folder)
        elsewhere = [] if folder == "baselines" else ["--baselines", folder]
        return shlex.join(["dlbench", "baseline", "anchor", record.case.id, "--last", *elsewhere])

    def _series(self, record: Record) -> Mapping[str, Sequence[float]]:
        """Medians of the sessions that --dlbench-history has of this case, oldest first; nothing without it."""
        if not self.history:
            return {}
        if self._rows is None:
            self._rows = _remembered(self.history, record.context.machine.name)
        return series_of(self._rows, record)


def usable(baselines: BaselineStore, case: Case, context: Context) -> Baseline | None:
    """The baseline that runs can be added to; None where there is none, or one that is damaged or of other data."""
    try:
        found = baselines.read(case, context.machine)
    except FileFormatError:
        return None
    return None if found is None or judging.obstacles(found.context, context) else found


def accepted(
    before: Baseline | None, record: Record, baselines: BaselineStore, reason: str, compared: CaseResult | None = None
) -> Baseline:
    """The baseline with the record as its newest session; metrics that had changed begin a new level."""
    saved = datetime.now(UTC).isoformat(timespec="seconds")
    session = stored_baseline.session_of(
        record,
        name=session_name(saved, before),
        saved=saved,
        reason=reason,
        commit=commit_of(baselines.folder if baselines.folder.is_dir() else baselines.folder.parent),
    )
    changed = stored_baseline.changed(compared.verdicts) if compared and before else ()
    return stored_baseline.appended(before, record, replace(session, accepted=changed))


def _remembered(address: str, machine: str) -> "pd.DataFrame":
    """All runs of a machine class in a history; none of one that is not there, or not in reach."""
    columns = ["case", "began", "network_digest", "dataset_digest", "steps", "run_outcome", "invalid"]
    try:
        return History(address=address).read(machine=machine, columns=[*columns, *judging.METRICS]).rows
    except (DlbenchError, OSError):
        # The end of the session will tell, when it cannot be written either.
        import pandas as pd  # noqa: PLC0415 - slow to load

        return pd.DataFrame()


def series_of(rows: "pd.DataFrame", record: Record) -> Mapping[str, Sequence[float]]:
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
    names = [name for name in judging.METRICS if name in mine]
    return {name: [median(values) for group in sessions if len(values := group[name].dropna())] for name in names}


def result(record: Record, outcome: CaseOutcome, message: str) -> CaseResult:
    """A case as it is reported."""
    return CaseResult(
        case=record.case,
        outcome=outcome,
        message=message,
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        warnings=(*judging.disturbances(record.runs), *judging.censored(record.runs)),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
    )
