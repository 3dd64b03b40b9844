"""Does a run train the network that the oracle trained?"""

from collections.abc import Mapping
from datetime import UTC, datetime

from pytest_dlbench.records import Case, Certificate, Context, Golden, Run

# float32 against a float64 oracle: 1.4e-7 was measured, a wrong optimiser shows at 1e-2 from the second or third step.
BOUND = 1e-5
# Of the bound, for the evaluation, which comes after one more update: the farthest of 24 frameworks on four networks
# was 2.1e-5 away (TensorFlow and tartu-cifar10-cnn, whose losses were within 4.4e-6).
EVALUATION_FACTOR = 5
# What belongs to the harness and not to the framework: a certificate outlives a change of it.
SURROUNDINGS = frozenset({"kernel", "pytest-dlbench", "driver-python", "GLIBC_TUNABLES", "environment"})


def certificate(case: Case, context: Context, run: Run, golden: Golden, bound: float) -> Certificate:
    """How far a finished run is from the golden losses."""
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
        bound=bound,
        versions=of_framework(run.versions),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def is_equal(found: Certificate) -> bool:
    """Whether the losses are within the bound, and the evaluation after the last update within a few times of it.

    Rounding grows with every update; what evaluation is there to show is a hundred times larger.
    """
    return found.deviation <= found.bound and found.evaluation_deviation <= EVALUATION_FACTOR * found.bound


def of_framework(versions: Mapping[str, str]) -> dict[str, str]:
    """The versions that can change what is computed."""
    return {name: version for name, version in versions.items() if name not in SURROUNDINGS}
