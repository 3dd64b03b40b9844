"""The suite in bench/: which of its models are collected."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEW = ("--dlbench-frameworks=pytorch", "--dlbench-devices=cpu")


def collected(*arguments):
    """The models that pytest collects in bench/, by their tests, and the line that says why."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", *arguments, *FEW]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    cases = [line.partition("[pytorch-")[2].partition("]")[0] for line in out.splitlines() if "[pytorch-" in line]
    return cases, next((line for line in out.splitlines() if line.startswith("models: ")), "")


def test_four_models_are_the_default_whatever_is_selected():
    cases, why = collected("bench", "-m", "training and rnn")
    assert not cases
    assert why.startswith("models: gatech-lenet, hkbu-fcn-r, tartu-cifar10-cnn, tartu-mnist-cnn (the default; ")
    assert "--dlbench-models all has " in why


def test_all_models_are_asked_for_by_the_option_alone():
    cases, why = collected("bench", "--dlbench-models=all", "-m", "training and rnn")
    assert {case.partition("-")[0] for case in cases} == {"tartu", "hkbu", "rosetta"}
    assert not why


def test_a_node_id_finds_its_case():
    one = "tartu-imdb-lstm-pydoc-topics500-cpu"
    assert collected(f"bench/test_training.py::test_training[pytorch-{one}]")[0] == [one]


def test_inference_is_collected_where_it_is_asked_for():
    assert collected("bench", "-m", "inference")[0] == ["rosetta-resnet50-features-synthetic-cpu"]
