"""Sessions on a machine with GPUs: real sessions, workers and records, with a driver that has no hardware."""

from operator import le

import pytest

from pytest_dlbench.storing import Entry, read_journal
from tests.doubles.nvml import A100, T4

# The kernel's part of a driver, which a library cannot have.
WITH_A_DRIVER = """
from pytest_dlbench.environments import devices
devices.GPU_FILES = (Path(__file__),)
"""
TWO = {**A100, "uuid": "GPU-a"}, {**A100, "uuid": "GPU-b"}


@pytest.fixture
def session(suite, nvml, monkeypatch):
    """Train on GPUs; the result of the session, and its runs."""
    suite.write(builder="computes_on_a_gpu")
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + WITH_A_DRIVER)
    monkeypatch.setenv("LD_LIBRARY_PATH", nvml.variables["LD_LIBRARY_PATH"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def session(*arguments):
        result = suite.run("--dlbench-runs=1", *arguments)
        entries = [entry for path in sorted(suite.path.glob(".dlbench/**/*.jsonl")) for entry in read_journal(path)]
        return result, [entry.run for entry in entries if isinstance(entry, Entry) and entry.run]

    return session


def test_a_case_on_a_gpu_has_its_lease_and_what_the_gpu_reports(session, nvml):
    nvml.write(*TWO)
    result, (run,) = session("-m", "gpu")
    result.assert_outcomes(passed=1, deselected=1)
    assert run.case.endswith("-gpu-smoke")
    assert run.versions["cuda_visible_devices"] in ("GPU-a", "GPU-b")
    assert run.versions["cuda_device_order"] == "PCI_BUS_ID"
    (gpu,) = run.usage["train"].gpus
    assert sum(run.training.chunks) == len(run.training.step_seconds) == len(run.training.device_seconds)
    assert all(map(le, run.training.device_seconds, run.training.step_seconds))
    assert (gpu.uuid, gpu.utilisation) == (run.versions["cuda_visible_devices"], 0.9)
    assert run.speed.published_flops_per_second == 19.5e12
    assert 0 < run.flop_utilisation < 1


def test_all_runs_of_a_case_train_the_steps_that_a_probe_decided_and_later_sessions_keep_them(session, nvml):
    nvml.write(A100)
    usual = ("-m", "gpu", "--dlbench-runs=3", "--dlbench-allow=invalid")
    _, runs = session(*usual, "--dlbench-save", "--dlbench-reason=first")
    assert [(len(run.training.step_seconds), run.length.source, run.length.probed_steps) for run in runs] == [
        # Those of the recipe: they do not last a second.
        (88, "probe", 20)
    ] * 3
    _, runs = session(*usual)
    assert [(len(run.training.step_seconds), run.length.source) for run in runs[3:]] == [(88, "baseline")] * 3


def test_both_sides_of_pairs_on_a_gpu_train_as_many_steps_and_later_sessions_of_pairs_as_well(session, nvml):
    nvml.write(A100)
    pairs = ("-m", "gpu", "--dlbench-ab=numpy,numpy", "--dlbench-max-runs=3", "--dlbench-allow=invalid")
    session(*pairs)
    _, runs = session(*pairs)
    assert {len(run.training.step_seconds) for run in runs} == {88}
    assert [run.length.source for run in runs if run.index == 0] == ["probe", "probe", "journal", "journal"]


def test_a_setting_of_the_gpu_that_changed_is_listed_with_a_regression(session, suite, nvml):
    nvml.write(A100)
    usual = ("-m", "gpu", "--dlbench-runs=3", "--dlbench-allow=invalid")
    first, runs = session(*usual, "--dlbench-save", "--dlbench-reason=first")
    first.assert_outcomes(passed=1, deselected=1)
    assert runs[0].versions["GPU power limit"] == "400 W"
    nvml.write({**A100, "limit": 250_000})
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("SGD(0.1,", "SGD(1e-6,"))
    again, _ = session(*usual)
    again.assert_outcomes(failed=1, deselected=1)
    again.stdout.fnmatch_lines(["*GPU power limit 400 W → 250 W*"])


def test_a_numbered_gpu_is_used_and_not_part_of_the_case(session, nvml):
    nvml.write(*TWO)
    result, (run,) = session("--dlbench-devices=gpu:1")
    result.assert_outcomes(passed=1)
    assert (run.case, run.versions["cuda_visible_devices"]) == ("training-numpy-softmax-digits-gpu-smoke", "GPU-b")
    result.stdout.fnmatch_lines(["machine *-1x-nvidia-a100-sxm4-40gb-40-gib-driver-550.54.14*"])


def test_several_kinds_are_refused_before_anything_runs_and_one_may_be_chosen(session, nvml):
    nvml.write(A100, T4)
    result, runs = session("--dlbench-devices=gpu", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the GPUs are of several kinds, which cannot be compared: gpu:0 is NVIDIA A100*"])
    assert all(run.training is None for run in runs)
    result, runs = session("--dlbench-devices=gpu:0,gpu:0")
    result.assert_outcomes(passed=1)


def test_a_gpu_that_does_not_exist_is_refused(session, nvml):
    nvml.write(A100)
    result, _ = session("--dlbench-devices=gpu:0,3", "-rs")
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*there is no gpu:3 among those that this session may use: gpu:0 is NVIDIA A100*"])


def test_a_plan_has_the_environments_for_gpus_and_the_reasons_why_the_machine_cannot_run_them(session, nvml):
    nvml.write(A100)
    result, runs = session(
        "--dlbench-plan",
        "--dlbench-frameworks=numpy,pytorch,chainer,mxnet,paddle,theano",
        "--dlbench-devices=cpu,gpu:0",
        "--dlbench-build",
    )
    assert not runs
    result.stdout.fnmatch_lines_random(
        [
            "numpy-softmax-digits-gpu * runs",
            "pytorch-softmax-digits-cpu * runs*",
            "pytorch-softmax-digits-gpu * unsupported: pytorch: CUDA 13 needs NVIDIA's driver 580.65.06 or newer*",
            "chainer-softmax-digits-gpu * runs*",
            "mxnet-softmax-digits-gpu * runs*",
            "theano-softmax-digits-gpu * unsupported: theano: its builder is for processors",
        ]
    )


def test_a_plan_refuses_what_the_session_refuses(session, nvml):
    nvml.write(A100, T4)
    result, _ = session("--dlbench-plan", "--dlbench-devices=gpu")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-gpu * unsupported: the GPUs are of several kinds*"])


@pytest.mark.parametrize(
    ("framework", "reason"),
    [
        ("pytorch", "CUDA 13 needs NVIDIA's driver 580.65.06 or newer, not 550.54.14"),
        ("pytorch-1.0", "CUDA 9.0 needs a GPU with a compute capability of 3.5 to 7.5, * has 8.0"),
    ],
)
def test_a_build_that_the_machine_cannot_run_is_refused_and_not_built(session, nvml, framework, reason):
    nvml.write(A100)
    result, _ = session(f"--dlbench-frameworks={framework}", "--dlbench-devices=gpu", "--dlbench-build", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"*{framework}: {reason}*"])
