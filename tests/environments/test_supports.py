"""What builders say they can build, read from their files."""

from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.supports import supports

DOUBLES = Path(__file__).parents[1] / "doubles" / "builders"
CHAIN = {"conv2d", "dense", "max_pool", "avg_pool", "batch_norm", "dropout", "flatten", "relu", "tanh", "sigmoid"}


def double(builder):
    return Framework(name="double", builder=builder, folders=(DOUBLES,))


@pytest.mark.parametrize("name", [name for name, framework in FRAMEWORKS.items() if not framework.unsupported])
def test_every_builder_has_at_least_a_chain_of_layers_over_images_and_both_kinds_of_input(name):
    assert CHAIN | {"pipeline", "sgd", "softmax_cross_entropy"} <= supports(FRAMEWORKS[name])


def test_a_variant_has_what_its_builder_has():
    assert supports(FRAMEWORKS["pytorch-compile"]) == supports(FRAMEWORKS["pytorch"])


def test_a_variant_may_lie_in_another_folder_than_its_builder():
    assert supports(double("slowed_pytorch")) == supports(FRAMEWORKS["pytorch"])


def test_a_variant_of_a_variant_has_it_too():
    assert supports(double("slowed")) == {"dense", "flatten", "pipeline", "sgd", "softmax_cross_entropy"}


@pytest.mark.parametrize("builder", ["nowhere_to_be_found", "needs_what_is_missing", ""])
def test_of_others_nothing_is_known(builder):
    assert supports(double(builder)) is None
