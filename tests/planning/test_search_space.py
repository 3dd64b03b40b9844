"""Every point of a search space is a network that fits its input."""

from itertools import product

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import infer
from pytest_dlbench.planning.search_space import Choice, SearchSpace


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32)])
@pytest.mark.parametrize(("kind", "layers"), [*product(("dense", "convolutional"), (0, 1, 2, 5))])
def test_every_network_fits(shape, kind, layers):
    choice = Choice(
        kind=kind, layers=layers, width=8, activation="relu", learning_rate=0.1, momentum=0.5, batch_size=32
    )
    found = infer(choice.model(shape, 10, epochs=1))
    kinds = [layer.kind for layer in found.model.layers]
    assert kinds.count("relu") == layers
    assert kinds.count("conv2d") == (layers if kind == "convolutional" else 0)
    assert kinds[-1] == "dense"


def test_its_recipe_has_the_chosen_settings():
    recipe = SearchSpace(learning_rate=(0.2, 0.5), momenta=(0.3,), batch_sizes=(7,)).first.recipe(4)
    assert (recipe.batch_size, recipe.epochs) == (7, 4)
    assert (recipe.optimizer.learning_rate, recipe.optimizer.momentum) == (0.2, 0.3)


def test_other_values_are_another_space():
    assert SearchSpace().digest == SearchSpace().digest != SearchSpace(widths=(8,)).digest


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"widths": ()}, "widths has no value"),
        ({"kinds": ("recurrent",)}, "'recurrent'; known are dense, convolutional"),
        ({"activations": ("gelu",)}, "known are relu, tanh"),
        ({"learning_rate": (0.0, 1.0)}, "a range above 0"),
        ({"learning_rate": (1.0, 0.1)}, "a range above 0"),
    ],
)
def test_what_cannot_be_searched_is_refused(given, said):
    with pytest.raises(ModelError, match=said):
        SearchSpace(**given)
