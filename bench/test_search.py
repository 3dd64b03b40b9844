"""Searches for a network with a budget of processor time, on real digits.

Optuna, and random search as the control, by default in PyTorch (``--dlbench-frameworks`` names others); AutoKeras in
Keras. Only where ``-m``, ``-k`` or a path names them.
"""

import pytest

from pytest_dlbench.planning.autokeras_search import AUTOKERAS
from pytest_dlbench.planning.search import RANDOM, TPE
from pytest_dlbench.plugin.hooks import OPTIONS

from .fixtures.search import EPOCHS, of_scale

pytestmark = pytest.mark.search


@pytest.fixture
def recipe():
    """None: an engine chooses it."""


@pytest.fixture(params=["pytorch"])
def framework(request):
    return request.param


@pytest.fixture(params=["digits"])
def dataset(request):
    return request.param


def pytest_generate_tests(metafunc):
    sizes = of_scale(metafunc.config.stash[OPTIONS].scale)
    metafunc.parametrize("size", [pytest.param(one, id=f"{one['budget_seconds']:g}s") for one in sizes])


@pytest.mark.parametrize("engine", [RANDOM, TPE])
def test_search(dlbench, framework, engine, dataset, size):
    dlbench.search(framework, engine, dataset, epochs=EPOCHS, **size)


def test_search_by_autokeras(dlbench, dataset, size):
    dlbench.search("keras-tensorflow", AUTOKERAS, dataset, epochs=EPOCHS, **size)
