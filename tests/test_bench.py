"""The suite in bench/: which of its cases are collected, in which order."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dlbench.reporting.study import row

ROOT = Path(__file__).parents[1]
FEW = ("--dlbench-frameworks=pytorch", "--dlbench-devices=cpu")
PYTEST = (sys.executable, "-m", "pytest", "-p", "dlbench", "-p", "no:cacheprovider", "--collect-only")


def printed(*arguments, folder=ROOT):
    """What pytest prints that collects, without the plugins of others: they take half of the time."""
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [*PYTEST, *arguments]
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False).stdout


def collected(*arguments):
    """The models that pytest collects in bench/, by their tests, and the line that says why."""
    out = printed(*arguments, *FEW)
    cases = [line.partition("[pytorch-")[2].partition("]")[0] for line in out.splitlines() if "[pytorch-" in line]
    return cases, next((line for line in out.splitlines() if line.startswith("models: ")), "")


def node_ids(*arguments, suite=("bench",), folder=ROOT):
    """What pytest collects in bench/."""
    return [line for line in printed(*suite, "-q", *arguments, folder=folder).splitlines() if "::" in line]


def test_without_options_it_is_the_eight_cases_of_the_readme_and_speed_comes_first():
    # Whatever is installed or built here, gcc for pytorch-compile included.
    found = [line.partition("::")[2].removesuffix("-cpu]") for line in node_ids("--dlbench-devices=cpu")]
    cells = {
        f"{framework}-{cell}"
        for framework in ("pytorch", "jax")
        for cell in ("gatech-lenet-digits28", "hkbu-fcn-r-digits28")
    }
    tests = [line.partition("[")[0] for line in found]
    assert tests == ["test_training"] * 4 + ["test_trains_the_same_network"] * 4
    assert {line.partition("[")[2] for line in found[:4]} == cells
    assert {line.partition("[")[2] for line in found[4:]} == cells


def test_elsewhere_the_suite_of_the_package_is_the_same(tmp_path):
    here = node_ids("--dlbench-devices=cpu")
    elsewhere = node_ids("--dlbench-devices=cpu", suite=("--pyargs", "pytest_dlbench.bench"), folder=tmp_path)
    assert [line.partition("::")[2] for line in elsewhere] == [line.partition("::")[2] for line in here]
    assert len(elsewhere) == 8


def test_tests_of_others_in_the_session_are_left_as_they_are(tmp_path):
    own = (
        "import pytest\n@pytest.mark.equivalence\ndef test_own(): pass\n@pytest.mark.inference\ndef test_more(): pass\n"
    )
    (tmp_path / "test_own.py").write_text(own)
    both = ("test_own.py", "--pyargs", "pytest_dlbench.bench")
    found = node_ids("--dlbench-devices=cpu", suite=both, folder=tmp_path)
    assert found[:2] == ["test_own.py::test_own", "test_own.py::test_more"]
    assert len(found) == 10


def test_other_frameworks_are_asked_for_by_name_by_pattern_or_all_together():
    named = "\n".join(node_ids("--dlbench-frameworks=tensorflow1", "-k", "training and lenet"))
    assert "test_training[tensorflow1-gatech-lenet-digits28-cpu]" in named
    pattern = "\n".join(node_ids("--dlbench-frameworks=jax*,pytorch", "-k", "training and lenet"))
    assert "[jax-" in pattern
    assert "[pytorch-" in pattern
    # Those that are not installed are skipped: at least these two are installed here.
    installed = "\n".join(node_ids("--dlbench-frameworks=all", "-k", "training and lenet"))
    assert "[jax-" in installed
    assert "[pytorch-" in installed
    assert "[torch7-" not in installed


def test_a_node_id_finds_the_case_of_another_framework():
    one = "bench/test_training.py::test_training[tensorflow-gatech-lenet-digits28-cpu]"
    assert [line for line in printed(one, "-q", "--dlbench-build").splitlines() if "::" in line] == [one]


def test_two_models_are_the_default_whatever_is_selected():
    cases, why = collected("bench", "-m", "training and rnn")
    assert not cases
    assert why.startswith("models: gatech-lenet, hkbu-fcn-r (the default; ")
    assert "--dlbench-models all has " in why


def test_all_models_are_asked_for_by_the_option_alone():
    cases, why = collected("bench", "--dlbench-models=all", "-m", "training and rnn")
    assert {case.partition("-")[0] for case in cases} == {"tartu", "hkbu", "rosetta"}
    assert not why


def test_the_mark_of_a_study_adds_its_models_to_the_default():
    others, _ = collected("bench", "-m", "not tartu and training", "--dlbench-datasets=digits28")
    assert others == ["gatech-lenet-digits28-cpu", "hkbu-fcn-r-digits28-cpu"]


def test_the_row_that_readers_of_the_study_repeat_is_a_training_in_each_of_its_frameworks():
    command = shlex.split(row.SESSION)
    assert command[:2] == ["pytest", "bench"]
    found = node_ids(*command[2:], "--dlbench-devices=cpu")
    cell = "-".join(row.ROW[:2])
    assert found == [f"bench/test_training.py::test_training[{name}-{cell}-cpu]" for name in row.FRAMEWORKS]


def test_models_that_the_command_line_names_are_all_that_the_mark_of_a_study_selects_from():
    assert not collected("bench", "-m", "tartu", "--dlbench-models=gatech-lenet")[0]


def test_a_node_id_finds_its_case():
    one = "tartu-imdb-lstm-pydoc-topics500-cpu"
    assert collected(f"bench/test_training.py::test_training[pytorch-{one}]")[0] == [one]


@pytest.mark.parametrize("asked", [["-m", "detection"], ["-k", "detection"], ["-k", "faster-rcnn-shapes"]])
def test_detectors_are_collected_where_they_are_asked_for(asked):
    found = node_ids("--dlbench-devices=cpu", *asked)
    cells = [f"[{framework}-faster-rcnn-shapes-shapes-cpu]" for framework in ("pytorch", "jax")]
    assert [line.partition("::")[2] for line in found] == [
        *(f"test_training{cell}" for cell in cells),
        *(f"test_trains_the_same_network{cell}" for cell in cells),
    ]


def test_models_are_not_spoken_of_where_only_operators_are_selected():
    assert not collected("bench", "-m", "operator")[1]
    assert collected("bench", "-m", "operator or training")[1]


def test_models_that_were_asked_for_are_not_called_the_default():
    _, why = collected("bench", "-m", "detection")
    assert why.startswith("models: faster-rcnn-shapes, gatech-lenet, hkbu-fcn-r (--dlbench-models all has ")


def test_a_node_id_finds_the_case_of_a_detector():
    one = "faster-rcnn-shapes-shapes-cpu"
    assert collected(f"bench/test_training.py::test_training[pytorch-{one}]")[0] == [one]


def test_an_ini_key_names_a_detector_as_the_option_does(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ndlbench_models = faster-rcnn-shapes\n")
    by_key = node_ids("--dlbench-devices=cpu", suite=("--pyargs", "pytest_dlbench.bench"), folder=tmp_path)
    assert len(by_key) == 4
    assert all("faster-rcnn-shapes" in line for line in by_key)


def test_inference_is_collected_where_it_is_asked_for():
    assert collected("bench", "-m", "inference")[0] == ["rosetta-resnet50-features-synthetic-cpu"]


def test_operators_are_collected_where_they_are_asked_for_and_the_scale_limits_them():
    found = node_ids("-m", "operator", "--dlbench-devices=cpu", "--dlbench-frameworks=pytorch,jax")
    assert len(found) == 2 * 13
    assert "bench/test_operators.py::test_operator[lstm-512-n16-t25-pytorch-cpu]" in found
    small = node_ids("-k", "operator and lstm", "--dlbench-devices=cpu", "--dlbench-scale=smoke")
    assert {line.partition("[")[2] for line in small} == {
        f"lstm-256-n1-t150-forward-{framework}-cpu]" for framework in ("pytorch", "jax")
    }


def test_all_reduces_are_collected_with_several_workers():
    found = node_ids("-m", "operator", "--dlbench-devices=cpu", "--dlbench-workers=2", "--dlbench-threads=1")
    assert {line.partition("[")[2].partition("-pytorch")[0] for line in found if "pytorch" in line} == {
        f"all-reduce-{numbers}" for numbers in (100_000, 3_097_600, 4_194_304, 6_553_600)
    }


def test_searches_are_collected_where_they_are_asked_for_and_the_scale_has_budgets():
    found = node_ids("-m", "search", "--dlbench-scale=full")
    names = {f"bench/test_search.py::{name}" for name in ("test_search", "test_search_by_autokeras")}
    assert {node.partition("[")[0] for node in found} == names
    # Three engines with two budgets.
    assert len(found) == 6
    assert not any("test_search" in node for node in node_ids("-m", "training"))
