"""The golden losses as they lie: what every framework is held against is a training that learns."""

from statistics import fmean

import pytest

from fixtures.golden_losses import PAIRS, STEPS, path, read

# Synthetic data have more noise than ten steps can see through.
ON_REAL_DATA = [pair for pair in PAIRS if path(*pair).exists() and pair[1] != "synthetic"]


@pytest.mark.parametrize("pair", ON_REAL_DATA, ids="-".join)
def test_on_real_data_the_loss_falls_within_ten_steps(pair):
    losses = read(*pair).losses
    assert len(losses) == STEPS
    assert fmean(losses[-3:]) < fmean(losses[:3])
