"""``dlbench gpu-plan``."""

import json
import re

from pytest_dlbench.cli.main import main


def test_a_plan_lists_what_runs_and_groups_what_does_not(capsys):
    assert main(["gpu-plan", "v100", "--frameworks", "tensorflow,jax", "--models", "lenet,mnist-cnn"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "V100: 16 GiB, driver 580.65.06 assumed; steps and memory of a run are minima"
    assert lines[1].startswith("seconds: ")
    assert [line.partition(":")[0] for line in lines[2:4]] == ["tensorflow-gatech-lenet", "tensorflow-tartu-mnist-cnn"]
    assert lines[4].startswith("not jax (gatech-lenet, tartu-mnist-cnn): CUDA 13 needs a GPU with ")
    assert re.fullmatch(r"total: 2 of 4 cases would run, about \d+ min for one run of each", lines[5])


def test_as_json_each_case_has_its_reason(capsys):
    assert main(["gpu-plan", "K80", "--frameworks", "pytorch", "--models", "lenet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gpu"]["capability"] == [3, 7]
    assert [case["reason"].partition(",")[0] for case in found["cases"]] == [
        "CUDA 13 needs NVIDIA's driver 580.65.06 or newer"
    ]


def test_an_unknown_gpu_names_the_nearest(capsys):
    assert main(["gpu-plan", "A100"]) == 2
    assert "A100-40GB" in capsys.readouterr().err
