"""Folders of the driver's tests: skipped if all that they depend on is as it was when they passed."""

import re
import sys

import pytest

from tests.ci.conftest import ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import folders

ALL, NONE = frozenset(folders.FOLDERS), frozenset()
# Its tests start sessions: its key is of all of the driver.
CLUSTER = "cluster"
NAMES = ("pytorch", "jax")
# The file that changes, and the folders whose key changes.
CHANGES = {
    "the terminal": ("pytest_dlbench/reporting/terminal.py", {CLUSTER}),
    "a command": ("pytest_dlbench/cli/report.py", {CLUSTER}),
    "a hook": ("pytest_dlbench/plugin/hooks.py", {CLUSTER}),
    "the gate": ("pytest_dlbench/judging/alpha_spending.py", {CLUSTER, "judging", "sampling"}),
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
    return f'<testcase classname="tests.{folder}.test_it" name="test_is_so">{inside}</testcase>'


def skipped(tree) -> list[str]:
    return tree.ask("folders", tree.plan(NAMES)).split()


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_invalidates_only_the_folders_that_depend_on_it(what):
    file, invalid = CHANGES[what]
    assert (ROOT / file).is_file()
    assert {name for name in folders.FOLDERS if ROOT / file in folders.files(name)} == invalid


def test_another_installation_has_other_keys(monkeypatch):
    before = folders.folder_keys()
    monkeypatch.setattr(folders, "_installed", lambda: ["another"])
    assert not set(before.values()) & set(folders.folder_keys().values())


def test_a_folder_that_passed_is_skipped_until_it_changes(tree):
    tree.ask("write", tree.first_plan(NAMES), tree.report(case("judging"), case("model"), case("plugin")))
    assert skipped(tree) == ["judging", "model"]
    assert re.search(r"(?m)^skipped by stamps: tests/judging: \w+ of 20", tree.ask("list", tree.plan(NAMES)))
    with tree.changed("tests/model/test_network_laws.py"):
        assert skipped(tree) == ["judging"]


def test_a_full_run_skips_no_folder(tree):
    tree.ask("write", tree.first_plan(NAMES), tree.report(case("judging")))
    assert tree.ask("folders", tree.plan(NAMES, CI_FULL="1")).split() == []


@pytest.mark.parametrize("inside", ["<failure/>", "<skipped/>"])
def test_a_folder_that_did_not_pass_runs_again(tree, inside):
    tree.ask("write", tree.first_plan(NAMES), tree.report(case("judging", inside)))
    assert skipped(tree) == []


def test_the_key_of_the_cluster_is_of_all_of_the_driver():
    assert {*(ROOT / folders.DRIVER).rglob("*.py")} <= {*folders.files(CLUSTER)}


@pytest.mark.parametrize("name", sorted(ALL - {CLUSTER}))
def test_another_folder_with_a_key_starts_no_session_and_no_command(name):
    texts = [file.read_text() for file in (ROOT / "tests" / name).rglob("*.py")]
    starts = re.compile(r"\bpytester\b|[\"']-m[\"'], [\"']pytest|[\"']dlbench[\"']")
    assert not [found for text in texts for found in starts.findall(text)]
