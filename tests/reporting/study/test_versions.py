"""The section of a study about versions that ran in pairs."""

from dataclasses import replace
from functools import partial

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import CaseOutcome, VerdictOutcome
from pytest_dlbench.reporting.study import study, versions
from pytest_dlbench.reporting.study.document import Lacking, Picture, Table
from pytest_dlbench.storing import Journal
from tests.doubles.judged import both_sides, judged, measured, write, write_pairs
from tests.doubles.records import verdict

EQUIVALENT = verdict(outcome=VerdictOutcome.EQUIVALENT, change=1.01, lower=0.99, upper=1.03)
MEMORY = verdict(metric="peak_rss", old=5e8, new=6e8)
FASTER = verdict(outcome=VerdictOutcome.IMPROVED, change=0.5, lower=0.4, upper=0.6)
# Its runs vary too much for its tolerance, so that the outcome of its case does not depend on it.
TOO_VARIABLE = verdict(metric="peak_rss", outcome=VerdictOutcome.INCONCLUSIVE, change=1.02, decides=False)
REPORTED = verdict(metric="step_time_median", outcome=VerdictOutcome.INCONCLUSIVE, decides=False)


def in_session(name, outcome, *verdicts):
    """The candidate's case of a session, with these verdicts."""
    _, candidate = both_sides(outcome=outcome, verdicts=verdicts)
    return replace(candidate, session=name)


def rows(*cases):
    section = versions.section(measured(*cases))
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    return [row[3:] for row in table.rows], section.blocks[0].items


def on(model, candidate):
    """The same with another network."""
    case = replace(candidate.result.case, model=model, id=f"training-pytorch==2.13.0-{model}-digits28-cpu")
    return replace(candidate, result=replace(candidate.result, case=case))


def between(old, new, outcome, *verdicts, session="1"):
    """The candidate's case of two versions."""
    sides = both_sides(f"pytorch=={old}", f"pytorch=={new}", outcome=outcome, verdicts=verdicts)
    return replace(sides[1], session=session)


def summary(*cases):
    (sentence,) = versions.summaries(measured(*cases))
    return sentence


def alternative(*cases):
    """What is said of the picture."""
    (picture,) = (block for block in versions.section(measured(*cases)).blocks if isinstance(block, Picture))
    return picture.alt


def test_a_case_has_its_verdict_the_change_of_a_step_and_what_else_changed():
    found, counts = rows(in_session("1", CaseOutcome.REGRESSED, EQUIVALENT, MEMORY))
    assert found == [("regressed", "1.010 [0.990, 1.030]", "peak RSS regressed, ratio 1.200 [1.150, 1.250]", "3")]
    changed = "pytorch 2.12.0 → 2.13.0: more memory in 1 of 1 case"
    assert counts == (f"{changed}; time of a step 1.01 times; peak RSS 1.20 times",)


@pytest.mark.parametrize(
    ("later", "of_step", "said"),
    [(CaseOutcome.REGRESSED, verdict(), "confirmed"), (CaseOutcome.PASSED, EQUIVALENT, "not confirmed")],
)
def test_a_second_session_confirms_a_regression_or_does_not(later, of_step, said):
    first = in_session("1", CaseOutcome.REGRESSED, verdict())
    found, counts = rows(in_session("2", later, of_step), first)
    assert [row[0] for row in found] == [f"regressed, {said}"]
    changed = f"steps slower in 1 of 1 case, {said} in a second session"
    assert counts[0].startswith(f"pytorch 2.12.0 → 2.13.0: {changed}; time of a step ")


def test_another_metric_of_a_second_session_does_not_confirm_a_change():
    sessions = in_session("1", CaseOutcome.REGRESSED, verdict()), in_session("2", CaseOutcome.REGRESSED, MEMORY)
    found, counts = rows(*sessions)
    assert found[0][0] == "regressed, not confirmed"
    not_confirmed = "in 1 of 1, not confirmed in a second session"
    assert f"steps slower {not_confirmed.replace('1,', '1 case,')}; more memory {not_confirmed}" in counts[0]


def test_a_second_session_may_confirm_one_of_several_metrics():
    both = in_session("1", CaseOutcome.REGRESSED, verdict(), MEMORY)
    found, _ = rows(both, in_session("2", CaseOutcome.REGRESSED, EQUIVALENT, MEMORY))
    assert found[0][0] == "regressed, only peak RSS confirmed"
    found, _ = rows(
        both, in_session("2", CaseOutcome.REGRESSED, MEMORY), in_session("3", CaseOutcome.REGRESSED, verdict())
    )
    assert found[0][0] == "regressed, confirmed"


