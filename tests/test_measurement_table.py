"""docs/reference/ names every recorded field and metric, none that does not exist, and the thresholds that hold."""

import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_dlbench import records
from pytest_dlbench.judging import METRICS

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGE, RULES = ((REFERENCE / name).read_text() for name in ("measurements.md", "validity.md"))
RECORDS = (
    "Training",
    "WarmUp",
    "Evaluation",
    "Validation",
    "Checkpoint",
    "Reported",
    "CurvePoint",
    "StepCheck",
    "UpdateCheck",
    "Length",
    "MachineSpeed",
    "StepWork",
    "Timeline",
    "Contention",
    "Alternation",
    "Loading",
    "Usage",
    "GpuUsage",
    "WorkerShare",
    "Exchange",
    "Breakdown",
    "LayerSeconds",
    "Operation",
    "OperatorPass",
    "CallCheck",
    "Search",
    "SearchPoint",
    "Trial",
)
# What a run is, and what holds the figures of other rows.
NO_FIGURES = {
    *("case", "index", "seed", "outcome", "began", "message", "problem", "log", "versions", "parameters"),
    *("training", "evaluation", "reported", "usage", "timeline", "step_checks", "update_check"),
    *("speed", "work", "warm_up", "contention"),
}


def rows(columns):
    """The code in the first cells of tables with this many columns."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:1] == "|"]
    return [cells for cells in lines if len(cells) == columns and cells[0].startswith("`")]


def recorded():
    for name in RECORDS:
        yield from (f"{name}.{field.name}" for field in fields(getattr(records, name)))
    yield from (f"Run.{field.name}" for field in fields(records.Run) if field.name not in NO_FIGURES)


def test_every_recorded_field_has_one_row_and_every_row_a_field():
    named = [cells[0].strip("`") for cells in rows(5)]
    assert sorted(named) == sorted(recorded())


def test_every_row_has_its_meaning_unit_source_and_error():
    assert all(all(cells) for cells in rows(5))


def test_every_metric_has_a_row():
    assert sorted(cells[0].strip("`") for cells in rows(2)) == sorted(METRICS)


@pytest.mark.parametrize(
    ("text", "module", "name"),
    [
        ("more than 0.5 CPUs", "invalid", "FOREIGN_CPUS"),
        ("above 25 % of the cores", "invalid", "STOLEN_SHARE"),
        ("more than 10 % of the samples", "invalid", "THROTTLED"),
        ("Foreign load above 0.2 CPUs", "disturbances", "FOREIGN_CPUS"),
        ("above 105 %", "sanity", "MOST_OF_PEAK"),
        ("others used more than 0.5 CPUs", "contention", "FOREIGN_CPUS"),
        ("at least 1 s long", "contention", "STRETCH_SECONDS"),
        ("less than 10 % of its processors", "contention", "IDLE_SHARE"),
        ("more than 100 page faults", "disturbances", "STEP_FAULTS"),
        ("more than 20 % of processor time", "disturbances", "KERNEL_SHARE"),
        ("less than 1.2", "sanity", "LEAST_RATIO"),
        ("more than 5 times", "sanity", "MOST_RATIO"),
        ("more than 0.01 below the bound", "sanity", "BELOW_BOUND"),
        ("more than 5 % of them", "sanity", "REPEATED_SHARE"),
        ("losses below 0.001", "sanity", "LEARNT"),
    ],
)
def test_a_rule_is_stated_with_the_threshold_that_it_has(text, module, name):
    value = getattr(importlib.import_module(f"pytest_dlbench.judging.{module}"), name)
    stated = float(re.search(r"[\d.]+", text)[0].rstrip("."))
    assert text in " ".join(RULES.split())
    assert stated in (pytest.approx(value), pytest.approx(100 * value))
