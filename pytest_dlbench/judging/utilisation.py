"""The share of a machine's arithmetic that a training used."""

from pytest_dlbench.judging.warm_up import steady_steps
from pytest_dlbench.model import Network, Recipe
from pytest_dlbench.model.traffic import step_bytes
from pytest_dlbench.records import MachineSpeed, StepWork, Training

# A multiplication and an addition.
FLOPS = 2


def step_flops(network: Network, batch_size: int) -> float:
    """Floating-point operations of one step, computed from the network.

    A layer needs the same number again for the gradient by its weights, and for that by its input; the first layer with
    weights does not need the latter. Activations, normalisation, loss and optimiser are not counted.
    """
    first = next((placed for placed in network.layers if placed.inferred.parameters), None)
    passes = 3 * network.multiply_adds - (first.inferred.multiply_adds if first else 0)
    return float(FLOPS * passes * batch_size)


def step_work(network: Network, recipe: Recipe) -> StepWork:
    """What one step has to compute, and the minimum of bytes it has to move."""
    return StepWork(flops=step_flops(network, recipe.batch_size), least_bytes=float(step_bytes(network, recipe)))


def utilisation(training: Training, flops: float, speed: MachineSpeed) -> float:
    """The share of the machine's peak that all steady steps, of this many operations, reached together."""
    seconds = steady_steps(training)
    return flops * len(seconds) / sum(seconds) / speed.flops_per_second


def has_convolutions(network: Network) -> bool:
    """Whether the network has convolutions, for which there are algorithms with less arithmetic."""
    return any(placed.layer.kind == "conv2d" for placed in network.layers)