def elsewhere(candidate, *, name="linux-other-4cores-16gib"):
    """The same on another machine."""
    context = replace(candidate.context, machine=replace(candidate.context.machine, name=name))
    return replace(candidate, context=context)


def changed(candidate, **changes):
    """The same pair under other conditions."""
    new, old = candidate.result.case, candidate.result.pairing.old
    sides = [replace(side, **changes) for side in (new, old)]
    pairing = replace(candidate.result.pairing, old=sides[1])
    return replace(candidate, result=replace(candidate.result, case=sides[0], pairing=pairing))


def labelled(candidate):
    return changed(candidate, id=f"tuned-{candidate.result.case.id.removeprefix('training-')}")


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (elsewhere, ("linux-acme-2cores-8gib", "linux-other-4cores-16gib")),
        (partial(changed, device="gpu"), ("cpu", "gpu")),
        (partial(changed, scale="full"), ("scale quick", "scale full")),
        (partial(changed, workers=2), ("", "2 workers")),
        (partial(changed, settings={"batch_size": 8}), ("", "batch_size 8")),
        (labelled, ("training", "tuned")),
    ],
)
def test_a_comparison_under_another_condition_is_no_repetition(other, names):
    first = in_session("1", CaseOutcome.REGRESSED, verdict())
    there = other(in_session("2", CaseOutcome.PASSED, EQUIVALENT))
    blocks = versions.section(measured(first, there)).blocks
    (table,) = (block for block in blocks if isinstance(block, Table))
    usual = "tartu-mnist-cnn · digits28 · 2 threads"
    assert [row[2] for row in table.rows] == [" · ".join(filter(None, (usual, name))) for name in names]
    assert [row[3] for row in table.rows] == ["regressed", "passed"]
    assert blocks[0].items[0].startswith("pytorch 2.12.0 → 2.13.0: steps slower in 1 of 2 cases;")
    (picture,) = (block for block in blocks if isinstance(block, Picture))
    assert all(" · ".join(filter(None, ("tartu-mnist-cnn", name))) in picture.svg for name in names)
    assert "again" not in picture.svg


def test_a_condition_that_all_comparisons_of_a_table_share_is_not_in_its_rows():
    small = [changed(case, scale="smoke") for case in chain(1.0, 1.0)]
    other = replace(both_sides("jax==0.10.1", "jax==0.10.2", verdicts=(EQUIVALENT,))[1], session="3")
    blocks = versions.section(measured(*small, other)).blocks
    found = {row[2] for block in blocks if isinstance(block, Table) for row in block.rows}
    assert found == {"tartu-mnist-cnn · digits28 · 2 threads"}


def test_changes_on_two_machines_do_not_add_up():
    found = summary(*chain(1.04, 1.03), *map(elsewhere, chain(1.0, 1.0)))
    assert "but a step of tartu-mnist-cnn takes 1.07 times as long" in found
    first, second = chain(1.04, 1.03)
    assert "but" not in summary(first, elsewhere(second))


def test_cases_that_a_second_session_confirms_are_counted():
    first, other = (in_session("1", CaseOutcome.REGRESSED, verdict()) for _ in range(2))
    again = in_session("2", CaseOutcome.REGRESSED, verdict())
    _, counts = rows(first, on("another", other), again)
    assert "steps slower in 2 of 2 cases, 1 of 1 that were repeated confirmed;" in counts[0]
    _, counts = rows(first, on("another", other), again, on("another", again))
    assert "steps slower in 2 of 2 cases, confirmed in a second session;" in counts[0]
    _, counts = rows(first, on("another", other), in_session("2", CaseOutcome.PASSED, EQUIVALENT))
    assert "steps slower in 2 of 2 cases, 0 of 1 that were repeated confirmed;" in counts[0]


def test_a_change_that_only_a_second_session_found_is_one():
    found = summary(in_session("1", CaseOutcome.PASSED, EQUIVALENT), in_session("2", CaseOutcome.IMPROVED, FASTER))
    assert found.endswith("(steps faster in 1 of 1 case, not confirmed in a second session)")


def test_what_happened_is_said_of_each_metric():
    first = in_session("1", CaseOutcome.REGRESSED, FASTER, MEMORY)
    other = on("another", in_session("1", CaseOutcome.REGRESSED, EQUIVALENT, MEMORY))
    found = summary(first, other)
    assert found.startswith(
        "From pytorch 2.12.0 to 2.13.0, a step takes 0.50 to 1.01 times as long and the peak memory"
    )
    assert found.endswith("is 1.20 times as large (steps faster in 1 of 2 cases; more memory in 2 of 2)")


