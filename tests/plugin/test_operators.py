"""dlbench.operate in a session: an operator is a case like any other."""

import json

import pytest

from pytest_dlbench.storing import recorded

TEST = """
import pytest_dlbench as dlb

def test_product(dlbench, framework, device):
    result = dlbench.operate(framework, dlb.GEMM(m=128, n=192, k=256), device)
    result.require(forward_time=60.0)
"""
CASE = "operator-numpy-gemm-128x192x256-nn-cpu"
# Real times of tens of microseconds.
WIDE = tuple(
    f"--dlbench-tolerance={name}:900%"
    for name in ("forward_time", "backward_data_time", "backward_weights_time", "peak_rss")
)
# A run takes seconds, and what else the machine does does not matter.
FEW = ("--dlbench-runs=3", "--dlbench-allow=invalid")


@pytest.fixture
def operators(suite):
    suite.write(builder="numpy_operators", more={"same": "numpy_operators", "lacks": "numpy_softmax"}, test=TEST)
    return suite


def cases_of(suite):
    return {one.record.case.framework: one for one in recorded.read([max(suite.path.glob(".dlbench/*.jsonl"))]).cases}


def test_it_is_measured_recorded_and_reported(operators):
    result = operators.run(
        "--dlbench-frameworks=numpy,lacks",
        "--dlbench-allow=invalid",
        "--dlbench-json=all.json",
        "--dlbench-html=all.html",
    )
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "case *forward 10 %*forward arithmetic*of probes*by data 10 %*by weights 10 %*",
            f"{CASE} *GFLOP/s*no_baseline",
        ]
    )
    assert "samples/s" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*the builder of lacks has no single operators*"])
    found = cases_of(operators)["numpy"]
    assert found.record.runs[0].operation.passes["forward"].flops == 2 * 128 * 192 * 256
    assert "by data of probes" in (operators.path / "all.html").read_text()
    document = json.loads((operators.path / "all.json").read_text())
    assert document["cases"]


def test_its_baseline_is_saved_and_compared(operators):
    chosen = "--dlbench-frameworks=numpy"
    operators.save(chosen, *FEW)
    stored = json.loads(operators.baseline(f"{CASE}-smoke").read_text())
    assert {"forward_time", "backward_data_time", "backward_weights_time"} <= stored["sessions"][0]["medians"].keys()
    assert operators.run(chosen, "--dlbench-compare", *FEW, *WIDE).ret == 0
    verdicts = {verdict.metric for verdict in cases_of(operators)["numpy"].result.verdicts}
    assert verdicts == {"forward_time", "backward_data_time", "backward_weights_time", "peak_rss"}


def test_two_sides_run_in_pairs(operators):
    result = operators.run("--dlbench-ab=numpy,same", "--dlbench-allow=invalid", *WIDE)
    assert result.ret == 0, result.stdout.str()
    found = cases_of(operators)["same"]
    assert found.result.pairing.design == "sequential"
    assert {"forward_time", "backward_data_time"} <= {verdict.metric for verdict in found.result.verdicts}


def test_a_recipe_cannot_be_set(operators):
    result = operators.run("--dlbench-frameworks=numpy", "--dlbench-set=batch_size=8")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--dlbench-set batch_size: an operator has no recipe*"])


def test_the_plan_names_it(operators):
    result = operators.run("--dlbench-frameworks=numpy", "--dlbench-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_product*"])
