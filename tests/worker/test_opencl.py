"""tinygrad's code for GPUs on OpenCL, whose driver of processors (pocl) stands in for a GPU where that is asked for."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.frameworks import PROCESSOR_AS_GPU
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.storing import Entry, read_journal
from tests.worker.places import place_of
from tests.worker.sessions import session
from tests.worker.test_mixed_precision import NETWORK, RECIPE

REPOSITORY = Path(__file__).parents[2]
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


def test_a_whole_session_runs_on_opencl_only_because_it_is_asked_to(tinygrad, tmp_path):
    page, journals = tmp_path / "page.html", tmp_path / "journals"
    command = [
        *(sys.executable, "-m", "pytest", "bench", "-p", "no:cacheprovider", "-m", "training or equivalence"),
        *("--dlbench-devices=opencl:cpu", f"--dlbench-frameworks={tinygrad.name}", "--dlbench-models=gatech-lenet"),
        *("--dlbench-datasets=digits28", "--dlbench-scale=smoke", "--dlbench-runs=1", "--dlbench-allow=invalid"),
        *(f"--dlbench-journals={journals}", f"--dlbench-html={page}"),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    entries = [entry for path in journals.glob("*.jsonl") for entry in read_journal(path) if isinstance(entry, Entry)]
    trained = [entry.run for entry in entries if entry.run and entry.run.case.startswith("training")]
    assert {run.case for run in trained} == {"training-tinygrad-gatech-lenet-digits28-opencl-cpu-smoke"}
    # A probe decided the number of steps, which are timed in chunks; the device's kind and speed are recorded.
    for run in trained:
        assert (run.device.kind, run.length.source) == ("cpu", "probe")
        assert sum(run.training.chunks) == len(run.training.step_seconds)
        assert 0 < run.flop_utilisation < 4
        assert "gpu" not in run.absent
    certificates = [entry.result.certificate for entry in entries if entry.result and entry.result.certificate]
    assert [(found.device, found.bound) for found in certificates] == [("opencl:cpu", 1e-5)]
    assert "opencl:cpu" in page.read_text()
