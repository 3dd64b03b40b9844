"""Compares a case with its portable baseline, on what does not depend on the machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench import judging
from pytest_dlbench.judging import Metrics, portable, stored_baseline
from pytest_dlbench.records import PORTABLE, CaseOutcome, Record, Verdict
from pytest_dlbench.records.reasons import Portable, PortableUnused
from pytest_dlbench.storing import BaselineStore

# Where a suite has baselines of its own, next to its tests.
FOLDER = "baselines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a portable baseline says about a case: the ``reason``, and the verdicts unless it is not compared with.

    ``missing`` are metrics that it has and not every run does.
    """

    reason: Portable | PortableUnused
    verdicts: tuple[Verdict, ...] = ()
    missing: tuple[str, ...] = ()

    def outcome(self, otherwise: CaseOutcome) -> CaseOutcome:
        """The outcome of a case without a baseline of its machine class."""
        outcome = judging.of_verdicts(self.verdicts)
        return CaseOutcome.REGRESSED if outcome is CaseOutcome.REGRESSED else otherwise


def path_of(record: Record, folders: Iterable[Path]) -> Path | None:
    """The first file in ``portable/`` of these folders that has a baseline of the case; None if none has."""
    paths = (BaselineStore(folder=folder).path(record.case, PORTABLE) for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def compared(path: Path, record: Record, tolerances: Mapping[str, float], metrics: Metrics) -> Found:
    """A finished case compared with the portable baseline in this file; raises FileFormatError if it is damaged."""
    baseline = BaselineStore(folder=path.parents[1]).read(record.case, PORTABLE)
    assert baseline is not None
    newest = baseline.sessions[-1]
    if differences := judging.obstacles(baseline.context, portable.anywhere(record).context):
        return Found(reason=PortableUnused(path=str(path), saved=newest.saved, differences=differences))
    return Found(
        verdicts=portable.compare(baseline, record.runs, tolerances, metrics),
        missing=stored_baseline.missing(baseline, record.runs, tolerances, metrics),
        reason=Portable(
            path=str(path),
            saved=newest.saved,
            why=newest.reason,
            versions=judging.changes(newest.versions, portable.versions(record.runs[0].versions)),
            recipe=judging.changes(baseline.recipe, record.recipe),
        ),
    )
