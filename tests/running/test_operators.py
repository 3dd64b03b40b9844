"""One run of a single operator in a real worker process: what is recorded of it, and what shows that it is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.environments import DEVICES, Framework
from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.model.operators import GEMM, AllReduce, Convolution
from pytest_dlbench.planning.operators import operator_spec
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Machine, Run, RunOutcome, codec
from pytest_dlbench.records.problems import OffReference
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.dialogue import CHECKS
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.training import train_once
from pytest_dlbench.storing import Entry, Journal, read_journal
from pytest_dlbench.workflows.validity import Examiner
from tests.running.specs import context

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="smoke", threads=1, seed=3, timeout_seconds=60.0)
PRODUCT = GEMM(m=192, n=256, k=320, transposes_data=True)


def run(fault: str = "", operator=PRODUCT, index: int = 0, builder: str = "numpy_operators", workers: int = 1) -> Run:
    """One run of a double with a fault, examined as in a session."""
    double = Framework(name="double", builder=builder, folders=(BUILDERS,), variables={"FAULT": fault} if fault else {})
    spec = operator_spec(replace(SETTINGS, workers=workers), operator, double, DEVICES["cpu"])
    hooks = RunHooks(is_suspicious=lambda check: bool(suspicion(check, "cpu")))
    return Examiner(probe=lambda *_: None).examine(spec, train_once(spec, index, hooks))


@pytest.fixture(scope="module")
def sound():
    return run()


def test_every_pass_is_called_as_often_as_the_scale_has_it_and_once_to_compile(sound):
    assert sound.outcome is RunOutcome.FINISHED, problems.of_run(sound)
    assert {name: len(one.seconds) for name, one in sound.operation.passes.items()} == dict.fromkeys(
        ("forward", "backward_data", "backward_weights"), 63 + 1
    )


def test_results_agree_with_numpy_in_float64_as_closely_as_float32_can(sound):
    passes = sound.operation.passes
    assert all(0 < one.deviation < 1e-6 for one in passes.values())
    assert {name: one.bounds for name, one in passes.items()} == {
        "forward": {"output": 1e-5},
        "backward_data": {"data": 1e-5},
        "backward_weights": {"weights": 1e-5},
    }


def test_rates_and_shares_are_those_of_the_judged_time(sound):
    forward = METRICS["forward_time"].read(sound)
    assert METRICS["forward_arithmetic"].read(sound) == pytest.approx(2 * 192 * 256 * 320 / forward / 1e9)
    assert METRICS["forward_traffic"].read(sound) == pytest.approx(
        4 * (192 * 320 + 320 * 256 + 192 * 256) / forward / 1e9
    )
    best = sound.operation.probe_flops["gemm"] / sound.operation.probes["gemm"]
    assert METRICS["forward_share"].read(sound) == pytest.approx(2 * 192 * 256 * 320 / forward / best)


def test_a_pass_that_is_not_computed_apart_has_no_figures(sound):
    assert METRICS["forward_backward_time"].read(sound) is None
    assert METRICS["throughput"].read(sound) is None


def test_only_probes_of_kinds_that_the_framework_has_are_called(sound):
    assert sound.operation.probes.keys() == {"gemm"}


def test_it_is_stored_and_read_without_loss(sound):
    assert codec.decode(codec.encode_line(sound), Run, "line") == sound


def test_calls_that_wait_for_their_work_are_checked_in_the_first_run_only(sound):
    assert all(1 <= len(one.checks) < CHECKS for one in sound.operation.passes.values())
    assert all(not one.checks for one in run(index=1).operation.passes.values())


def test_without_gradients_there_is_one_pass():
    assert run(operator=replace(PRODUCT, is_trained=False)).operation.passes.keys() == {"forward"}


def test_a_call_that_does_not_wait_for_its_work_is_impossible():
    found = run("unawaited")
    assert found.outcome is RunOutcome.FAILED
    assert (found.problem.unit, found.problem.operator_pass) == ("calls", "forward")
    assert all(len(one.checks) == CHECKS for one in found.operation.passes.values())


def test_a_gradient_that_differs_from_numpys_fails_the_run():
    found = run("wrong weights")
    assert found.outcome is RunOutcome.FAILED
    deviation = pytest.approx(1e-4, rel=0.05)
    assert found.problem == OffReference(
        array="weights", operator_pass="backward_weights", deviation=deviation, bound=1e-5
    )


def test_a_long_sum_has_a_larger_bound_which_its_record_and_problem_have():
    long = GEMM(m=2, n=3, k=500_000)
    assert run(operator=long).operation.passes["forward"].bounds == {"output": pytest.approx(4.2e-5, rel=0.01)}
    found = run("wrong output", operator=long)
    assert found.outcome is RunOutcome.FAILED
    assert (found.problem.bound, found.problem.products) == (pytest.approx(4.2e-5, rel=0.01), 500_000)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("cut", "forward.output has the shape (1, 256), expected (192, 256)"), ("without forward", "the pass 'forward'")],
)
def test_an_answer_that_cannot_be_is_a_broken_protocol(fault, message):
    found = run(fault)
    assert found.outcome is RunOutcome.BROKEN_PROTOCOL
    assert message in found.message


@pytest.fixture(scope="module")
def summed():
    """A run of two workers that sum their arrays, and one whose second worker returns its own array."""
    return {
        fault: run(fault, AllReduce(numbers=1000), builder="numpy_workers", workers=2) for fault in ("", "own array")
    }


def test_an_all_reduce_has_the_bandwidths_of_nccl_tests(summed):
    found = summed[""]
    assert found.outcome is RunOutcome.FINISHED, problems.of_run(found)
    seconds = METRICS["forward_time"].read(found)
    assert METRICS["forward_traffic"].read(found) == pytest.approx(4000 / seconds / 1e9)
    # 2·(n − 1)/n is 1 for two workers.
    assert METRICS["bus_bandwidth"].read(found) == pytest.approx(4000 / seconds / 1e9)
    assert METRICS["forward_share"].read(found) is None
    assert len(found.workers) == 2


def test_an_all_reduce_which_has_no_probes_is_read_from_a_journal_as_it_was(summed, tmp_path):
    journal = Journal(tmp_path)
    journal.append(Entry(run=summed[""], context=context()))
    (found,) = read_journal(journal.path)
    assert isinstance(found, Entry), found.message
    assert found.run == summed[""]
    assert not found.run.operation.probes


def test_a_sum_that_one_worker_lacks_fails_the_run_and_names_it(summed):
    problem = summed["own array"].problem
    assert (problem.ranks, problem.problem.array) == ((2,), "output")


def test_an_all_reduce_of_one_worker_is_unsupported():
    found = run(operator=AllReduce(numbers=1000), builder="numpy_workers")
    assert found.outcome is RunOutcome.UNSUPPORTED
    assert found.message == "an operator all_reduce needs several workers: --dlbench-workers=2"


def test_a_kind_that_the_framework_lacks_is_unsupported():
    lacking = Convolution(image=(8, 8), channels=1, batch=1, filters=1, kernel=(3, 3), padding=(0, 0), stride=(1, 1))
    found = run(operator=lacking)
    assert found.outcome is RunOutcome.UNSUPPORTED
    assert found.message == "the builder of double has no operator convolution"
