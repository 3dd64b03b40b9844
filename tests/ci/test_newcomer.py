"""The pages that a newcomer may follow after the first one: one of those without a stamp at a time."""

import re
import sys

from tests.ci.conftest import ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import contents

FEW = ("pytorch", "jax")
PAGES = sorted(contents.PAGES)


def planned(tree, **variables):
    """The plan, and the pages that run by it."""
    plan = tree.plan(FEW, **variables)
    return plan, tree.ask("frameworks", plan, "newcomer").strip().split(",")


def test_one_runs_at_a_time_until_all_have_passed_and_again_in_turn_when_the_package_changes(tree):
    assert sorted(planned(tree, CI_FULL="1")[1]) == PAGES
    ran = []
    for _ in PAGES:
        plan, (page,) = planned(tree)
        listed = tree.ask("list", plan)
        assert all(f"{name} runs later: newcomer: at most 1 at a time" in listed for name in {*PAGES} - {page, *ran})
        assert all(re.search(rf"skipped by stamps: {name}: newcomer \w+-\w+ of 20", listed) for name in ran)
        assert tree.ask("pages", plan) == "stamps written: 1\n"
        ran.append(page)
    assert sorted(ran) == PAGES
    assert planned(tree)[1] == [""]
    with tree.changed("pytest_dlbench/judging/intervals.py"):
        assert planned(tree)[1] == ran[:1]
        with tree.changed("docs/ci/gitlab/version-bump.yml"):
            assert planned(tree)[1] == ["version-bump"]
