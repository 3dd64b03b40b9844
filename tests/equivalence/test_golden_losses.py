"""The golden losses as they lie: what every framework is held against is a training that learns."""

from statistics import fmean

import pytest

from fixtures.golden_losses import DEEP, PAIRS, STEPS, path, read

# Synthetic data have more noise than ten steps can see through, and the rates of deep networks are too small for it:
# tests/worker/test_zoo_learns.py trains those that are not slow at another.
LEARNING = [pair for pair in PAIRS if pair[1] != "synthetic" and pair[0] not in DEEP]


def test_every_network_that_is_trained_has_some():
    assert [pair for pair in PAIRS if not path(*pair).exists()] == []


@pytest.mark.parametrize("pair", LEARNING, ids="-".join)
def test_on_real_data_the_loss_falls_within_ten_steps(pair):
    losses = read(*pair).losses
    assert len(losses) == STEPS
    assert fmean(losses[-3:]) < fmean(losses[:3])
