"""Certificates: attached to the records of the network that they hold for, also of tests that trained before."""

import json

import pytest

from pytest_dlbench.storing.recorded import read

# The golden losses are those of the same double, times 1 + DEVIATION.
CERTIFIES = """
from dataclasses import replace
import pytest_dlbench as dlb
from pytest_dlbench.data.cache import prepared_root
from pytest_dlbench.data.preparation import prepare

def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)

def test_equivalence(dlbench, framework, model, dataset, device):
    found = dlbench.run(framework, model, dataset, device, steps=3, seed=1, is_timed=False, recipe=model.recipe)
    golden = dlb.Golden(
        network_digest=dlb.infer(model).digest,
        dataset_digest=prepare(dataset, prepared_root()).digest,
        difference=0.0,
        losses=tuple(loss * (1 + DEVIATION) for loss in found.training.losses),
        evaluation_loss=found.evaluation.loss,
    )
    dlbench.certify(
        framework, model, dataset, device, golden=golden, recipe=model.recipe, seed=1, bound=1e-4,
    )
"""


def session(suite, deviation, *arguments, runs=1):
    suite.write(test=f"DEVIATION = {deviation}\n{CERTIFIES}")
    result = suite.run(f"--dlbench-runs={runs}", "--dlbench-json=session.json", "--dlbench-allow=invalid", *arguments)
    (case,) = json.loads((suite.path / "session.json").read_text())["cases"]
    return result, case


def test_a_certificate_is_attached_to_what_was_trained_before_it(suite):
    result, case = session(suite, 2e-5)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu * 2e-05 *no_baseline"])
    assert case["result"]["certificate"]["deviation"] == pytest.approx(2e-5, rel=1e-3)
    (found,) = read([suite.path / ".dlbench"]).cases
    assert found.result.certificate == found.record.certificate
    assert found.result.certificate.deviation == pytest.approx(2e-5, rel=1e-3)


def test_one_that_is_not_equal_is_attached_to_nothing(suite):
    _, case = session(suite, 2e-3)
    assert case["result"]["certificate"] is None


def test_another_precision_is_not_certified_by_it(suite):
    session(suite, 2e-5)
    result, case = session(suite, 2e-5, "--dlbench-set", "precision=float64")
    result.assert_outcomes(passed=2)
    assert case["result"]["certificate"] is None


def test_a_test_that_failed_its_own_assertion_stays_failed(suite):
    train = "dlbench.train(framework, model, dataset, device)"
    suite.write(test="DEVIATION = 2e-5\n" + CERTIFIES.replace(train, f"{train}; assert False"))
    suite.run("--dlbench-runs=1", "--dlbench-allow=invalid").assert_outcomes(passed=1, failed=1)
    (found,) = read([suite.path / ".dlbench"]).cases
    assert found.result.outcome == "failed"
    assert found.result.certificate is not None


def test_a_saved_case_is_certified_too_and_stays_saved(suite):
    _, case = session(suite, 2e-5, "--dlbench-save", "--dlbench-reason=first", runs=3)
    assert case["result"]["saved"]
    assert case["result"]["certificate"] is not None


def test_workers_of_xdist_certify_what_they_trained(suite):
    result, case = session(suite, 2e-5, "-n1")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu * 2e-05 *no_baseline"])
    assert case["result"]["certificate"] is not None
