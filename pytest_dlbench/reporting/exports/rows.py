"""Recorded cases as a flat table: one row per run, one column per metric."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from pytest_dlbench import judging
from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import MetricFacts, Record, Run, RunOutcome
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.cautions import trouble
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import Recorded
from pytest_dlbench.storing.tables import Cell

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Cell]

# The columns before the metrics, which hooks may add to.
COMMON = (
    *("began", "machine", "case", "framework", "model", "dataset", "device", "scale", "threads", "workers", "settings"),
    *("steps", "batch_size", "precision", "network_digest", "dataset_digest"),
    *("run", "seed", "run_outcome", "invalid", "case_outcome", "wall_seconds", "versions"),
    "recurrent_kernels",
)
# What must be equal for the figures of two sessions to be comparable.
CONDITIONS = ("network_digest", "dataset_digest", "steps", "batch_size", "precision")
SESSION = re.compile(r"[0-9a-f]{12}")
INTEGERS = frozenset({"threads", "workers", "steps", "batch_size", "run", "seed"})


def kinds(recorded: Sequence[Recorded] = ()) -> dict[str, str]:
    """All columns in order, with the names of Arrow types. Times are text in ISO 8601, which sorts chronologically.

    Metrics that hooks added to the session of a record come last.
    """
    records = [record for case in recorded for record in (case.old, case.record) if record]
    hooked = {name: "float64" for record in records for run in record.runs for name in run.hooked}
    common = {name: "int64" if name in INTEGERS else "string" for name in COMMON}
    return {**common, "wall_seconds": "float64", **dict.fromkeys(METRICS, "float64"), **hooked}


def rows(recorded: Sequence[Recorded]) -> list[Row]:
    """Every run of every case, in order, with all columns; metrics that a run lacks are None.

    For a case that ran in pairs, the rows of the baseline come before its own, without an outcome. ``began`` is in UTC.
    ``settings`` and ``versions`` are JSON, because their keys differ from case to case.
    """
    columns = list(kinds(recorded))
    return [{name: cells.get(name) for name in columns} for case in recorded for cells in _of_case(case)]


def _of_case(recorded: Recorded) -> Iterator[Row]:
    if recorded.old:
        yield from _of_record(recorded.old, "")
    yield from _of_record(recorded.record, recorded.result.outcome.value)


def _of_record(record: Record, outcome: str) -> Iterator[Row]:
    case, context = record.case, record.context
    shared: Row = {
        "machine": context.machine.name,
        "case": case.id,
        "framework": case.framework,
        "model": case.model,
        "dataset": case.dataset,
        "device": case.device,
        "scale": case.scale,
        "threads": case.threads,
        "workers": case.workers,
        "settings": json.dumps(dict(case.settings), sort_keys=True),
        "steps": context.steps,
        "batch_size": context.batch_size,
        "precision": context.precision,
        "network_digest": context.network_digest,
        "dataset_digest": context.dataset_digest,
        "case_outcome": outcome,
    }
    for run in record.runs:
        yield {**shared, **_of_run(run)}


def _of_run(run: Run) -> Row:
    return {
        "began": run.began,
        "run": run.index + 1,
        "seed": run.seed,
        "run_outcome": run.outcome.value,
        "invalid": "; ".join(map(trouble, run.invalid)),
        "wall_seconds": run.wall_seconds,
        "versions": json.dumps(dict(run.versions), sort_keys=True),
        "recurrent_kernels": figures.kernels(run.recurrent_kernels or {}) or None,
        **judging.summarise([run]),
    }


def remember(
    history: History, recorded: Sequence[Recorded], session: str = "", *, is_resumed: bool = False
) -> list[str]:
    """Add one session to a history, once; returns the addresses of its files, one per machine class."""
    machines = dict.fromkeys(case.record.context.machine.name for case in recorded)
    on = {machine: [case for case in recorded if case.record.context.machine.name == machine] for machine in machines}
    return [
        history.append(
            rows(cases),
            kinds(cases),
            machine=machine,
            metrics=_facts(cases),
            name=session,
            is_resumed=is_resumed,
        )
        for machine, cases in on.items()
    ]


def session_name(given: str, recorded: Sequence[Recorded]) -> str:
    """The name in a history of a session that its journals call ``given``; if they do not, the same for the same runs.

    It is part of the names of files, so another one than pytest sessions have is not taken.
    """
    if SESSION.fullmatch(given):
        return given
    records = [record for case in recorded for record in (case.old, case.record) if record]
    runs = sorted((run.case, run.began, run.index) for record in records for run in record.runs)
    return hashlib.sha256(json.dumps(runs).encode()).hexdigest()[:12]


def sound(table: "pd.DataFrame") -> "pd.Series[Any]":
    """Which rows of a history are finished, valid runs."""
    return (table["run_outcome"] == RunOutcome.FINISHED.value) & (table["invalid"].fillna("") == "")


def conditions(row: Mapping[Any, Any]) -> dict[str, str | int | None]:
    """The conditions of a row of a history, as its case had them."""
    return {name: _condition(name, row.get(name)) for name in CONDITIONS}


def _condition(name: str, value: Any) -> str | int | None:
    # pandas makes NaN of a missing value, and then floats of the other integers.
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    return int(value) if name in INTEGERS else str(value)


def _facts(recorded: Sequence[Recorded]) -> Sequence[MetricFacts]:
    return list({facts.name: facts for case in recorded for facts in case.record.metrics}.values())
