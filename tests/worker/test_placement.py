"""Everything that a step computes with is on the requested device, shown without a GPU on unusual devices.

PyTorch has a device whose arrays have a shape but no numbers, XLA and TensorFlow can split a processor into two, and
Chainer takes a device of a class of its own.
"""

from dataclasses import replace

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Places
from pytest_dlbench.model import infer
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running import launch
from pytest_dlbench.running.messages import Failed
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, session
from tests.worker.test_mixed_precision import NETWORK, RECIPE
from tests.worker.test_vocabulary_agrees import CASES, data_of

ELSEWHERE = {
    "pytorch": ("placed_pytorch", "meta"),
    "jax": ("placed_jax", "cpu:1"),
    "keras-jax": ("placed_keras", "cpu:1"),
    "chainer": ("placed_chainer", "gpu"),
    "tensorflow": ("placed_tensorflow", "gpu"),
}
SMALL = {"small": (NETWORK, RECIPE, synthetic_for(NETWORK.model))}
# With arrays that a step makes by itself: packed and padded sequences, states that are passed on, uneven windows. XLA
# compiles them for minutes, into one program that cannot mix devices.
TRIED = {
    **SMALL,
    **{
        name: (infer(tried), replace(recipe, precision="float32"), data_of(tried))
        for name, (tried, recipe) in CASES.items()
        if name in ("lstm-of-lengths", "gru-of-lengths", "pairs-of-sentences", "branched", "clipped")
    },
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_trains_and_what_is_evaluated_is_on_the_requested_device(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    place_of(name)
    builder, device = ELSEWHERE[name]
    framework = replace(FRAMEWORKS[name], builder=builder, folders=(BUILDERS,))
    with session(framework, tmp_path / name, is_optimised=True) as asked:
        asked.hello(device=device)
        for tried, (network, recipe, examples) in (SMALL if "jax" in name else TRIED).items():
            data = prepare(examples, tmp_path / tried)
            for answer in (asked.build(network, recipe), asked.train(data, recipe, 2), asked.evaluate(data)):
                assert not isinstance(answer, Failed), (tried, answer.traceback)


@pytest.mark.parametrize(
    ("lease", "has_cuda", "chosen"),
    [
        ("GPU-a", True, "chose CUDA"),
        ("GPU-a", False, "ignores CUDA_VISIBLE_DEVICES"),
        ("", False, "chose NV"),
    ],
)
def test_tinygrad_uses_a_back_end_that_keeps_to_the_leased_gpu(tmp_path, lease, has_cuda, chosen):
    place_of("tinygrad")
    variables = (("CUDA_VISIBLE_DEVICES", lease), *((("DOUBLE_HAS_CUDA", "1"),) if has_cuda else ()))
    framework = replace(FRAMEWORKS["tinygrad"], builder="chooses_tinygrad", folders=(BUILDERS,), variables=variables)
    with session(framework, tmp_path) as asked:
        asked.hello(device="gpu")
        answer = asked.build(NETWORK, RECIPE)
    assert (answer.kind, chosen in answer.message) == ("unsupported", True), answer.message


def test_on_a_gpu_single_precision_is_not_rounded_and_memory_is_allocated_on_demand(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    place = Places().find(FRAMEWORKS["pytorch"])
    place = replace(place, caches=tmp_path)
    of = {
        name: launch.environment(FRAMEWORKS["pytorch"], place, device=device, threads=1, execution=execution)
        for name, device, execution in (("cpu", "cpu", ()), ("gpu", "gpu", ()), ("tf32", "gpu", ("tf32",)))
    }
    assert of["gpu"]["NVIDIA_TF32_OVERRIDE"] == "0"
    assert "NVIDIA_TF32_OVERRIDE" not in of["tf32"]
    assert of["gpu"]["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert of["gpu"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert "CUDA_VISIBLE_DEVICES" not in of["gpu"]
    assert of["cpu"]["CUDA_VISIBLE_DEVICES"] == ""


def test_mxnet_normalises_on_a_gpu_with_the_operator_whose_statistics_it_reads(tmp_path):
    place_of("mxnet")
    framework = replace(FRAMEWORKS["mxnet"], builder="tells_operators", folders=(BUILDERS,))
    with session(framework, tmp_path) as asked:
        asked.hello()
        answer = asked.build(NETWORK, RECIPE)
    assert answer.description == "BatchNorm: cudnn_off=True"
