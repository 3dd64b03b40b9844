"""What a session leaves for others: the files that were asked for, and what GitHub shows of it."""

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
from pytest_dlbench.storing.files import write_whole
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import Found, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session that has ended, as the process that owns the terminal knows it; ``root`` is pytest's."""

    root: Path
    options: Options
    journals: Sequence[Path]
    results: Sequence[CaseResult]
    left_out: Sequence[SkippedCell]
    failures: Sequence[Failure]
    heading: str
    metrics: Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Lines that say where everything is, and what could not be written although it was asked for."""

    lines: tuple[str, ...]
    errors: tuple[str, ...]


def publish(ended: Ended, environment: Mapping[str, str]) -> Published:
    """Write what was asked for, and what the surroundings want; what fails keeps nothing else from being written."""
    lines: list[str] = []
    errors: list[str] = []
    for name, write in WRITERS.items():
        try:
            lines += write(ended, environment)
        except (DlbenchError, OSError) as error:
            errors.append(f"{name} not written: {error}; the journal has it all")
    if environment.get("GITHUB_ACTIONS") == "true":
        workspace = Path(environment.get("GITHUB_WORKSPACE", ended.root))
        lines += _annotations(ended.failures, ended.root, workspace)
    return Published(lines=tuple(lines), errors=tuple(errors))


def _document(ended: Ended, _: Mapping[str, str]) -> list[str]:
    if not (path := ended.options.json):
        return []
    found = _recorded(ended.journals)
    write_whole(path, document.write(found.cases, ended.left_out))
    return [*(f"not in it: {damage}" for damage in found.damages), f"json: {path}"]


def _history(ended: Ended, _: Mapping[str, str]) -> list[str]:
    if not (address := ended.options.history):
        return []
    cases = _recorded(ended.journals).cases
    return [f"history: {line}" for line in remember(History(address=address), cases)]


def _report(ended: Ended, _: Mapping[str, str]) -> list[str]:
    if not (path := ended.options.html):
        return []
    # Late: Altair is slow to load, and needed for this alone.
    from pytest_dlbench.reporting.page import page  # noqa: PLC0415
    from pytest_dlbench.reporting.page.gathering import gather  # noqa: PLC0415

    history = History(address=ended.options.history) if ended.options.history else None
    page.write(path, gather((journal for journal in ended.journals if journal.exists()), history, ended.metrics))
    return [f"report: {path}"]


def _summary(ended: Ended, environment: Mapping[str, str]) -> list[str]:
    if not (path := environment.get("GITHUB_STEP_SUMMARY")):
        return []
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(markdown.summary(ended.results, ended.left_out, ended.heading, ended.metrics))
    return [f"GitHub's summary: {path}"]


WRITERS: Mapping[str, Callable[[Ended, Mapping[str, str]], list[str]]] = {
    "json": _document,
    "history": _history,
    "report": _report,
    "GitHub's summary": _summary,
}


def _recorded(journals: Iterable[Path]) -> Found:
    # Read back, not remembered: with pytest-xdist the runs were made in other processes.
    return read(path for path in journals if path.exists())


def _annotations(failures: Sequence[Failure], root: Path, workspace: Path) -> list[str]:
    """GitHub knows a file by its path in the checkout, pytest by its path under its own root."""
    return [
        annotations.annotation(replace(failure, path=os.path.relpath(root / failure.path, workspace)))
        for failure in failures
    ]
