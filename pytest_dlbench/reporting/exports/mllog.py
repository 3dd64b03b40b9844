"""MLPerf's log lines, ``:::MLLOG {...}``: the events of each run with their times.

Keys are those of the MLPerf logging package. Times are computed from the start of a run and the length of each phase.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pytest_dlbench.records import Record, Run, RunOutcome, codec
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.cautions import trouble
from pytest_dlbench.storing.recorded import Recorded

# The worker's operations before the timed region.
INITIALISING = ("hello", "build")
TIMED = ("train", "infer")


def write(recorded: Sequence[Recorded]) -> bytes:
    """The lines of all runs of all cases, one run after the other."""
    records = [record for case in recorded for record in (case.old, case.record) if record]
    return b"".join(line for record in records for run in record.runs for line in _lines(record, run))


def _lines(record: Record, run: Run) -> Iterator[bytes]:
    began = datetime.fromisoformat(run.began).timestamp()
    initialised = began + sum(run.usage[op].wall_seconds for op in INITIALISING if op in run.usage)
    timed = sum(run.usage[op].wall_seconds for op in TIMED if op in run.usage)
    evaluating = run.usage["evaluate"].wall_seconds if "evaluate" in run.usage else 0.0
    each = evaluating / max(1, len(run.curve))
    trained = initialised + timed + each * max(0, len(run.curve) - 1)
    status = "success" if run.outcome is RunOutcome.FINISHED else "aborted"
    for key, value in _settings(record, run):
        yield _line(began, "POINT_IN_TIME", key, value, {})
    yield _line(began, "INTERVAL_START", "init_start", None, {})
    yield _line(initialised, "INTERVAL_END", "init_stop", None, {})
    yield _line(initialised, "INTERVAL_START", "run_start", None, {})
    invalid = {"invalid": "; ".join(map(trouble, run.invalid))} if run.invalid else {}
    last = len(run.training.step_seconds) if run.training else record.context.steps
    ended = _line(trained, "INTERVAL_END", "run_stop", None, {"status": status, **invalid})
    for number, point in enumerate(run.curve, start=1):
        if point.step == last:
            yield ended
        evaluated = initialised + timed * point.step / max(1, last) + each * number
        yield _line(evaluated, "POINT_IN_TIME", "eval_accuracy", point.accuracy, {"step_num": point.step})
    if not run.curve or run.curve[-1].step != last:
        yield ended


def _settings(record: Record, run: Run) -> Iterator[tuple[str, Any]]:
    case, context, recipe = record.case, record.context, record.recipe
    yield "submission_benchmark", case.id
    yield "submission_platform", context.machine.name
    yield "submission_status", "research"
    if context.batch_size is not None:
        yield "global_batch_size", context.batch_size
    yield "seed", run.seed
    if run.training:
        yield "train_samples", run.training.examples
    if run.evaluation:
        yield "eval_samples", run.evaluation.examples
    if run.inference:
        yield "eval_samples", run.inference.examples
    optimizer = recipe.get("optimizer")
    # A recipe is stored as it was, whatever optimizers another version has.
    for key, field in (("opt_name", "kind"), ("opt_base_learning_rate", "learning_rate")):
        if isinstance(optimizer, Mapping) and field in optimizer:
            yield key, optimizer[field]


def _line(seconds: float, kind: str, key: str, value: Any, metadata: dict[str, Any]) -> bytes:
    event = {
        "namespace": "dlbench",
        "time_ms": round(1000 * seconds),
        "event_type": kind,
        "key": key,
        "value": value,
        "metadata": metadata,
    }
    return f":::MLLOG {foreign.in_json(codec.encode_line(event).decode())}".encode()
