"""What a session leaves for others: the files that were asked for, and what GitHub shows of it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dlbench.matrix import LeftOut
from pytest_dlbench.options import Options
from pytest_dlbench.records import CaseResult
from pytest_dlbench.reporting import annotations, markdown
from pytest_dlbench.reporting.annotations import Failure
from pytest_dlbench.reporting.exports import document
from pytest_dlbench.storing.files import write_whole
from pytest_dlbench.storing.recorded import Found, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session that has ended, as the process that owns the terminal knows it; ``root`` is pytest's."""

    root: Path
    options: Options
    journals: Sequence[Path]
    results: Sequence[CaseResult]
    left_out: Sequence[LeftOut]
    failures: Sequence[Failure]
    heading: str


def publish(ended: Ended, environment: Mapping[str, str]) -> list[str]:
    """Write what was asked for; gives the lines that say where it is."""
    lines = _files(ended) if ended.options.json else []
    if path := environment.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown.summary(ended.results, ended.left_out, ended.heading))
        lines.append(f"GitHub's summary: {path}")
    if environment.get("GITHUB_ACTIONS") == "true":
        workspace = Path(environment.get("GITHUB_WORKSPACE", ended.root))
        lines += _annotations(ended.failures, ended.root, workspace)
    return lines


def _files(ended: Ended) -> list[str]:
    found = _recorded(ended.journals)
    lines = [f"not in the files: {damage}" for damage in found.damages]
    if path := ended.options.json:
        write_whole(path, document.write(found.cases, ended.left_out))
        lines.append(f"json: {path}")
    return lines


def _recorded(journals: Iterable[Path]) -> Found:
    # Read back, not remembered: with pytest-xdist the runs were made in other processes.
    return read(path for path in journals if path.exists())


def _annotations(failures: Sequence[Failure], root: Path, workspace: Path) -> list[str]:
    """GitHub knows a file by its path in the checkout, pytest by its path under its own root."""
    return [
        annotations.annotation(replace(failure, path=os.path.relpath(root / failure.path, workspace)))
        for failure in failures
    ]
