"""How much of a machine's arithmetic a training used."""

from pytest_dlbench.judging.readings import steady_steps
from pytest_dlbench.model import Network, Recipe
from pytest_dlbench.model.traffic import step_bytes
from pytest_dlbench.records import MachineSpeed, StepWork, Training

# A multiplication and an addition.
FLOPS = 2


def step_flops(network: Network, batch_size: int) -> float:
    """Floating-point operations that one step needs, by the network's own count.

    A layer takes as many again for the gradient by its weights, and by its input; the first layer with weights has no
    use for the second. Activations, normalisation, loss and optimiser count as none.
    """
    first = next((placed for placed in network.layers if placed.inferred.parameters), None)
    passes = 3 * network.multiply_adds - (first.inferred.multiply_adds if first else 0)
    return float(FLOPS * passes * batch_size)


def step_work(network: Network, recipe: Recipe) -> StepWork:
    """What one step has to compute, and to move at the least."""
    return StepWork(flops=step_flops(network, recipe.batch_size), least_bytes=float(step_bytes(network, recipe)))


def utilisation(training: Training, network: Network, speed: MachineSpeed) -> float:
    """The share of the machine's peak that all steady steps reached together."""
    seconds = steady_steps(training)
    return step_flops(network, training.batch_size) * len(seconds) / sum(seconds) / speed.flops_per_second


def has_convolutions(network: Network) -> bool:
    """Whether some of the arithmetic is that of convolutions, which has shorter ways than the count."""
    return any(placed.layer.kind == "conv2d" for placed in network.layers)
