"""tinygrad's code for GPUs on OpenCL, whose driver of processors (pocl) stands in for a GPU where that is asked for."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.frameworks import PROCESSOR_AS_GPU
from pytest_dlbench.planning.plan import synthetic_for
from tests.worker.places import place_of
from tests.worker.sessions import session
from tests.worker.test_mixed_precision import NETWORK, RECIPE

POCL = Path("/etc/OpenCL/vendors/pocl.icd")
STEPS = 6


@pytest.fixture(params=["tinygrad"])
def tinygrad(request):
    place_of(request.param, "opencl")
    if not POCL.exists():
        pytest.skip("pocl is not installed: apt-get install pocl-opencl-icd")
    return FRAMEWORKS[request.param]


def losses(framework, folder, device, **more):
    data = prepare(synthetic_for(NETWORK.model), folder / "data")
    with session(framework, folder) as asked:
        asked.hello(device=device)
        built = asked.build(NETWORK, RECIPE)
        return built.device, asked.train(data, RECIPE, STEPS, **more)


def test_steps_in_chunks_on_opencl_have_the_losses_of_the_processor(tinygrad, tmp_path):
    on_opencl = replace(tinygrad, variables=((PROCESSOR_AS_GPU, "1"),))
    device, trained = losses(on_opencl, tmp_path / "opencl", "gpu", chunk_seconds=0.1)
    _, usual = losses(tinygrad, tmp_path / "cpu", "cpu")
    assert (device.kind, sum(trained.chunks)) == ("cpu", STEPS)
    assert trained.losses == pytest.approx(usual.losses, rel=1e-4)


def test_a_driver_of_processors_is_refused_as_a_gpu(tinygrad, tmp_path):
    with session(tinygrad, tmp_path) as asked:
        asked.hello(device="gpu")
        answer = asked.build(NETWORK, RECIPE)
    assert answer.kind == "unsupported"
    assert "its CL device is the processor" in answer.message