def test_a_metric_without_words_of_its_own_has_its_name():
    worse = verdict(metric="accuracy", change=-3.0, lower=-4.0, upper=-2.0)
    found, _ = rows(in_session("1", CaseOutcome.REGRESSED, EQUIVALENT, worse))
    assert found[0][2].startswith("accuracy regressed")
    assert "accuracy regressed in 1 of 1 case" in summary(in_session("1", CaseOutcome.REGRESSED, EQUIVALENT, worse))


def test_a_metric_that_varies_too_much_is_undecided_and_one_that_is_only_reported_is_not():
    passed = in_session("1", CaseOutcome.PASSED, EQUIVALENT, TOO_VARIABLE, REPORTED)
    other = on("another", in_session("1", CaseOutcome.PASSED, EQUIVALENT, REPORTED))
    assert summary(passed, other).endswith("(2 of 2 cases passed; peak RSS undecided in 1)")
    found, counts = rows(passed)
    assert [row[2] for row in found] == ["peak RSS inconclusive, ratio 1.020 [1.150, 1.250]"]
    assert counts[0].startswith("pytorch 2.12.0 → 2.13.0: no change found in 1 case; peak RSS undecided in 1; time of")


def test_all_metrics_that_are_undecided_are_named():
    undecided = verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    found = summary(in_session("1", CaseOutcome.INCONCLUSIVE, undecided, TOO_VARIABLE))
    assert found.endswith("(0 of 1 case passed; time of a step undecided in 1, peak RSS in 1)")


CHAIN = (("2.10.0", "2.11.0"), ("2.11.0", "2.12.0"))


def chain(*ratios):
    """One case of two comparisons in a row, neither of which changed it."""
    found = [replace(EQUIVALENT, change=ratio) for ratio in ratios]
    return [
        between(*releases, CaseOutcome.PASSED, one, session=str(place))
        for place, (releases, one) in enumerate(zip(CHAIN, found, strict=True))
    ]


@pytest.mark.parametrize(("ratios", "whole"), [((1.04, 1.03), "1.07"), ((0.96, 0.97), "0.93")])
def test_changes_that_add_up_to_more_than_the_tolerance_are_said(ratios, whole):
    other = [on("another", case) for case in chain(1.03, 1.03)]
    taken = f"but a step of tartu-mnist-cnn takes {whole} times as long from the first to the last"
    found = summary(*chain(*ratios), *other)
    assert found.endswith(f"2.10.0 → 2.11.0 → 2.12.0 (4 of 4 cases passed; {taken}, by the product of the ratios)")


def test_changes_that_add_up_to_less_than_the_tolerance_are_not_said():
    assert summary(*chain(1.03, 1.01)).endswith("2.10.0 → 2.11.0 → 2.12.0 (2 of 2 cases passed)")


def test_only_cases_of_all_comparisons_add_up():
    first, second = chain(1.04, 1.04)
    assert "but" not in summary(first, on("another", second))


def test_the_tolerances_are_those_that_the_metrics_have(monkeypatch):
    def lead():
        return versions.section(measured(in_session("1", CaseOutcome.PASSED, EQUIVALENT))).blocks[0].text

    assert "which is 5 % for the time of a step, and for the peak memory (peak RSS) 2 % or 16 MiB, whichever" in lead()
    looser = replace(METRICS["peak_rss"], tolerance=0.03, least_change=2**25)
    monkeypatch.setattr(versions, "METRICS", {**METRICS, "peak_rss": looser})
    assert "3 % or 32 MiB" in lead()


def test_a_case_without_figures_has_a_dash():
    found, counts = rows(in_session("1", CaseOutcome.OUT_OF_MEMORY))
    assert found == [("out_of_memory", "–", "–", "3")]
    assert counts == ("pytorch 2.12.0 → 2.13.0: 1 out of memory",)
    assert summary(in_session("1", CaseOutcome.DIVERGED)).endswith("(0 of 1 case passed; 1 diverged)")


def test_the_changes_of_several_cases_are_from_the_least_to_the_most():
    _, faster = both_sides(step=0.005, verdicts=(FASTER,))
    first = in_session("1", CaseOutcome.REGRESSED, EQUIVALENT)
    _, counts = rows(first, on("another", replace(faster, session="1")))
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
        assert f"2.12.0 → 2.13.0 · {label}</text>" in picture.svg
    assert "change of the time of a step (%)</text>" in picture.svg


def test_the_words_of_a_picture_count_comparisons_and_not_their_sessions():
    first, again = (in_session(name, CaseOutcome.REGRESSED, verdict()) for name in "12")
    other = on("another", in_session("1", CaseOutcome.PASSED, EQUIVALENT))
    shown = "Changes of the time of a step in pytorch, 2 comparisons: 1 regressed, 1 equivalent"
    assert alternative(first, other) == shown
    assert alternative(first, again, other) == f"{shown}; 1 repeated in a second session"
