"""The main job: every model on every data set that fits it, by every framework."""

import pytest

pytestmark = pytest.mark.training


def test_training(dlbench, framework, model, dataset, device):
    result = dlbench.train(framework, model, dataset, device)
    # Far above the 10 % of guessing, whatever the scale: a network that learns nothing is no benchmark.
    assert result.accuracy.mean > 0.2
