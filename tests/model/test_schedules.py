"""Learning-rate schedules, and settings of optimisers that are refused."""

from math import cos, inf, nan, pi

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import (
    SGD,
    Adadelta,
    Adam,
    AdamW,
    Cosine,
    InverseTime,
    Recipe,
    RMSprop,
    StepDecay,
    WarmUpCosine,
)


def rates(schedule, steps=8, per_epoch=2, rate=0.4):
    recipe = Recipe(batch_size=8, epochs=4, optimizer=SGD(rate), schedule=schedule)
    return list(recipe.learning_rates(steps=steps, steps_per_epoch=per_epoch))


def test_without_a_schedule_the_rate_is_constant():
    assert rates(None) == [0.4] * 8


def test_a_rate_drops_after_an_epoch():
    assert rates(StepDecay(0.5, (1.0, 3.0))) == [0.4, 0.4, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1]


def test_a_rate_can_drop_after_a_step_within_an_epoch():
    schedule = StepDecay(0.5, steps=(2, 6))
    assert rates(schedule, per_epoch=3) == rates(schedule, per_epoch=50) == [0.4, 0.4, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1]


def test_a_decay_in_epochs_and_steps_is_refused():
    with pytest.raises(
        ModelError, match=r"increasing epochs or steps above 0, got StepDecay.*epochs=\(1.0,\), steps=\(2,\)"
    ):
        StepDecay(0.1, (1.0,), (2,))


def test_a_cosine_falls_from_the_rate_towards_its_last_factor():
    assert rates(Cosine(0.5)) == pytest.approx([0.4 * (0.5 + 0.25 * (1 + cos(pi * step / 8))) for step in range(8)])


def test_a_rate_warms_up_in_equal_steps_and_then_falls_as_a_cosine():
    found = rates(WarmUpCosine(0.5, 0.5))
    assert found[:5] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4])
    assert found[4:] == pytest.approx([0.4 * (0.5 + 0.25 * (1 + cos(pi * step / 4))) for step in range(4)])


def test_a_warm_up_of_less_than_a_step_starts_with_the_whole_rate():
    found = rates(WarmUpCosine(0.1))
    assert found[0] == 0.4
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("warm_up", "last"), [(0.0, 0.0), (1.0, 0.0), (nan, 0.0), (0.1, 1.0), (0.1, -0.1)])
def test_a_warm_up_without_steps_or_of_all_steps_is_refused(warm_up, last):
    with pytest.raises(ModelError, match="WarmUpCosine needs a warm-up above 0 and below 1"):
        WarmUpCosine(warm_up, last)


def test_inverse_time_is_caffes_inv_policy():
    found = rates(InverseTime(1e-4, 0.75), rate=0.01)
    assert found[5] == pytest.approx(0.01 * (1 + 1e-4 * 5) ** -0.75)


@pytest.mark.parametrize("epochs", [(), (0.0,), (2.0, 1.0), (1.0, 1.0), (-1.0,)])
def test_epochs_that_are_not_increasing_and_above_0_are_refused(epochs):
    with pytest.raises(ModelError, match="StepDecay needs a factor above 0 and increasing epochs or steps above 0"):
        StepDecay(0.1, epochs)


@pytest.mark.parametrize("last", [-0.1, 1.0, nan])
def test_a_cosine_that_does_not_fall_is_refused(last):
    with pytest.raises(ModelError, match="Cosine needs a last factor of at least 0 and below 1"):
        Cosine(last)


@pytest.mark.parametrize(("gamma", "power"), [(0.0, 1.0), (1.0, 0.0), (inf, 1.0)])
def test_an_inverse_time_without_decay_is_refused(gamma, power):
    with pytest.raises(ModelError, match="InverseTime needs gamma and power above 0"):
        InverseTime(gamma, power)


@pytest.mark.parametrize("norm", [0.0, -1.0, inf, nan])
def test_an_invalid_clip_norm_is_refused(norm):
    with pytest.raises(ModelError, match="clip_norm must be above 0 and finite"):
        Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1), clip_norm=norm)


@pytest.mark.parametrize("optimizer", [Adam, AdamW, Adadelta, RMSprop])
@pytest.mark.parametrize("setting", ["learning_rate", "epsilon"])
def test_a_rate_or_an_epsilon_of_0_is_refused(optimizer, setting):
    with pytest.raises(ModelError, match=f"learning rate and epsilon must be above 0, got {optimizer.__name__}"):
        optimizer(**{setting: 0.0})


@pytest.mark.parametrize(
    ("optimizer", "share"),
    [(Adam, "beta1"), (Adam, "beta2"), (AdamW, "beta1"), (AdamW, "beta2"), (Adadelta, "rho"), (RMSprop, "rho")],
)
def test_a_decay_of_1_is_refused(optimizer, share):
    with pytest.raises(ModelError, match=f"{optimizer.__name__} {share} must be at least 0 and below 1, got 1.0"):
        optimizer(**{share: 1.0})
