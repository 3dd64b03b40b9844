"""What tests/gpu/check.sh writes about runs on GPUs."""

from importlib.metadata import version

from pytest_dlbench.records import GpuUsage, RunOutcome
from tests.doubles import records
from tests.gpu.seen import main, rows, versions

GPU = GpuUsage(
    name="Acme",
    uuid="GPU-1",
    utilisation=0.87,
    memory_peak_bytes=3 * 2**30,
    energy_joules=1234.5,
    energy_source="counter",
    absent={"temperature": "Not Supported"},
)


def test_a_run_has_a_row_for_each_gpu_with_reported_and_missing_values():
    (row, other) = rows([records.run(usage={"train": records.usage(gpus=(GPU, GPU))})])
    assert row == other
    assert row[1:] == ("87 %", "3,072 MiB", "–", "1,234 J (counter)", "–", "–", "nothing", "temperature: Not Supported")


def test_a_run_without_a_gpu_says_why():
    (row,) = rows([records.run(absent={"gpu": "Driver Not Loaded"})])
    assert row[-1] == "Driver Not Loaded"


def test_a_run_that_failed_says_how():
    (row,) = rows([records.unfinished(RunOutcome.FAILED, "no CUDA\nTraceback", usage={})])
    assert row[-1] == "failed: no CUDA"


def test_packages_are_listed_with_versions_however_they_were_installed():
    named = dict(package.split("==") for package in versions().split())
    assert named["numpy"] == version("numpy")
    assert any(name.replace("_", "-") == "nvidia-ml-py" for name in named)
    assert "pytest" not in named


def test_the_page_gets_a_list_and_a_table(tmp_path, capsys):
    main(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("- versions: ")
    assert lines[1:3] == ["", "| case | use | memory | power | energy | heat | clock | slowed by | not reported |"]
