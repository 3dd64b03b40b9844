"""Reads the cases of a report from journals, documents and a history."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import METRICS, Metrics, stored, summarise
from pytest_dlbench.judging.equivalence import covers, of_framework, subject
from pytest_dlbench.records import CaseOutcome, CaseResult, Certificate, codec
from pytest_dlbench.reporting.charts.history import Past
from pytest_dlbench.reporting.charts.measured import Judged, Measured, named
from pytest_dlbench.reporting.exports.rows import CONDITIONS, conditions, sound
from pytest_dlbench.storing import recorded
from pytest_dlbench.storing.history import History, Remembered
from pytest_dlbench.storing.recorded import Recorded

SESSION = ("session", "case", "machine", *CONDITIONS)
OF_A_RUN = ("began", "run_outcome", "invalid", "versions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The contents of the files: judged cases by session, their past sessions from a history, and damaged lines.

    ``metrics`` are all known ones.
    """

    cases: tuple[Measured, ...]
    sessions: tuple[str, ...]
    past: tuple[Past, ...] = ()
    damages: tuple[str, ...] = ()
    metrics: Metrics = field(default_factory=lambda: METRICS)


def gather(paths: Iterable[Path], history: History | None = None, metrics: Metrics = METRICS) -> Gathered:
    """All judged cases of these journals, documents, and folders of them; each file is a session.

    Raises FileFormatError for a missing path and for a folder without journals or documents. A history that cannot be
    read is listed among the damages.
    """
    files = [file for path in paths for file in recorded.files(path)]
    found = [(recorded.session_of(file), recorded.read([file])) for file in files]
    judged = _certified([side for session, part in found for case in part.cases for side in _sides(session, case)])
    metrics = stored((case.record for _, part in found for case in part.cases), metrics)
    names = [case.result.case.id for case in judged]
    past, damages = _remembered(history, names, metrics) if history else ((), ())
    return Gathered(
        cases=named(judged),
        sessions=tuple(recorded.session_of(file) for file in files),
        past=past,
        damages=(*(damage for _, part in found for damage in part.damages), *damages),
        metrics=metrics,
    )


def _certified(cases: Sequence[Judged]) -> Sequence[Judged]:
    """The cases, with the certificates that other sessions have for what they trained."""
    own = [_evidence(case) for case in cases]
    known = {_subject(case): found for case, found in zip(cases, own, strict=True) if found}

    def certified(case: Judged, found: Certificate | None) -> Judged:
        trained = any(run.training for run in case.runs)
        certificate = (found or known.get(_subject(case))) if trained else None
        return replace(case, result=replace(case.result, certificate=certificate))

    return [certified(case, found) for case, found in zip(cases, own, strict=True)]


def _evidence(case: Judged) -> Certificate | None:
    """A case's own certificate, if it covers how the case was trained.

    In older files it may not, and does not say on which machine and data it was measured: those of its session.
    """
    found, context = case.result.certificate, case.context
    if found is None:
        return None
    machine, data = found.machine or context.machine.name, found.dataset_digest or context.dataset_digest
    return found if covers(replace(found, machine=machine, dataset_digest=data), context) else None


def _subject(case: Judged) -> Hashable:
    # A run that did not start has no versions.
    versions = next((run.versions for run in case.runs if run.versions), {})
    return subject(case.result.case, case.context, versions)


def _sides(session: str, case: Recorded) -> Iterator[Judged]:
    """A case; if it ran in pairs, after its baseline side, which has figures and no verdict of its own."""
    if case.old:
        result = CaseResult(
            case=case.old.case,
            outcome=CaseOutcome.NO_BASELINE,
            runs=len(case.old.runs),
            figures=summarise(case.old.runs),
            certificate=case.old.certificate,
            steps=case.result.steps,
            recipe_steps=case.result.recipe_steps,
            pairing=case.result.pairing,
        )
        yield Judged(session=session, result=result, runs=case.old.runs, context=case.old.context, is_baseline=True)
    yield Judged(session=session, result=case.result, runs=case.record.runs, context=case.record.context)


def _remembered(history: History, cases: Sequence[str], metrics: Metrics) -> tuple[tuple[Past, ...], tuple[str, ...]]:
    try:
        remembered = history.read(columns=(*SESSION, *OF_A_RUN, *metrics))
    except DlbenchError as error:
        # The session itself can still be shown.
        return (), (str(error),)
    except OSError as error:
        return (), (f"the history at {history.address} cannot be read: {error}",)
    return tuple(_past(remembered, cases, metrics)), remembered.damages


def _past(remembered: Remembered, cases: Sequence[str], metrics: Metrics) -> Iterator[Past]:
    """The past sessions of these cases, from their finished, valid runs."""
    rows = remembered.rows
    if rows.empty:
        return
    # Programs, operators and searches have no batch size.
    for _, group in rows[rows["case"].isin(cases) & sound(rows)].groupby(list(SESSION), dropna=False):
        first = group.iloc[0]
        known = {name: group[name] for name in metrics if name in group}
        yield Past(
            case=first["case"],
            machine=first["machine"],
            began=group["began"].min(),
            runs=len(group),
            figures={name: float(values.median()) for name, values in known.items() if values.notna().all()},
            versions=of_framework(
                codec.decode(first["versions"].encode(), dict[str, str], f"session {first['session']}")
            ),
            conditions=tuple(conditions(first.to_dict()).values()),
        )
