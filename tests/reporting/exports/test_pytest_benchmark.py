"""The exported file, read by pytest-benchmark itself."""

import json
import subprocess
import sys

import pytest

from pytest_dlbench.reporting.exports import FORMATS


@pytest.fixture
def exported(tmp_path, sound, unfinished):
    path = tmp_path / "0001_ours.json"
    path.write_bytes(FORMATS["pytest-benchmark"].write([sound, unfinished]))
    return path


def compare(*arguments):
    command = [sys.executable, "-m", "pytest_benchmark", "compare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pytest_benchmark_compares_the_file(exported, sound):
    done = compare("--columns=min,median,max,rounds", exported)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith(sound.record.case.id))
    assert [word for word in line.split() if not word.startswith("(")][-4:] == ["10.0000", "11.0000", "12.0000", "3"]


def test_pytest_benchmark_converts_the_file_to_csv_with_the_axes_as_params(exported, tmp_path):
    done = compare(f"--csv={tmp_path / 'out'}", exported)
    assert done.returncode == 0, done.stderr
    heading, row = (tmp_path / "out.csv").read_text().splitlines()
    found = dict(zip(heading.split(","), row.split(","), strict=True))
    assert (found["param:framework"], found["param:model"]) == ("pytorch", "mnist-cnn")


def test_the_file_has_all_fields_that_pytest_benchmark_writes(exported, pytester, monkeypatch):
    # pytest-benchmark measures nothing if it seems to run under xdist.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile("def test_it(benchmark):\n    benchmark.pedantic(int, rounds=3)\n")
    done = pytester.runpytest_subprocess("--benchmark-json=theirs.json", "--benchmark-save-data")
    assert done.ret == 0
    theirs, ours = json.loads((pytester.path / "theirs.json").read_text()), json.loads(exported.read_text())
    assert ours.keys() >= theirs.keys()
    assert ours["benchmarks"][0].keys() >= theirs["benchmarks"][0].keys()
    assert ours["benchmarks"][0]["stats"].keys() >= theirs["benchmarks"][0]["stats"].keys()


def test_an_unfinished_case_is_omitted(exported, sound):
    assert [benchmark["name"] for benchmark in json.loads(exported.read_text())["benchmarks"]] == [sound.record.case.id]
