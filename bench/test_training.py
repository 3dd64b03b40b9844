"""The main job: every model on every data set that fits it, by every framework."""

import pytest

from fixtures.model import USUAL

pytestmark = pytest.mark.training


def test_training(dlbench, framework, model, dataset, device):
    result = dlbench.train(framework, model, dataset, device)
    if model.name in USUAL and dataset.name.startswith("digits"):
        # Far above the 10 % of guessing, whatever the scale: a network that learns nothing is no benchmark. Others need
        # more than the seconds that they get, and a loss that is not finite fails by itself.
        assert result.accuracy.mean > 0.2
