"""What a session writes: the requested files, and the summary and annotations that GitHub shows."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import Metrics
from pytest_dlbench.options import Options
from pytest_dlbench.records import CaseResult, SkippedCell
from pytest_dlbench.reporting import annotations, markdown
from pytest_dlbench.reporting.annotations import Failure
from pytest_dlbench.reporting.exports import document
from pytest_dlbench.reporting.exports.rows import remember
from pytest_dlbench.storing.files import unwritten, write_whole
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import Found, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A finished session, as the process with the terminal knows it; ``root`` is pytest's root directory.

    ``name`` is the session's in its journals.
    """

    root: Path
    options: Options
    journals: Sequence[Path]
    results: Sequence[CaseResult]
    skipped: Sequence[SkippedCell]
    failures: Sequence[Failure]
    heading: str
    metrics: Metrics
    name: str
    is_resumed: bool
    problems: Sequence[str] = ()
    """Journals that could not be written where they belong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Lines that list the written files, errors for those that could not be written, and commands for GitHub."""

    lines: tuple[str, ...]
    errors: tuple[str, ...]
    annotations: tuple[str, ...] = ()


def publish(ended: Ended, environment: Mapping[str, str]) -> Published:
    """Write the requested files, and GitHub's in its environment; one that fails does not stop the others."""
    lines: list[str] = []
    errors = list(ended.problems)
    kept = "" if ended.problems else "; the journal has all results"
    for name, write in WRITERS.items():
        try:
            lines += write(ended, environment)
        except (DlbenchError, OSError) as error:
            errors.append(f"{name} not written: {error}{kept}")
    commands: list[str] = []
    if environment.get("GITHUB_ACTIONS") == "true":
        workspace = Path(environment.get("GITHUB_WORKSPACE", ended.root))
        commands = _annotations(ended.failures, ended.root, workspace)
    return Published(lines=tuple(lines), errors=tuple(errors), annotations=tuple(commands))


def _document(ended: Ended, _: Mapping[str, str]) -> list[str]:
    if not (path := ended.options.json):
        return []
    found = _recorded(ended.journals)
    write_whole(path, document.write(found.cases, ended.skipped))
    return [*(f"not in it: {damage}" for damage in found.damages), f"json: {path}"]


def _history(ended: Ended, _: Mapping[str, str]) -> list[str]:
    if not (address := ended.options.history):
        return []
    cases = _recorded(ended.journals).cases
    written = remember(History(address=address), cases, ended.name, is_resumed=ended.is_resumed)
    return [f"history: {line}" for line in written]


def _report(ended: Ended, _: Mapping[str, str]) -> list[str]:
    if not (path := ended.options.html):
        return []
    # Late: Altair is slow to load, and only needed here.
    from pytest_dlbench.reporting.page import page  # noqa: PLC0415
    from pytest_dlbench.reporting.page.gathering import gather  # noqa: PLC0415

    history = History(address=ended.options.history) if ended.options.history else None
    page.write(path, gather((journal for journal in ended.journals if journal.exists()), history, ended.metrics))
    return [f"report: {path}"]


def _summary(ended: Ended, environment: Mapping[str, str]) -> list[str]:
    if not (path := environment.get("GITHUB_STEP_SUMMARY")):
        return []
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown.summary(ended.results, ended.skipped, ended.heading, ended.metrics))
    except OSError as error:
        raise unwritten(Path(path), error) from error
    return [f"GitHub's summary: {path}"]


WRITERS: Mapping[str, Callable[[Ended, Mapping[str, str]], list[str]]] = {
    "json": _document,
    "history": _history,
    "report": _report,
    "GitHub's summary": _summary,
}


def _recorded(journals: Iterable[Path]) -> Found:
    # Read from the journals: with pytest-xdist the runs were made in other processes.
    return read(path for path in journals if path.exists())


def _annotations(failures: Sequence[Failure], root: Path, workspace: Path) -> list[str]:
    """GitHub knows a file by its path in the checkout, pytest by its path under its own root."""
    return [
        annotations.annotation(replace(failure, path=os.path.relpath(root / failure.path, workspace)))
        for failure in failures
    ]
