"""Inference: samples per second, and the latency of a batch.

By default only models that are never trained; ``-m inference --dlbench-models NAMES`` runs others, or ``all``.
"""

import pytest

import pytest_dlbench as dlb

pytestmark = pytest.mark.inference


@pytest.fixture(params=[name for name, model in dlb.MODELS.items() if not model.head.is_trained])
def model(request):
    return request.param


@pytest.fixture(params=["synthetic"])
def dataset(request):
    return request.param


def test_inference(dlbench, framework, model, dataset, device):
    dlbench.infer(framework, model, dataset, device)
