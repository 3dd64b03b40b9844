"""What the types of a stored record do not cover: figures that no run can have, and parts that do not fit together.

Everything that reads figures relies on this, so that no reader divides by a number of steps that is 0.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import inf, isfinite

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import (
    Breakdown,
    CaseResult,
    Checkpoint,
    Context,
    Inference,
    MetricFacts,
    Operation,
    Record,
    Run,
    Timeline,
    Training,
    Validation,
)

Problem = tuple[str, str]
"""The path of a field within its record, and what is wrong there."""


def check(where: str, path: str, problems: Iterator[Problem]) -> None:
    """Raise FileFormatError for the first problem of a record at this path of a document."""
    for field, problem in problems:
        raise FileFormatError(f"{where}: {problem} @ {path}.{field}")


def of_record(record: Record) -> Iterator[Problem]:
    """The problems of a case with its runs."""
    yield from within("context", of_context(record.context))
    if not record.runs:
        yield "runs", "there is no run"
    for place, run in enumerate(record.runs):
        yield from within(f"runs[{place}]", of_run(run))
    yield from of_metrics(record.metrics)


def of_context(context: Context) -> Iterator[Problem]:
    """The problems of the conditions of a run."""
    if context.batch_size is not None:
        yield from _positive("batch_size", context.batch_size)
    if context.steps < 0:
        # A case that cannot be trained has no steps.
        yield "steps", f"must not be negative, got {context.steps}"


def of_metrics(metrics: Sequence[MetricFacts]) -> Iterator[Problem]:
    """The problems of the facts of metrics."""
    for place, facts in enumerate(metrics):
        at = f"metrics[{place}]"
        if facts.tolerance is not None and not 0 < facts.tolerance < 1e6:
            yield f"{at}.tolerance", f"a tolerance must be above 0 and finite, got {facts.tolerance}"
        if not 0 <= facts.least_change < inf:
            yield f"{at}.least_change", f"a change must not be negative, got {facts.least_change}"
        for name in ("run_sd", "session_sd", "smallest_spread"):
            if not 0 <= (getattr(facts, name) or 0.0) < 1e6:
                yield f"{at}.{name}", f"a spread must not be negative, got {getattr(facts, name)}"


def of_result(result: CaseResult) -> Iterator[Problem]:
    """The problems of the result of a case."""
    kinds = {str(type(reason).__struct_config__.tag) for reason in result.reasons}
    if "paired" in kinds and result.pairing is None:
        yield "pairing", "a case that ran in pairs has none"
    if "compared" in kinds and any(verdict.sessions < 0 for verdict in result.verdicts):
        yield "verdicts", "a number of sessions is negative"


def of_run(run: Run) -> Iterator[Problem]:
    """The problems of one run."""
    try:
        datetime.fromisoformat(run.began)
    except ValueError:
        yield "began", f"expected a time in ISO 8601, got {run.began!r}"
    yield from _seconds("wall_seconds", (run.wall_seconds,))
    yield from _of_timeline(run.timeline)
    # Other runs have no figures.
    if run.has_figures:
        yield from _of_training(run.training) if run.training else ()
        yield from _of_inference(run.inference) if run.inference else ()
        yield from _of_operation(run.operation) if run.operation else ()
        yield from of_breakdown(run.breakdown) if run.breakdown else ()
        yield from _of_evaluation(run)
        yield from _of_validation(run.validation) if run.validation else ()
        yield from _of_checkpoint(run.checkpoint) if run.checkpoint else ()
        yield from _of_usage(run)
    if run.contention and run.contention.is_cut and (run.training is None or run.training.began_seconds is None):
        yield "contention", "steps are excluded, but when they ran is not known"
    if run.speed:
        yield from _positive("speed.flops_per_second", run.speed.flops_per_second)


def _of_training(training: Training) -> Iterator[Problem]:
    steps = training.step_seconds
    yield from _timed("training.step_seconds", steps)
    yield from _positive("training.batch_size", training.batch_size)
    yield from _positive("training.examples", training.examples)
    if training.input_seconds and len(training.input_seconds) != len(steps):
        yield "training.input_seconds", f"{len(training.input_seconds)} values for {len(steps)} steps"
    if loading := training.loading:
        for part in ("read_seconds", "decode_seconds", "collate_seconds"):
            seconds = getattr(loading, part)
            if len(seconds) != len(steps) and (seconds or part != "collate_seconds"):
                yield f"training.loading.{part}", f"{len(seconds)} values for {len(steps)} steps"


def _of_inference(inference: Inference) -> Iterator[Problem]:
    yield from _timed("inference.batch_seconds", inference.batch_seconds)
    yield from _positive("inference.batch_size", inference.batch_size)
    yield from _positive("inference.examples", inference.examples)


def _of_operation(operation: Operation) -> Iterator[Problem]:
    for name, one in operation.passes.items():
        yield from _timed(f"operation.passes.{name}.seconds", one.seconds)
        yield from _positive(f"operation.passes.{name}.flops", one.flops)
        yield from _positive(f"operation.passes.{name}.least_bytes", one.least_bytes)
    # There are none for an all-reduce, nor where a framework has no operator that can be one.
    if operation.probes.keys() != operation.probe_flops.keys():
        yield "operation.probes", f"expected the seconds of {', '.join(operation.probe_flops) or 'no probes'}"
    for name, seconds in operation.probes.items():
        yield from _positive(f"operation.probes.{name}", seconds)


def of_breakdown(breakdown: Breakdown) -> Iterator[Problem]:
    """The problems of the phases of a step."""
    if breakdown.undivided is None and not (breakdown.step_seconds and breakdown.phase_seconds):
        yield "breakdown.step_seconds", "a step that was divided has no times"
    for step in breakdown.step_seconds:
        yield from _positive("breakdown.step_seconds", step)
    for phase, seconds in breakdown.phase_seconds.items():
        yield from _seconds(f"breakdown.phase_seconds.{phase}", seconds)
        if len(seconds) != len(breakdown.step_seconds):
            problem = f"{len(seconds)} values for {len(breakdown.step_seconds)} steps"
            yield f"breakdown.phase_seconds.{phase}", problem
    for layer in breakdown.layers:
        yield from _seconds(f"breakdown.layers.{layer.name}", (*layer.forward_seconds, *layer.backward_seconds))
        if not layer.forward_seconds or len(layer.forward_seconds) != len(layer.backward_seconds):
            yield f"breakdown.layers.{layer.name}", "expected as many times of the forward as of the backward pass"


def _timed(field: str, seconds: Sequence[float]) -> Iterator[Problem]:
    """The first step or batch is excluded from speeds, so the others must have taken some time."""
    yield from _seconds(field, seconds)
    if not sum(seconds[1:] or seconds):
        yield field, "there is no time" if seconds else "there are no values"


def _of_evaluation(run: Run) -> Iterator[Problem]:
    if (evaluation := run.evaluation) is None:
        return
    yield from _positive("evaluation.examples", evaluation.examples)
    for name in ("correct", "top5_correct"):
        if not 0 <= (getattr(evaluation, name) or 0) <= evaluation.examples:
            yield f"evaluation.{name}", f"expected 0 to {evaluation.examples} examples, got {getattr(evaluation, name)}"
    shares = {"auroc": (evaluation.auroc,), "class_accuracies": evaluation.class_accuracies}
    for name, values in shares.items():
        for share in values:
            if share is not None and not 0 <= share <= 1:
                yield f"evaluation.{name}", f"expected 0 to 1, got {share}"


def _of_validation(validation: Validation) -> Iterator[Problem]:
    yield from _positive("validation.examples", validation.examples)
    yield from _seconds("validation.seconds", (validation.seconds,))
    if not validation.curve:
        yield "validation.curve", "there is no evaluation"
    for name in ("best_epoch", "tested_epoch"):
        if not 0 < getattr(validation, name) <= validation.trained_epochs:
            yield f"validation.{name}", f"expected an epoch up to {validation.trained_epochs:g}"


def _of_checkpoint(checkpoint: Checkpoint) -> Iterator[Problem]:
    yield from _positive("checkpoint.size_bytes", checkpoint.size_bytes)
    for name in ("write_seconds", "read_seconds"):
        if getattr(checkpoint, name) is not None:
            yield from _seconds(f"checkpoint.{name}", (getattr(checkpoint, name),))


def _of_usage(run: Run) -> Iterator[Problem]:
    parts = {"train": run.training, "infer": run.inference, "operate": run.operation}
    for name in (phase for phase, part in parts.items() if part):
        if name not in run.usage:
            yield "usage", f"the phase {name!r} is missing"
        elif run.usage[name].wall_seconds <= 0:
            yield f"usage.{name}.wall_seconds", "must be above 0"
    for name, usage in run.usage.items():
        yield from _seconds(f"usage.{name}.wall_seconds", (usage.wall_seconds,))


def _of_timeline(timeline: Timeline) -> Iterator[Problem]:
    series = {
        "rss_bytes": timeline.rss_bytes,
        "cpu_seconds": timeline.cpu_seconds,
        "machine_seconds": timeline.machine_seconds,
    }
    for name, values in series.items():
        if values and len(values) != len(timeline.seconds):
            yield f"timeline.{name}", f"{len(values)} values for {len(timeline.seconds)} times"


def _seconds(field: str, values: Sequence[float]) -> Iterator[Problem]:
    """A century is longer than any run, and short enough to add up."""
    if not all(isfinite(value) and 0 <= value < 4e9 for value in values):
        yield field, "times must be finite and not negative"


def _positive(field: str, value: float) -> Iterator[Problem]:
    if not 0 < value < float("inf"):
        yield field, f"must be above 0, got {value}"


def within(path: str, problems: Iterator[Problem]) -> Iterator[Problem]:
    """Problems of a part of a record, with their paths in the whole."""
    return ((f"{path}.{field}", problem) for field, problem in problems)
