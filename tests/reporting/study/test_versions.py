"""The section of a study about versions that ran in pairs."""

from dataclasses import replace

import pytest

from pytest_dlbench.records import CaseOutcome, VerdictOutcome
from pytest_dlbench.reporting.study import study, versions
from pytest_dlbench.reporting.study.document import Lacking, Picture, Table
from pytest_dlbench.storing import Journal
from tests.doubles.judged import both_sides, judged, measured, write, write_pairs
from tests.doubles.records import verdict

EQUIVALENT = verdict(outcome=VerdictOutcome.EQUIVALENT, change=1.01, lower=0.99, upper=1.03)
MEMORY = verdict(metric="peak_rss", old=5e8, new=6e8)


def in_session(name, outcome, *verdicts):
    """The candidate's case of a session, with these verdicts."""
    _, candidate = both_sides(outcome=outcome, verdicts=verdicts)
    return replace(candidate, session=name)


def rows(*cases):
    section = versions.section(measured(*cases))
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    return [row[3:] for row in table.rows], section.blocks[0].items


def test_a_case_has_its_verdict_the_change_of_a_step_and_what_else_changed():
    found, counts = rows(in_session("1", CaseOutcome.REGRESSED, EQUIVALENT, MEMORY))
    assert found == [("regressed", "1.010 [0.990, 1.030]", "peak RSS regressed, ratio 1.200 [1.150, 1.250]", "3")]
    assert counts == ("pytorch 2.12.0 → 2.13.0: 1 regressed; time of a step 1.01 times; peak RSS 1.20 times",)


@pytest.mark.parametrize(
    ("later", "said"),
    [(CaseOutcome.REGRESSED, "regressed, confirmed"), (CaseOutcome.PASSED, "regressed, not confirmed")],
)
def test_a_second_session_confirms_a_regression_or_does_not(later, said):
    first = in_session("1", CaseOutcome.REGRESSED, verdict())
    found, counts = rows(in_session("2", later, verdict()), first)
    assert [row[0] for row in found] == [said]
    assert counts[0].startswith(f"pytorch 2.12.0 → 2.13.0: 1 {said}; time of a step ")


def test_a_case_without_figures_has_a_dash():
    found, _ = rows(in_session("1", CaseOutcome.DIVERGED))
    assert found == [("diverged", "–", "–", "3")]


def test_the_changes_of_several_cases_are_from_the_least_to_the_most():
    _, faster = both_sides(step=0.005, verdicts=(verdict(change=0.5, outcome=VerdictOutcome.IMPROVED),))
    other = replace(faster.result.case, model="another", id="training-pytorch==2.13.0-another-digits28-cpu")
    _, counts = rows(
        in_session("1", CaseOutcome.REGRESSED, EQUIVALENT),
        replace(faster, session="1", result=replace(faster.result, case=other)),
    )
    assert counts[0].endswith("; time of a step 0.50 to 1.01 times")


def test_without_pairs_the_command_that_records_them_is_named():
    found = versions.section(measured(judged()))
    assert isinstance(found, Lacking)
    assert found.command.startswith("dlbench releases")


def test_pairs_are_in_their_own_section_and_not_among_the_frameworks(tmp_path):
    journals = tmp_path / "journals"
    write(Journal(journals), [judged("jax"), judged("pytorch", step=0.02)])
    write_pairs(Journal(journals / "pairs"), both_sides(step=0.001, verdicts=(EQUIVALENT,)))
    for path in (journals / "pairs").iterdir():
        path.rename(journals / f"2{path.name}")
    page = study.make(tmp_path).files["index.md"].decode()
    _, _, networks = page.partition("## Network by network")
    assert "pytorch==2.13.0" not in networks.partition("## ")[0]
    assert "| pytorch==2.12.0 | pytorch==2.13.0 | tartu-mnist-cnn · digits28 · 2 threads | passed |" in page
    assert "jax has the shortest step in 1 of 1 cell" in page
    assert "pictures/versions-pytorch.svg" in page


@pytest.mark.parametrize(
    ("old", "candidate", "name", "shown"),
    [
        ("jax==0.10.1", "jax==0.10.2", "jax", "0.10.1 → 0.10.2"),
        ("pytorch@numpy-2.4.5", "pytorch@numpy-2.4.6", "pytorch@numpy", "numpy-2.4.5 → numpy-2.4.6"),
        ("keras2-tensorflow", "keras-tensorflow", "keras-tensorflow", "keras2-tensorflow → keras-tensorflow"),
    ],
)
def test_each_framework_has_a_table_and_a_picture_of_its_own(old, candidate, name, shown):
    first = in_session("1", CaseOutcome.PASSED, EQUIVALENT)
    other = replace(both_sides(old, candidate, verdicts=(EQUIVALENT,))[1], session="2")
    blocks = versions.section(measured(first, other)).blocks
    assert [block.caption for block in blocks if isinstance(block, Table)] == [
        "Comparisons of pytorch",
        f"Comparisons of {name}",
    ]
    pictures = [block for block in blocks if isinstance(block, Picture)]
    assert [picture.name for picture in pictures] == ["versions-pytorch", f"versions-{name.replace('@', '-')}"]
    assert shown in pictures[1].svg
    assert shown not in pictures[0].svg


def test_the_versions_of_both_sides_are_listed(tmp_path):
    journals = tmp_path / "journals"
    sides = both_sides()
    passive = [replace(run, versions={**run.versions, "OMP_WAIT_POLICY": "PASSIVE"}) for run in sides[0].runs]
    write_pairs(Journal(journals), (replace(sides[0], runs=tuple(passive)), sides[1]))
    page = study.make(tmp_path).files["index.md"].decode()
    _, _, listed = page.partition("**Versions, as the workers reported them**")
    listed = listed.partition("## ")[0]
    assert "| pytorch==2.12.0 |" in listed
    assert "| pytorch==2.13.0 |" in listed
    assert "PASSIVE" not in listed
    assert "in 6 runs" in page


def test_the_picture_names_versions_and_networks():
    first = in_session("1", CaseOutcome.PASSED, EQUIVALENT)
    (picture,) = (block for block in versions.section(measured(first)).blocks if isinstance(block, Picture))
    assert "2.12.0 → 2.13.0 · tartu-mnist-cnn" in picture.svg
    again = in_session("2", CaseOutcome.PASSED, EQUIVALENT)
    (picture,) = (block for block in versions.section(measured(first, again)).blocks if isinstance(block, Picture))
    for label in ("tartu-mnist-cnn", "tartu-mnist-cnn, again (2)"):
        assert f"2.12.0 → 2.13.0 · {label} · step 10 %" in picture.svg
