"""Before frameworks are compared: do they train the same network?"""

import pytest

from fixtures import golden_losses
from pytest_dlbench.model import infer

pytestmark = pytest.mark.equivalence

# float32 against a float64 oracle: 1.4e-7 was measured, a wrong optimiser shows at 1e-2 from the second or third step.
LARGEST_DIFFERENCE = 1e-5


def test_trains_the_same_network(dlbench, framework, model, dataset, device):
    golden = golden_losses.read(model.name, dataset.name)
    network = infer(model.without_dropout())
    run = dlbench.run(
        framework,
        model.without_dropout(),
        dataset,
        device,
        recipe=golden_losses.RECIPE,
        steps=golden_losses.STEPS,
        seed=golden_losses.SEED,
        label="equivalence",
    )
    assert network.digest == golden.network_digest, "the model has changed: python -m fixtures.make_golden"
    assert run.training is not None, run.message
    shapes = {name: parameter.shape for name, parameter in network.parameters.items()}
    assert run.parameters == shapes
    differences = [abs(a - b) / b for a, b in zip(run.training.losses, golden.losses, strict=True)]
    assert max(differences) <= LARGEST_DIFFERENCE, differences
