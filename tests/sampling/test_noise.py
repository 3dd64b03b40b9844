"""The report of noise sources, from files in the kernel's format."""

import pytest

from pytest_dlbench.sampling.noise import findings
from tests.doubles.nvml import A100


@pytest.fixture
def found(tmp_path):
    """The finding about a topic on a machine with these files."""

    def found(topic, files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(f"{text}\n")
        return {finding.topic: finding for finding in findings(tmp_path)}.get(topic)

    return found


CPU = "sys/devices/system/cpu"
GPUS = """
from pytest_dlbench.sampling.noise import findings
answer = [asdict(one) for one in findings() if one.topic.startswith("GPU")]
"""
SWAPS = "Filename Type Size Used Priority\n/swapfile file 2097148 {used} -2"
NOISY = [
    ("virtual machine", {"proc/cpuinfo": "flags\t\t: fpu vme hypervisor avx2"}, "yes"),
    ("frequency governor", {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave"}, "powersave"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "0"}, "on"),
    ("turbo", {f"{CPU}/cpufreq/boost": "1"}, "on"),
    ("SMT", {f"{CPU}/smt/active": "1"}, "on"),
    ("load", {"proc/loadavg": "900.0 3 2 1/86 7215"}, "900.00 on"),
    ("stolen time", {"proc/stat": "cpu 100 0 0 800 0 0 0 100 0 0\ncpu0 1"}, "10.00%"),
    ("huge pages", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}, "always"),
    ("swap", {"proc/swaps": SWAPS.format(used=204800)}, "200 MiB used"),
    ("container's CPU limit", {"sys/fs/cgroup/cpu.max": "150000 100000"}, "1.5 CPUs"),
    (
        "container's CPU limit",
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
        "4 CPUs",
    ),
    (
        "power supply",
        {"sys/class/power_supply/BAT0/type": "Battery", "sys/class/power_supply/BAT0/status": "Discharging"},
        "battery",
    ),
    ("energy counters", {}, "absent"),
]
QUIET = [
    ("virtual machine", {"proc/cpuinfo": "flags\t\t: fpu vme avx2"}, "no"),
    ("frequency governor", {f"{CPU}/cpu0/cpufreq/scaling_governor": "performance"}, "performance"),
    ("frequency governor", {}, "not reported"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "1"}, "off"),
    ("turbo", {f"{CPU}/cpufreq/boost": "0"}, "off"),
    ("SMT", {f"{CPU}/smt/active": "0"}, "off"),
    ("load", {"proc/loadavg": "0.05 0.1 0.2 1/86 7215"}, "0.05 on"),
    ("stolen time", {"proc/stat": "cpu 100 0 0 900 0 0 0 1 0 0\ncpu0 1"}, "0.10%"),
    ("huge pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"}, "madvise"),
    ("swap", {"proc/swaps": SWAPS.format(used=0)}, "none used"),
    ("container's CPU limit", {"sys/fs/cgroup/cpu.max": "max 100000"}, "none"),
    ("container's CPU limit", {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"}, "none"),
]


@pytest.mark.parametrize(("topic", "files", "state"), NOISY)
def test_a_source_of_noise_is_reported_with_advice(found, topic, files, state):
    finding = found(topic, files)
    assert finding.state.startswith(state)
    assert finding.advice


@pytest.mark.parametrize(("topic", "files", "state"), QUIET)
def test_a_quiet_condition_has_no_advice(found, topic, files, state):
    finding = found(topic, files)
    assert finding.state.startswith(state)
    assert not finding.advice


@pytest.mark.parametrize("topic", ["virtual machine", "load", "stolen time", "huge pages", "power supply"])
def test_a_condition_that_the_kernel_does_not_report_is_skipped(found, topic):
    assert found(topic, {}) is None


def test_a_gpu_is_listed_with_its_settings_and_its_users(nvml):
    nvml.write({**A100, "processes": "10:100"})
    (finding,) = nvml.answer(GPUS)
    assert finding["topic"] == "GPU GPU-5f3c"
    assert finding["state"] == (
        "NVIDIA A100-SXM4-40GB, power limit 400 W, error correction on, persistence mode on, PCIe generation 4, 16"
        " lanes, 1 processes on it"
    )
    assert finding["advice"].startswith("nothing else may use a GPU")


def test_a_machine_without_a_gpu_says_why(found):
    gpus = [finding for finding in findings() if finding.topic.startswith("GPU")]
    assert gpus
    assert all(finding.state for finding in gpus)
