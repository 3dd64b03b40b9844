"""Stamps: written only for what passed, part by part, honoured by tests, and never for all frameworks at once."""

import pytest

from tests.ci.test_contents import builder

NAMES = ("pytorch", "jax", "mxnet", "mxnet-imperative", "chainer", "cntk")
THREE = NAMES[:3]
SWEEP, MODULE = "layers", "tests.worker.test_builders_agree.TestEveryLayer"


def case(framework: str, inside: str = "", module: str = MODULE) -> str:
    return f'<testcase classname="{module}" name="test_has_the_losses[{framework}]">{inside}</testcase>'


def stamp(tree, *frameworks: str) -> None:
    """Write stamps like a run that trains some frameworks and passes."""
    assert tree.ask("write", tree.first_plan(NAMES), tree.report(*map(case, frameworks))).startswith("stamps written: ")


def skipped(plan):
    return set(plan["skipped"].get(SWEEP, {}))


def test_what_passed_is_skipped_except_one_in_rotation(tree):
    assert skipped(tree.first_plan(NAMES)) == set()
    stamp(tree, *NAMES)
    plan = tree.plan(NAMES)
    assert skipped(plan) == {*NAMES} - {"pytorch"}
    assert tree.ask("frameworks", plan, SWEEP) == "pytorch\n"
    assert tree.ask("frameworks", plan, "vocabulary") == f"{','.join(NAMES)}\n"


def test_frameworks_rotate(tree):
    stamp(tree, *THREE)
    turns = []
    for _ in range(4):
        plan = tree.plan(THREE)
        turns.append(plan["turn"])
        tree.ask("write", plan, tree.report(*(case(name) for name in THREE if name not in plan["skipped"][SWEEP])))
    assert turns == [*THREE, "pytorch"]


def test_frameworks_rotate_past_stamps_that_stay(tree):
    # What does not rotate: a sweep of a few frameworks, and the examples, one of which has the name of a framework.
    others = ("tests.worker.test_program_frameworks", "examples.test_examples")
    stay = [case("pytorch", module=module) for module in others]
    tree.ask("write", tree.plan(NAMES), tree.report(*stay, *map(case, NAMES)))
    tree.ask("write", tree.plan(NAMES), tree.report(case("pytorch")))
    assert tree.plan(NAMES)["turn"] == "jax"


# The file that changes, and the sweep in which PyTorch and JAX then run again, and no other framework.
DRIVEN = {
    "how workers are started": ("pytest_dlbench/running/launch.py", {SWEEP, "side-by-side"}),
    "the terminal": ("pytest_dlbench/reporting/terminal.py", {"side-by-side"}),
    "a page": ("docs/index.md", set()),
}


@pytest.mark.parametrize("what", DRIVEN)
def test_jax_runs_again_if_what_its_tests_need_of_the_driver_has_changed(tree, what):
    file, sweeps = DRIVEN[what]
    for part, module in {"worker": MODULE, "all": "bench.test_training"}.items():
        report = tree.report(*(case(name, module=module) for name in NAMES), part=part)
        tree.ask("write", tree.first_plan(NAMES), report)
    with tree.changed(file):
        found = tree.plan(NAMES)["skipped"]
    assert {sweep for sweep in (SWEEP, "side-by-side") if "jax" not in found[sweep]} == sweeps
    assert all("chainer" in found[sweep] for sweep in (SWEEP, "side-by-side"))


def test_a_framework_that_fails_in_the_rotation_runs_again(tree):
    stamp(tree, *NAMES)
    plan = tree.plan(NAMES)
    tree.ask("write", plan, tree.report(case(plan["turn"], "<failure/>")))
    assert tree.plan(NAMES)["turn"] == plan["turn"]


@pytest.mark.parametrize("bad", ["failure", "error"])
def test_a_part_in_which_anything_failed_stamps_nothing(tree, bad):
    report = tree.report(case("chainer"), case("mxnet"), case("somewhere", f"<{bad}/>", "tests.judging.test_levels"))
    assert tree.ask("write", tree.first_plan(NAMES), report) == "stamps written: 0\n"
    assert not list(tree.cache.rglob("*"))


