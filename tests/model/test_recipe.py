"""Training settings: which are accepted and which are refused."""

from math import inf, nan

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import SGD, Recipe


@pytest.mark.parametrize("rate", [0.0, -0.1, nan, inf])
def test_a_learning_rate_that_is_not_a_number_above_0_is_refused(rate):
    with pytest.raises(ModelError, match=f"SGD needs a learning rate above 0 .*learning_rate={rate}"):
        SGD(rate)


@pytest.mark.parametrize("decay", [-1e-4, nan, inf])
def test_a_weight_decay_that_is_not_a_number_of_at_least_0_is_refused(decay):
    with pytest.raises(ModelError, match=f"no negative weight decay, got .*weight_decay={decay}"):
        SGD(0.1, weight_decay=decay)


@pytest.mark.parametrize("momentum", [1.0, -0.1, nan])
def test_a_momentum_below_0_or_of_at_least_1_is_refused(momentum):
    with pytest.raises(ModelError, match=f"SGD momentum must be at least 0 and below 1, got {momentum}"):
        SGD(0.1, momentum=momentum)


def test_nesterov_without_momentum_is_refused():
    with pytest.raises(ModelError, match="SGD with nesterov needs a momentum above 0"):
        SGD(0.1, nesterov=True)


def test_nesterov_with_momentum_is_accepted():
    assert SGD(0.1, momentum=0.9, nesterov=True).nesterov


def test_plain_sgd_has_no_momentum_and_no_decay():
    assert SGD(0.1) == SGD(0.1, momentum=0.0, nesterov=False, weight_decay=0.0)


def test_momentum_is_keyword_only():
    with pytest.raises(TypeError, match="positional"):
        SGD(0.1, 0.9)


@pytest.mark.parametrize(
    ("size", "name"),
    [
        ({"batch_size": 0}, "the batch size"),
        ({"batch_size": -8}, "the batch size"),
        ({"epochs": 0}, "epochs"),
        ({"epochs": -1}, "epochs"),
        ({"epochs": None, "steps": 0}, "steps"),
    ],
)
def test_a_recipe_without_a_batch_or_a_step_is_refused(size, name):
    with pytest.raises(ModelError, match=f"{name} must be 1 or more, got"):
        Recipe(**{"batch_size": 8, "epochs": 1, **size}, optimizer=SGD(0.1))


@pytest.mark.parametrize(("lengths", "found"), [({}, "neither"), ({"epochs": 2, "steps": 9}, "epochs=2 and steps=9")])
def test_a_recipe_needs_either_epochs_or_steps(lengths, found):
    with pytest.raises(ModelError, match=f"a recipe needs either epochs or steps, got {found}"):
        Recipe(batch_size=8, optimizer=SGD(0.1), **lengths)


def test_a_recipe_defaults_to_float32_and_glorots_rule():
    recipe = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))
    assert (recipe.precision, recipe.init) == ("float32", "glorot")


def test_recipes_with_equal_settings_are_equal():
    assert len({Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)) for _ in range(2)}) == 1


def test_a_recipe_turns_no_setting_of_execution_on_by_default():
    assert Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)).execution == ()


def test_what_is_chosen_by_its_time_is_not_deterministic():
    with pytest.raises(ModelError, match="deterministic=true needs autotune=false"):
        Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1), deterministic=True, autotune=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accumulation": 0}, "the accumulation must be 1 or more"),
        ({"crop_padding": -1}, "crop_padding must be 0"),
        ({"patience": 0}, "the patience must be 1 or more"),
    ],
)
def test_no_parts_of_a_batch_and_a_negative_padding_are_refused(change, message):
    with pytest.raises(ModelError, match=message):
        Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1), **change)
