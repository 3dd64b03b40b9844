"""From journals and documents to the cases of a report."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.reporting.charts.measured import Judged, Measured, named
from pytest_dlbench.storing import recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What the files hold: judged cases by session, and what could not be read."""

    cases: tuple[Measured, ...]
    sessions: tuple[str, ...]
    damages: tuple[str, ...] = ()


def gather(paths: Iterable[Path]) -> Gathered:
    """All judged cases of these journals, documents, and folders of them; each file is a session.

    Raises FileFormatError for a path that is not there, and for a folder without any.
    """
    files = [file for path in paths for file in recorded.files(path)]
    found = [(file.stem, recorded.read([file])) for file in files]
    judged = [
        Judged(session=session, result=case.result, runs=case.record.runs, context=case.record.context)
        for session, part in found
        for case in part.cases
    ]
    return Gathered(
        cases=named(judged),
        sessions=tuple(file.stem for file in files),
        damages=tuple(damage for _, part in found for damage in part.damages),
    )
