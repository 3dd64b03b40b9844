"""Whether a run trains the same network as the oracle, or applies the same one as another framework."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from math import fsum, sqrt

from pytest_dlbench.records import Case, Certificate, Context, Golden, Run

# float32 against a float64 oracle: measured 1.4e-7; a wrong optimiser differs by 1e-2 from the second or third step.
BOUND = 1e-5
# Bounds are those of processors. On GPUs, cuDNN may choose Winograd's algorithm, whose transforms round about ten times
# as coarsely as direct sums, and sums of atomic operations are in another order each time.
ON_GPUS = 10.0
# Times the bound, for the evaluation, which comes after one more update: the largest of 24 frameworks on four networks
# was 2.1e-5 (TensorFlow on tartu-cifar10-cnn, whose losses were within 4.4e-6).
EVALUATION_FACTOR = 5
# How far outputs of two frameworks may differ, relative to their size: a wrong padding or epsilon changes percents.
OUTPUT_BOUNDS: Mapping[str, float] = {"float32": 1e-4, "float64": 1e-9}
# Versions of the harness rather than of the framework: certificates remain valid if these change.
SURROUNDINGS = frozenset({"kernel", "pytest-dlbench", "driver-python", "GLIBC_TUNABLES", "environment"})


def bound_on(device: str, bound: float) -> float:
    """How far losses may deviate on a device, if they may deviate by ``bound`` on a processor."""
    return bound * ON_GPUS if device == "gpu" else bound


def certificate(case: Case, context: Context, run: Run, golden: Golden, bound: float) -> Certificate:
    """A certificate with the deviation of a finished run from the golden losses."""
    assert run.training is not None
    assert run.evaluation is not None
    pairs = zip(run.training.losses, golden.losses, strict=True)
    return Certificate(
        framework=case.framework,
        model=case.model,
        dataset=case.dataset,
        device=case.device,
        network_digest=context.network_digest,
        precision=context.precision,
        steps=context.steps,
        deviation=max(abs(ours - theirs) / abs(theirs) for ours, theirs in pairs),
        evaluation_deviation=abs(run.evaluation.loss - golden.evaluation_loss) / abs(golden.evaluation_loss),
        bound=bound_on(case.device, bound),
        versions=of_framework(run.versions),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        workers=case.workers,
        execution=context.execution,
        machine=context.machine.name,
        dataset_digest=context.dataset_digest,
    )


def is_equal(found: Certificate) -> bool:
    """Whether the losses are within the bound, and the evaluation after the last update within five times the bound.

    Rounding grows with every update; errors that the evaluation should reveal are a hundred times larger.
    """
    return found.deviation <= found.bound and found.evaluation_deviation <= EVALUATION_FACTOR * found.bound


def covers(found: Certificate, context: Context) -> bool:
    """Whether a certificate was measured on these data, and computed as these conditions compute.

    Another precision rounds otherwise; other processors and settings of execution have other kernels, which may have
    other faults. Autotuning is not compared: what it chooses is among the same kernels.
    """
    measured = (found.machine, found.dataset_digest, found.precision, _kernels(found.execution))
    return measured == _conditions(context)


def _conditions(context: Context) -> tuple[str, str, str, tuple[str, ...]]:
    return context.machine.name, context.dataset_digest, context.precision, _kernels(context.execution)


def _kernels(execution: Sequence[str]) -> tuple[str, ...]:
    """The settings of execution that decide which kernels are used."""
    return tuple(name for name in execution if name != "autotune")


def subject(case: Case, context: Context, versions: Mapping[str, str]) -> Hashable:
    """What a certificate is about: two cases with the same subject have the same certificate."""
    cell = (case.framework, case.model, case.dataset, case.device, case.workers, case.settings.get("exchange"))
    return (*cell, context.network_digest, *_conditions(context), *sorted(of_framework(versions).items()))


def of_framework(versions: Mapping[str, str]) -> dict[str, str]:
    """The versions that can change what is computed."""
    return {name: version for name, version in versions.items() if name not in SURROUNDINGS}


def deviation_of(sketch: Sequence[float], reference: Sequence[float]) -> float:
    """The largest difference of two sketches of outputs, relative to the root mean square of the second."""
    largest = max(abs(ours - theirs) for ours, theirs in zip(sketch, reference, strict=True))
    size = sqrt(fsum(value * value for value in reference) / len(reference))
    return largest / size if size else largest


def output_bound(precision: str, device: str, execution: Sequence[str]) -> float | None:
    """How far outputs may differ; None where rounding alone may change them by more than a fault would."""
    bound = None if "tf32" in execution else OUTPUT_BOUNDS.get(precision)
    return None if bound is None else bound_on(device, bound)
