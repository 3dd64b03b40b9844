"""Before frameworks are compared: do they train the same network?

Certificates of those that do lie in .dlbench/certificates/; the records of later trainings bear them.
"""

import pytest

from fixtures import golden_losses
from pytest_dlbench.judging.equivalence import BOUND, is_equal

pytestmark = pytest.mark.equivalence

# oneDNN's float32 convolutions round otherwise with AVX-512 instructions, by which two nearly equal values of a pooling
# window change places: 1.5e-5 at the eighth step, less than 1e-7 with ONEDNN_MAX_CPU_ISA=AVX2, and 2e-16 in float64.
LOOSER = {("tensorflow", "gatech-lenet"): 1e-4, ("keras-tensorflow", "gatech-lenet"): 1e-4}


def test_trains_the_same_network(dlbench, framework, model, dataset, device):
    certificate = dlbench.certify(
        framework,
        model.without_dropout(),
        dataset,
        device,
        golden=golden_losses.read(model.name, dataset.name),
        recipe=golden_losses.RECIPE,
        seed=golden_losses.SEED,
        bound=LOOSER.get((framework.name, model.name), BOUND),
    )
    assert is_equal(certificate), certificate
    if model.without_dropout() != model:
        # Certificates are of networks without dropout; that it is off in evaluation shows when that is repeated.
        run = dlbench.run(framework, model, dataset, device, steps=2, evaluations=2, label="evaluation")
        assert run.evaluation is not None, run.message
