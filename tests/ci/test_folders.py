"""Folders of the driver's tests: skipped if all that they depend on is as it was when they passed."""

import re
import sys

import pytest

from tests.ci.conftest import ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import contents
import folders

ALL, NONE = frozenset(folders.FOLDERS), frozenset()
# Its tests start sessions: its key is of the driver without what comes after runs.
CLUSTER = folders.CLUSTER
NAMES = ("pytorch", "jax")
WORKER = ("worker", "equivalence")
# The file that changes, and the folders whose key changes.
CHANGES = {
    "the terminal": ("pytest_dlbench/reporting/terminal.py", NONE),
    "a command": ("pytest_dlbench/cli/report.py", NONE),
    "the command that asks hosts": ("pytest_dlbench/cli/doctor.py", {CLUSTER}),
    "a workflow": ("pytest_dlbench/workflows/runs.py", {CLUSTER}),
    "a hook": ("pytest_dlbench/plugin/hooks.py", {CLUSTER}),
    "the gate": ("pytest_dlbench/judging/alpha_spending.py", {"judging", "sampling"}),
    "what a test imports from a higher layer": ("pytest_dlbench/workflows/false_alarms.py", {CLUSTER, "judging"}),
    "how workers are started": ("pytest_dlbench/running/launch.py", {CLUSTER, "environments", "judging", "running"}),
    "what all tests share": ("pytest_dlbench/running/lock_folder.py", ALL),
    "a record": ("pytest_dlbench/records/runs.py", ALL),
    "the worker": ("pytest_dlbench/worker/dlworker/training.py", ALL),
    "a test": ("tests/judging/test_intervals.py", {"judging"}),
    "a double in C": ("tests/doubles/nvml/nvml.c", ALL),
    "a double that tests name as text": ("tests/doubles/builders/lacks_its_framework.py", ALL),
    "a program that a folder's tests import": ("tests/characteristics/regimes.py", {"judging"}),
    "a page": ("docs/index.md", NONE),
}


def case(folder: str, inside: str = "") -> str:
    return f'<testcase classname="tests.{folder}.TestIt" name="test_is_so">{inside}</testcase>'


def keys(names=NAMES) -> dict[str, str]:
    return folders.test_keys(contents.about(names))


def skipped(tree) -> list[str]:
    return tree.ask("folders", tree.plan(NAMES)).split()


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_invalidates_only_the_folders_that_depend_on_it(what):
    file, invalid = CHANGES[what]
    assert (ROOT / file).is_file()
    assert {name for name in folders.FOLDERS if ROOT / file in folders.files(name)} == invalid


def test_another_installation_has_other_keys(monkeypatch):
    before = keys()
    monkeypatch.setattr(folders, "_installed", lambda: ["another"])
    assert not set(before.values()) & set(keys().values())


def test_files_of_the_workers_tests_depend_on_all_frameworks_and_on_the_pythons_that_are_asked_for(monkeypatch):
    before = keys()
    assert before.keys() == {*folders.FOLDERS, *folders.worker_tests()}
    monkeypatch.setenv("DLBENCH_REQUIRE_PYTHONS", "3.6")
    for other in (keys(), keys(NAMES[:1])):
        assert {name for name, key in other.items() if key != before[name]} == {*folders.worker_tests()}


@pytest.mark.parametrize(
    ("file", "invalid"),
    [
        ("pytest_dlbench/worker/dlworker/training.py", True),
        ("pytest_dlbench/environments/declared.py", True),
        ("tests/worker/conftest.py", True),
        ("bench/fixtures/golden/faster-rcnn-shapes-shapes.json", True),
        ("pytest_dlbench/reporting/terminal.py", False),
        ("tests/worker/test_programs.py", False),
    ],
)
def test_a_file_of_the_workers_tests_depends_on_the_worker_and_not_on_what_comes_after_runs(file, invalid):
    assert (ROOT / file in folders.files("worker/test_profiling.py")) == invalid


def test_every_file_of_the_workers_tests_is_in_a_sweep_or_has_a_key_of_its_own():
    swept = {test.removeprefix("tests/") for sweep in folders.SWEEPS.values() for test in sweep.tests}
    tests = {
        str(file.relative_to(ROOT / "tests")) for name in WORKER for file in (ROOT / "tests" / name).glob("test_*")
    }
    assert {*folders.worker_tests()} == tests - swept


def test_what_passed_is_skipped_until_it_changes(tree):
    passed = (case("judging"), case("model"), case("plugin"), case("worker.test_programs"))
    tree.ask("write", tree.first_plan(NAMES), tree.report(*passed))
    assert skipped(tree) == ["judging", "model", "worker/test_programs.py"]
    assert re.search(r"(?m)^skipped by stamps: tests/judging: \w+ of 20", tree.ask("list", tree.plan(NAMES)))
    with tree.changed("tests/model/test_network_laws.py"):
        assert skipped(tree) == ["judging", "worker/test_programs.py"]


def test_a_full_run_skips_no_folder(tree):
    tree.ask("write", tree.first_plan(NAMES), tree.report(case("judging")))
    assert tree.ask("folders", tree.plan(NAMES, CI_FULL="1")).split() == []


@pytest.mark.parametrize("inside", ["<failure/>", "<skipped/>"])
def test_a_folder_that_did_not_pass_runs_again(tree, inside):
    tree.ask("write", tree.first_plan(NAMES), tree.report(case("judging", inside)))
    assert skipped(tree) == []


def test_the_key_of_the_cluster_is_of_all_of_the_driver_that_places_and_runs():
    driver = ROOT / folders.DRIVER
    layers = {file.relative_to(driver).parts[0] for file in {*driver.rglob("*.py")} - {*folders.files(CLUSTER)}}
    assert layers == {*folders.AFTER_RUNS}


@pytest.mark.parametrize("name", sorted(ALL - {CLUSTER}))
def test_another_folder_with_a_key_starts_no_session_and_no_command(name):
    texts = [file.read_text() for file in (ROOT / "tests" / name).rglob("*.py")]
    starts = re.compile(r"\bpytester\b|[\"']-m[\"'], [\"']pytest|[\"']dlbench[\"']")
    assert not [found for text in texts for found in starts.findall(text)]
