"""Single operators with DeepBench's sizes: matrix products, convolutions and recurrent layers.

Only where ``-m``, ``-k`` or a path names them; the scale limits their arithmetic and memory (``fixtures/operator``).
"""

import pytest

from pytest_dlbench.plugin.hooks import OPTIONS

from .fixtures.operator import of_scale

pytestmark = pytest.mark.operator


@pytest.fixture
def recipe():
    """None: that of the suite depends on a model."""


def pytest_generate_tests(metafunc):
    operators = of_scale(metafunc.config.stash[OPTIONS].scale)
    metafunc.parametrize("operator", [pytest.param(one, id=one.name) for one in operators])


def test_operator(dlbench, framework, operator, device):
    dlbench.operate(framework, operator, device)
