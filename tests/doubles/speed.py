"""A machine whose speed is known."""

from pytest_dlbench.judging.data_sheets import card_of
from pytest_dlbench.records import MachineSpeed
from pytest_dlbench.running.run_spec import NetworkSpec


def known(threads: int, precision: str) -> MachineSpeed:
    """What a machine with two processors might have."""
    return MachineSpeed(
        threads=threads, precision=precision, flops_per_second=2e11, copied_bytes_per_second=1e10, launch_seconds=1e-6
    )


def known_gpu(spec: NetworkSpec, model: str) -> MachineSpeed:
    """What a GPU of this model might reach: four fifths of its data sheet."""
    card = card_of(model)
    assert card is not None
    peak = card.peak(spec.recipe.precision, spec.recipe.execution)
    return MachineSpeed(
        threads=spec.case.threads,
        precision=spec.recipe.precision,
        flops_per_second=0.8 * peak,
        published_flops_per_second=peak,
    )
