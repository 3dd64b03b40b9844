"""Which GPUs a session may use, by CUDA_VISIBLE_DEVICES."""

import pytest

from pytest_dlbench.environments import DEVICES, FRAMEWORKS, devices
from pytest_dlbench.environments.devices import numbered, visible_gpus

GPU = DEVICES["gpu"]


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """The files of a GPU's driver."""
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(devices, "GPU_FILES", (tmp_path / "nvidiactl",))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({}, None),
        ({"CUDA_VISIBLE_DEVICES": ""}, ()),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, ()),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, ()),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ("0",)),
        ({"CUDA_VISIBLE_DEVICES": "1, 0"}, ("1", "0")),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,1"}, ("0",)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-5f3c,MIG-7a"}, ("GPU-5f3c", "MIG-7a")),
        ({"CUDA_VISIBLE_DEVICES": "0,0"}, ("0",)),
    ],
)
def test_the_list_ends_at_the_first_entry_that_is_not_a_gpu(variables, names):
    assert visible_gpus(variables) == names


def test_a_gpu_is_available_if_its_driver_is_there(driver):
    assert GPU.is_available
    assert not GPU.is_hidden


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles"])
def test_a_hidden_gpu_is_not_available(driver, monkeypatch, value):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert not GPU.is_available
    assert not GPU.may_exist
    assert GPU.is_hidden


def test_hiding_gpus_does_not_hide_the_processor(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert DEVICES["cpu"].is_available
    assert not DEVICES["cpu"].is_hidden


class TestOpenCL:
    """The processor in place of a GPU, which only its whole name asks for."""

    @pytest.fixture
    def drivers(self, tmp_path, monkeypatch):
        monkeypatch.setattr(devices, "OPENCL_DRIVERS", tmp_path)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        return tmp_path

    def test_it_needs_a_driver_that_is_named_for_opencl(self, drivers):
        found = numbered("opencl:cpu")
        assert not found.is_available
        (drivers / "pocl.icd").touch()
        assert found.is_available
        assert (found.marks, found.in_id, found.is_hidden) == (("opencl",), "opencl-cpu", False)

    def test_it_is_no_device_of_the_matrix_by_itself(self):
        assert "opencl:cpu" not in DEVICES
        assert numbered("opencl") is None
        assert numbered("opencl:0") is None

    def test_tinygrad_may_take_the_processor_there_and_on_no_other_device(self):
        tinygrad = FRAMEWORKS["tinygrad"]
        assert tinygrad.on("opencl:cpu").takes_processor_as_gpu
        assert not tinygrad.on("gpu").takes_processor_as_gpu
        assert not FRAMEWORKS["pytorch"].on("opencl:cpu").takes_processor_as_gpu
