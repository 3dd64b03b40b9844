"""The stored golden losses, with which every framework is compared, come from trainings that learn."""

from statistics import fmean

import pytest

from bench.fixtures.golden_losses import DEEP, PAIRS, STEPS, path, read

# Synthetic data are too noisy for ten steps, and the learning rates of deep networks and of the encoder too small:
# tests/worker/test_zoo_learns.py trains those that are not slow at another rate.
SLOW_TO_LEARN = {*DEEP, "transformer-encoder"}
LEARNING = [pair for pair in PAIRS if pair[1] != "synthetic" and pair[0] not in SLOW_TO_LEARN]


def test_every_trained_network_has_golden_losses():
    assert [pair for pair in PAIRS if not path(*pair).exists()] == []


@pytest.mark.parametrize("pair", LEARNING, ids="-".join)
def test_on_real_data_the_loss_falls_within_ten_steps(pair):
    losses = read(*pair).losses
    assert len(losses) == STEPS
    assert fmean(losses[-3:]) < fmean(losses[:3])
