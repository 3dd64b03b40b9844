"""How fast a GPU multiplies large matrices in the framework of a case, in a process of its own."""

from pytest_dlbench.judging.data_sheets import card_of
from pytest_dlbench.judging.utilisation import step_flops
from pytest_dlbench.judging.warm_up import steady_steps
from pytest_dlbench.planning.product import product
from pytest_dlbench.records import MachineSpeed
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once


def gpu_speed(spec: NetworkSpec, model: str) -> MachineSpeed | None:
    """The speed of the GPU that a spec has leased; ``model`` is its name. None if the product cannot be trained."""
    probe = product(spec)
    run = train_once(probe, 0)
    if run.training is None:
        return None
    recipe, card = probe.recipe, card_of(model)
    return MachineSpeed(
        threads=spec.case.threads,
        precision=recipe.precision,
        flops_per_second=step_flops(probe.network, recipe.batch_size) / min(steady_steps(run.training)),
        published_flops_per_second=card.peak(recipe.precision, recipe.execution) if card else None,
    )
