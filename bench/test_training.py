"""The main job: every framework trains every model on every data set that fits it."""

import pytest

from .fixtures.model import USUAL

pytestmark = pytest.mark.training


def test_training(dlbench, framework, model, dataset, device):
    result = dlbench.train(framework, model, dataset, device)
    if model.name in USUAL and dataset.name.startswith("digits"):
        # Far above the 10 % of guessing at any scale: a network that learns nothing is no benchmark. Other models need
        # more time than they get, and a non-finite loss fails anyway.
        assert result.accuracy.mean > 0.2