def test_what_was_skipped_or_had_no_test_is_not_stamped(tree):
    report = tree.report(case("chainer", "<skipped/>"), case("mxnet-imperative"))
    tree.ask("write", tree.first_plan(NAMES), report)
    plan = tree.plan(NAMES)
    assert plan["turn"] == "mxnet-imperative"
    assert [file.parent.name for file in tree.cache.rglob(f"{SWEEP}-*")] == ["mxnet-imperative"]


def test_a_full_run_skips_nothing_and_stamps(tree):
    stamp(tree, *NAMES)
    full = tree.plan(NAMES, CI_FULL="1")
    assert (full["turn"], full["skipped"]) == (None, {})
    assert tree.ask("write", full, tree.report(case("cntk"))) == "stamps written: 1\n"


def test_parts_are_stamped_one_by_one(tree):
    plan = tree.first_plan(NAMES)
    tree.ask("write", plan, tree.report(case("chainer")))
    tree.ask("write", plan, tree.report(case("mxnet"), case("mxnet-imperative", "<failure/>")))
    tree.ask("write", plan, tree.report(case("cntk")))
    assert skipped(tree.plan(NAMES)) == {"cntk"}
    assert tree.plan(NAMES)["turn"] == "chainer"


def test_the_main_job_is_no_sweep_of_all_frameworks_or_networks(tree):
    plan = tree.first_plan(NAMES)
    trained = [
        f'<testcase classname="bench.test_training" name="test_training[{name}-lenet-digits28-cpu]"/>'
        for name in ("jax", "chainer")
    ]
    for part, count in {"save": 0, "all": 2, "zoo": 1}.items():
        assert tree.ask("write", plan, tree.report(*trained, part=part)) == f"stamps written: {count}\n"


def test_a_changed_builder_runs_again_while_the_others_are_skipped(tree):
    stamp(tree, *NAMES)
    with tree.changed(builder("cntk")):
        assert skipped(tree.plan(NAMES)) == {*NAMES} - {"pytorch", "cntk"}


def test_what_is_stamped_is_what_the_plan_saw_and_not_what_was_edited_meanwhile(tree):
    plan = tree.first_plan(NAMES)
    with tree.changed("pytest_dlbench/worker/dlworker/training.py"):
        tree.ask("write", plan, tree.report(*map(case, NAMES)))
        assert skipped(tree.plan(NAMES)) == set()


def test_the_list_has_the_key_and_the_date_of_what_is_skipped(tree):
    stamp(tree, *NAMES)
    plan = tree.plan(NAMES)
    found = plan["skipped"][SWEEP]["chainer"]
    listed = tree.ask("list", plan).splitlines()
    assert f"skipped by stamps: chainer: {SWEEP} {found['key']} of {found['passed'][:10]}" in listed
    assert listed[-1] == "in turn: pytorch"


def test_a_skip_is_accepted_for_the_reason_that_the_plan_has_and_for_no_other(tree):
    stamp(tree, *NAMES)
    plan = tree.plan(NAMES)
    (tree.root / "plan.json").write_text("{}")
    tree.ask("list", plan)
    reason = plan["skipped"][SWEEP]["chainer"]["reason"]
    assert reason == f"chainer passed before with the same content (stamp {SWEEP}-{plan['keys'][SWEEP]['chainer']})"
    variables = {"DLBENCH_CI_PLAN": str(tree.root / "plan.json")}
    stale = reason.replace("stamp layers-", "stamp layers-0")
    for message, status in ((reason, 0), (stale, 1), ("no luck", 1)):
        report = tree.report(case("chainer", f'<skipped message="{message}"/>'))
        assert tree.run("skips.py", report, **variables).returncode == status
    assert tree.run("skips.py", tree.report(case("chainer", f'<skipped message="{reason}"/>'))).returncode == 1


def test_the_zoo_is_skipped_although_jax_is_in_turn_elsewhere(tree):
    first = tree.first_plan(NAMES)
    assert tree.ask("frameworks", first, "zoo") == "jax\n"
    for part in ("zoo", "all"):
        stamped = tree.report(case("jax", module="bench.test_training"), part=part)
        assert tree.ask("write", first, stamped) == "stamps written: 1\n"
    again = tree.plan(NAMES)
    assert tree.ask("frameworks", again, "zoo") == "\n"
    assert "jax" in tree.ask("frameworks", again, "side-by-side")
    assert "skipped by stamps: jax: zoo " in tree.ask("list", again)
