"""Which GPUs a session may use, by CUDA_VISIBLE_DEVICES."""

import pytest

from pytest_dlbench.environments import DEVICES, devices
from pytest_dlbench.environments.devices import visible_gpus

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
