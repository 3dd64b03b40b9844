"""Journals of sessions that never ran."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_dlbench.records import CaseResult, Run
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records


def write(folder: Path, name: str, runs: Sequence[Run] = (), context: Any = None, **result: Any) -> Path:
    """The journal of one judged case."""
    journal = Journal(folder, name)
    add(journal, runs, context, **result)
    return journal.path


def add(journal: Journal, runs: Sequence[Run] = (), context: Any = None, **result: Any) -> CaseResult:
    """One more judged case."""
    judged = records.case_result(**result)
    for run in runs or records.runs():
        journal.append(Entry(run=replace(run, case=judged.case.id), context=context or records.context()))
    journal.append(Entry(result=judged, recipe=records.RECIPE))
    return judged
