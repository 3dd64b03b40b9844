"""The source of builders for GPUs has none of the faults that only a GPU would show."""

import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER
from tests.worker.gpu_code import Finding, unguarded, unwaited, waits_in_steps

WORKER = WORKER_FOLDER / "dlworker"
# The builders of the others refuse GPUs.
FOLDERS = ("pytorch", "jax", "tensorflow", "keras", "paddle", "tinygrad", "mlx", "mxnet", "chainer")
FILES = sorted(file for name in FOLDERS for file in (WORKER / "frameworks" / name).glob("*.py"))
SYNC = "synchronize"
# What waits in a step for a reason: framework/file, function, call.
ALLOWED = {
    ("paddle/layers.py", "_keeps_biased_variance", "item"): "asked once, before any step",
    ("tinygrad/__init__.py", "step", "item"): "the loss of a captured step is overwritten by the next",
    ("tinygrad/precision.py", "scaled_step", "item"): "whether gradients overflowed decides the update",
    ("mlx/precision.py", "scaled_step", "item"): "whether gradients overflowed decides the update",
    ("mxnet/__init__.py", "step", "waitall"): "its loss is ready before the update",
    ("mxnet/__init__.py", "step", "asscalar"): "after waitall, which has waited",
    ("mxnet/blocks.py", "move", "waitall"): "the engine does not know what writes the statistics",
    ("mxnet/parallel.py", "leave", "waitall"): "after all steps, before the store's servers end",
    ("mxnet/devices.py", "step", "waitall"): "the statistics move when all devices are done",
    ("mxnet/devices.py", "step", "asscalar"): "after waitall, which has waited",
    ("mxnet/devices.py", "leave", "waitall"): "after all steps",
    ("mxnet/devices.py", "copies", "asnumpy"): "after all steps, to compare the devices",
    ("tensorflow/devices.py", "copies", "numpy"): "after all steps, to compare the devices",
    ("mxnet/loader.py", "__call__", "asnumpy"): "in a loader's process, on the processor",
    ("mxnet/loader.py", "batches", "tolist"): "the order, once, before any step",
    ("pytorch/loader.py", "batches", "tolist"): "the order, once, before any step",
    ("paddle/loader.py", "__init__", "tolist"): "the order, once, before any step",
    ("paddle/loader.py", "batches", "numpy"): "batches of the loader are on the processor",
    **{
        (f"{name}.py", "wait", call): "an operator is timed until its result is there"
        for name, call in (
            ("chainer/operators", SYNC),
            ("paddle/operators", SYNC),
            ("tinygrad/operators", SYNC),
        )
    },
    ("mxnet/breakdown.py", "phases", "waitall"): "as in a whole step, before the statistics move",
    **{
        (f"{name}/checkpoint.py", "restore", call): "before the first step that goes on"
        for name, call in (("mlx", "item"), ("pytorch", "cpu"), ("tinygrad", "numpy"))
    },
    **{
        (f"{name}/breakdown.py", "wait", call): "a phase ends when it is computed; these steps are not the timed ones"
        for name, call in (("chainer", SYNC), ("mxnet", "waitall"), ("paddle", SYNC), ("tinygrad", SYNC))
    },
}


def place(file):
    return f"{file.parent.name}/{file.name}"


@pytest.mark.parametrize("file", FILES, ids=place)
def test_no_step_waits_for_the_device_without_a_reason(file):
    found = {(place(file), one.function, one.call) for one in waits_in_steps(file.read_text())}
    assert found <= ALLOWED.keys()


def test_every_reason_is_still_needed():
    found = {(place(file), one.function, one.call) for file in FILES for one in waits_in_steps(file.read_text())}
    assert ALLOWED.keys() <= found


@pytest.mark.parametrize("file", FILES, ids=place)
def test_cuda_is_called_only_under_a_condition(file):
    assert not list(unguarded(file.read_text()))


@pytest.mark.parametrize("file", sorted(WORKER.glob("*.py")), ids=lambda file: file.name)
def test_every_time_of_steps_ends_after_the_device_has_done_them(file):
    assert not list(unwaited(file.read_text()))


class TestFindings:
    @pytest.mark.parametrize("call", ["loss.item()", "x.cpu()", "lengths.numpy()", "nd.waitall()"])
    def test_a_wait_in_a_step_is_found(self, call):
        (found,) = waits_in_steps(f"class T:\n    def step(self, n):\n        return {call}\n")
        assert found == Finding("step", call.partition(".")[2].rstrip("()"), "waits for the device in a step")

    def test_a_wait_in_a_function_that_a_step_defines_is_found(self):
        source = "def outputs(self):\n    def step(x):\n        return x.item()\n    return step\n"
        assert [one.function for one in waits_in_steps(source)] == ["step"]

    def test_a_copy_between_steps_is_none(self):
        assert not list(waits_in_steps("def outputs(self, x):\n    yield self.forward(x).cpu().numpy()\n"))

    def test_a_call_of_cuda_without_a_condition_is_found(self):
        (found,) = unguarded("def make(device):\n    torch.cuda.set_device(device)\n")
        assert (found.function, found.call) == ("make", "torch.cuda.set_device")

    @pytest.mark.parametrize(
        "body",
        [
            "if device.type == 'cuda':\n        torch.cuda.set_device(device)",
            "return torch.cuda.name(device) if device.type == 'cuda' else ''",
            "if device.type != 'cuda':\n        return ''\n    return torch.cuda.name(device)",
            "return torch.cuda.is_available()",
        ],
    )
    def test_one_under_a_condition_is_none(self, body):
        assert not list(unguarded(f"def make(device):\n    {body}\n"))

    def test_a_clock_that_is_read_before_the_device_is_done_is_found(self):
        source = "def timed(t):\n    began = monotonic()\n    loss = t.step(0)\n    taken = monotonic() - began\n"
        assert [one.call for one in unwaited(source)] == ["monotonic"]

    def test_a_clock_after_a_loss_that_is_a_number_is_none(self):
        source = "def timed(t):\n    began = monotonic()\n    loss = float(t.step(0))\n    return monotonic() - began\n"
        assert not list(unwaited(source))
