"""The examples in CI: each is checked, described, and skipped while nothing that it depends on has changed."""

import ast
import re

import pytest

from tests.ci.conftest import NAMES, ROOT

EXAMPLES = sorted(file.parent.name for file in ROOT.glob("examples/*/requirements.txt"))
# Plans take a second for each framework, and these tests make several.
FEW = ("pytorch",)
PROGRAMS = "pytest_dlbench/worker/dlworker/programs"


def report(tree, *names):
    """JUnit of a run in which these examples passed."""
    test = "test_its_own_test_passes_and_a_slow_commit_is_found"
    return tree.report(*(f'<testcase classname="examples.test_examples" name="{test}[{name}]"/>' for name in names))


def skipped(plan):
    return sorted(plan["skipped"].get("examples", {}))


def test_every_folder_is_checked():
    (table,) = (
        statement.value
        for statement in ast.parse((ROOT / "examples/test_examples.py").read_text()).body
        if isinstance(statement, ast.AnnAssign) and statement.target.id == "EXAMPLES"
    )
    assert sorted(key.value for key in table.keys) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_folder_is_whole_and_described(name):
    folder = ROOT / "examples" / name
    (test,) = folder.glob("tests/test_*.py")
    program = re.search(r"\"(programs/\w+\.py)\"", test.read_text())[1]
    described = re.findall(r"(?m)^\| `(.*)` \|", (folder / "README.md").read_text())
    assert sorted(described) == sorted(str(file.relative_to(folder)) for file in [*folder.glob("programs/*.py"), test])
    assert "pytest_dlbench" not in (folder / program).read_text()
    assert f"| `{name}` |" in (ROOT / "docs/how-to/examples.md").read_text()
    versions = re.findall(r"(?m)^[\w-]+(.*)$", (folder / "requirements.txt").read_text())
    assert all(version.startswith("==") for version in versions)


def test_what_passed_is_skipped_under_the_names_of_frameworks_too(tree):
    tree.ask("write", tree.plan(NAMES, CI_FULL="1"), report(tree, "pytorch", "keras"))
    plan = tree.plan(NAMES)
    stamps = plan["skipped"].pop("examples")
    assert sorted(name for name, stamp in stamps.items() if stamp["passed"]) == ["keras", "pytorch"]
    plan["skipped"].pop("newcomer")
    assert not any(plan["skipped"].values())


def test_two_run_at_a_time_until_all_have_passed(tree):
    ran = []
    while (plan := tree.plan(FEW))["skipped"].get("examples", {}).keys() < {*EXAMPLES}:
        now = tree.ask("frameworks", plan, "examples").strip().split(",")
        assert len(now) == 2
        later = {*EXAMPLES} - {*now, *ran}
        listed = tree.ask("list", plan)
        assert all(f"{name} runs later: examples: at most 2 at a time" in listed for name in later)
        assert all(re.search(rf"skipped by stamps: {name}: examples \w+-\w+ of 20", listed) for name in ran)
        tree.ask("write", plan, report(tree, *now))
        ran += now
    assert sorted(ran) == EXAMPLES


def test_those_whose_folder_has_changed_run_first(tree):
    tree.ask("write", tree.plan(FEW, CI_FULL="1"), report(tree, *EXAMPLES))
    first, *_, last = EXAMPLES
    with tree.changed("examples/test_examples.py"), tree.changed(f"examples/{last}/requirements.txt"):
        plan = tree.plan(FEW)
    assert tree.ask("frameworks", plan, "examples").strip().split(",") == [first, last]


@pytest.mark.parametrize(
    ("file", "again"),
    [
        ("examples/keras/programs/digits.py", ["keras"]),
        ("examples/keras/requirements.txt", ["keras"]),
        ("examples/keras/tests/test_digits.py", ["keras"]),
        ("examples/test_examples.py", EXAMPLES),
        (f"{PROGRAMS}/callbacks.py", EXAMPLES),
        ("pytest_dlbench/judging/intervals.py", []),
    ],
)
def test_a_change_runs_again_what_depends_on_it(unstamped, usual_keys, file, again):
    with unstamped.changed(file):
        keys = unstamped.plan()["keys"]["examples"]
    assert [name for name in EXAMPLES if keys[name] != usual_keys["examples"][name]] == again


def test_a_full_run_skips_no_example(tree):
    tree.ask("write", tree.plan(FEW, CI_FULL="1"), report(tree, *EXAMPLES))
    assert skipped(tree.plan(FEW)) == EXAMPLES
    assert skipped(tree.plan(FEW, CI_FULL="1")) == []
