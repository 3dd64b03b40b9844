"""Single operators with DeepBench's sizes: matrix products, convolutions, recurrent layers; of workers, all-reduces.

Only where ``-m``, ``-k`` or a path names them; the scale limits their arithmetic and memory (``fixtures/operator``).
"""

import pytest

from pytest_dlbench.plugin.hooks import OPTIONS

from .fixtures.operator import of_scale, shared_of_scale

pytestmark = pytest.mark.operator


@pytest.fixture
def recipe():
    """None: that of the suite depends on a model."""


def pytest_generate_tests(metafunc):
    asked = metafunc.config.stash[OPTIONS]
    operators = [*(of_scale(asked.scale) if 1 in asked.workers else ()), *_shared(asked)]
    metafunc.parametrize("operator", [pytest.param(one, id=one.name) for one in operators])


def _shared(asked):
    return shared_of_scale(asked.scale) if max(asked.workers) > 1 else ()


def test_operator(dlbench, framework, operator, device):
    dlbench.operate(framework, operator, device)
