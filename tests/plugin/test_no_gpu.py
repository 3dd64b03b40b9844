"""Sessions that ask for GPUs only, on a machine whose GPUs are hidden: one line at once, and nothing is run."""

import pytest

HIDDEN = "no GPU on this machine: CUDA_VISIBLE_DEVICES='' hides them all. Unset it, or name GPUs in it, such as *=0"
MARKS = """
import pytest

def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)

@pytest.mark.gpu
@pytest.mark.own
def test_that_needs_no_device():
    pass
"""


@pytest.fixture(autouse=True)
def hidden(suite, monkeypatch):
    """All GPUs are hidden, and so is a framework that could not be imported."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    suite.write(more={"lacking": "lacks_a_library"})


def test_gpus_by_option_end_the_session_at_once(suite):
    result = suite.run("--dlbench-devices=gpu")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stderr.fnmatch_lines([f"Exit: {HIDDEN}"])
    assert not result.outlines
    assert not (suite.path / ".dlbench").exists()


@pytest.mark.parametrize("expression", ["gpu", "gpu and fcn", "gpu and not slow"])
def test_gpus_by_marks_end_the_session_after_collection(suite, expression):
    result = suite.run("-m", expression)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([f"*{HIDDEN}*"])
    result.assert_outcomes(deselected=2)
    assert not (suite.path / ".dlbench").exists()


@pytest.mark.parametrize("processes", ["-n1", "-n2"])
def test_gpus_by_marks_end_a_session_of_several_processes_with_the_same_line(suite, processes):
    result = suite.run("-m", "gpu", processes)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([f"*{HIDDEN}*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert not (suite.path / ".dlbench").exists()


def test_a_gpu_of_this_machine_is_not_asked_for_where_hosts_are_leased(suite):
    result = suite.run("-m", "gpu", "--dlbench-on=srun", "-rs")
    assert "no GPU on this machine" not in result.stdout.str()


@pytest.mark.parametrize("expression", ["slow", "gpu and slow", "gpu and nobody_has_this", "cpu and slow"])
def test_marks_that_select_nothing_for_another_reason_are_pytests_own_business(suite, expression):
    result = suite.run("-m", expression)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.assert_outcomes(deselected=2)
    assert "no GPU" not in result.stdout.str()


@pytest.mark.parametrize("expression", ["gpu or fcn", "not gpu", "gpu and own"])
def test_marks_that_select_something_run_it(suite, expression):
    suite.write(test=MARKS)
    result = suite.run("-m", expression)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] >= 1


def test_another_device_beside_the_gpu_still_runs_and_the_gpu_is_unsupported_without_a_worker(suite):
    suite.write()
    result = suite.run("--dlbench-devices=cpu,gpu", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*unsupported: training-numpy-softmax-digits-gpu-smoke*", "*no gpu on this machine*"])


def test_a_plan_for_gpus_is_still_shown(suite):
    result = suite.run("--dlbench-plan", "--dlbench-devices=gpu")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-gpu * unsupported: no gpu on this machine"])


def test_a_framework_without_opencl_is_refused_on_it(suite):
    suite.write()
    result = suite.run("--dlbench-devices=opencl:cpu", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*unsupported: training-numpy-softmax-digits-opencl-cpu-smoke*"])
    result.stdout.fnmatch_lines(["*numpy does not compute by OpenCL: --dlbench-devices=opencl:cpu is for tinygrad*"])
