"""Whole recipes: which cases they are of, and what is said of them."""

from dataclasses import replace

import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import Neighbours, UnsteadyCores
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.study import scaling, whole
from pytest_dlbench.reporting.study.document import Lacking, Paragraph, Table
from tests.doubles.judged import judged, measured, unfinished
from tests.doubles.records import evaluation, machine
from tests.storing.test_certificates import CERTIFICATE


def trained(framework, accuracy, **changes):
    named = {"model": "gatech-lenet", "dataset": "fashion-mnist", "scale": "full", **changes}
    return judged(framework, accuracy=accuracy, **named)


def blocks(*cases):
    """The first paragraph, and the last table."""
    first, *others = whole.section(measured(*cases)).blocks
    return {**{type(block): block for block in others}, type(first): first}


def test_how_much_of_each_recipe_was_run_is_counted_by_device_and_threads():
    cases = (
        trained("pytorch", 0.9, threads=1),
        trained("jax", 0.9, threads=1, runs=5, result={"certificate": CERTIFICATE}),
        trained("jax", 0.9, threads=2, runs=1),
    )
    _, covered, _, _ = whole.section(measured(*cases)).blocks
    assert covered.caption == "How much of each recipe was run"
    (one, *counts), (two, *fewer) = covered.rows
    assert one == two == "gatech-lenet · fashion-mnist"
    seconds = cases[0].runs[0].wall_seconds
    assert counts == ["cpu · 1 thread", machine().cpu_model, "2", "1", "3 to 5", "8", figures.duration(8 * seconds)]
    assert fewer == ["cpu · 2 threads", machine().cpu_model, "1", "0", "1", "1", figures.duration(seconds)]


def test_seeds_that_are_missing_are_counted_with_the_time_that_they_would_take():
    two, five = trained("jax", 0.9, runs=2), trained("pytorch", 0.9, runs=5)
    elsewhere = trained("jax", 0.9, runs=3, threads=2)
    seconds = two.runs[0].wall_seconds
    _, _, missing, _ = whole.section(measured(two, five, elsewhere)).blocks
    assert (
        missing.text
        == "Of 5 seeds in each framework that trained it, these are missing, with the time that they would take:"
    )
    assert missing.items == (f"gatech-lenet on fashion-mnist: 2 runs of 1 framework, {figures.duration(2 * seconds)}",)
    assert len(whole.section(measured(five)).blocks) == 3


def test_frameworks_that_neither_trained_nor_refused_a_recipe_are_named():
    refused = unfinished("mxnet", model="tartu-mnist-cnn")
    asked = replace(refused.result.case, dataset="fashion-mnist")
    refused = replace(refused, result=replace(refused.result, case=asked, outcome=CaseOutcome.UNSUPPORTED, reasons=()))
    everywhere = [trained("jax", 0.9, runs=5), trained("jax", 0.9, runs=5, model="tartu-mnist-cnn")]
    elsewhere = [trained(name, 0.9, runs=5) for name in ("pytorch", "mxnet", "chainer")]
    _, _, untrained, _ = whole.section(measured(*everywhere, *elsewhere, refused)).blocks
    assert untrained.text.startswith("Frameworks that trained another of these recipes")
    assert untrained.items == ("tartu-mnist-cnn on fashion-mnist: chainer, pytorch",)
    assert len(whole.section(measured(*everywhere)).blocks) == 3


def test_frameworks_are_listed_by_accuracy_with_how_far_they_are_apart():
    found = blocks(trained("pytorch", 0.9033), trained("jax", 0.9071), trained("mxnet", 0.9062))
    assert found[Paragraph].items == (
        "gatech-lenet on fashion-mnist: 90.3 to 90.7 % in 9 runs of 3 frameworks, at most 0.38 pp apart",
    )
    assert "87.6 to 93.2 %" in found[Paragraph].text
    assert [row[1] for row in found[Table].rows] == ["jax", "mxnet", "pytorch"]
    assert found[Table].rows[0][2:5] == ("3", "50", "90.71 % [90.71, 90.71]")


def seeded(framework, accuracies):
    one = trained(framework, 0.9, runs=len(accuracies))
    return replace(
        one, runs=tuple(replace(run, evaluation=evaluation(of)) for run, of in zip(one.runs, accuracies, strict=True))
    )


SEEDS = [0.90, 0.91, 0.89, 0.92, 0.93]


def test_frameworks_that_follow_their_seeds_do_not_differ():
    cases = [seeded("pytorch", SEEDS), seeded("jax", SEEDS), seeded("mxnet", [0.902, *SEEDS[1:]])]
    found = blocks(*cases)[Paragraph].items[0]
    assert "; standard deviation 0.05 pp over 3 frameworks with the same seed, 1.57 pp over 5 seeds of" in found
    assert found.endswith(" the same framework: no sign that frameworks differ (Friedman, p 0.41)")


def test_a_framework_that_is_worse_with_each_seed_is_a_difference():
    cases = [seeded("pytorch", SEEDS), seeded("jax", SEEDS), seeded("mxnet", [of - 0.01 for of in SEEDS])]
    assert ": the frameworks differ (Friedman, p below 0.001)" in blocks(*cases)[Paragraph].items[0]


@pytest.mark.parametrize("cases", [("pytorch", "jax"), ("pytorch",)])
def test_whether_two_frameworks_differ_is_not_said(cases):
    found = blocks(*(seeded(name, SEEDS) for name in cases), seeded("mxnet", SEEDS[:3]))
    assert "standard deviation" not in found[Paragraph].items[0]


def test_each_network_has_a_sentence_in_the_abstract():
    own = trained("jax", 0.97, model="own", dataset="digits", runs=2)
    first, second = whole.reached(measured(trained("pytorch", 0.88, step=0.02), trained("jax", 0.91), own))
    assert first.endswith(
        "on fashion-mnist, gatech-lenet reaches an accuracy of 88.0 to 91.0 % in 2 frameworks, 3 runs each; a step is"
        " shortest in jax, and takes 2.00 times as long in pytorch"
    )
    assert (
        second == "Trained by its whole recipe on digits, own reaches an accuracy of 97.0 % in 1 framework, 2 runs each"
    )


def test_steps_of_two_machines_are_not_compared_in_the_abstract():
    elsewhere = {"machine": machine(name="other")}
    cases = [trained("mxnet", 0.9, step=0.001, context=elsewhere), trained("pytorch", 0.9, step=0.02)]
    (line,) = whole.reached(measured(*cases, trained("jax", 0.9)))
    compared = "; of 2 with comparable times, a step is shortest in jax, and takes 2.00 times as long in pytorch"
    assert line.endswith(compared)
    (line,) = whole.reached(measured(*cases))
    assert line.endswith("in 2 frameworks, 3 runs each")


def test_what_others_report_is_of_their_data():
    assert "Others" not in blocks(trained("jax", 0.97, dataset="digits"))[Paragraph].text


@pytest.mark.parametrize(
    "other",
    [
        {"scale": "smoke"},
        {"dataset": "synthetic"},
        {"settings": {"batch_size": 32}},
        {"context": {"steps": 50, "recipe_steps": 100}},
    ],
)
def test_other_cases_are_no_whole_recipe_on_real_data(other):
    found = whole.section(measured(trained("pytorch", 0.9, **other)))
    assert isinstance(found, Lacking)
    assert found.command == whole.SESSION
    assert not list(whole.reached(measured(trained("pytorch", 0.9, **other))))


def cells(*cases, is_timed):
    return [case.cell for case in whole.over_sessions(measured(*cases), is_timed=is_timed)]


def test_accuracy_by_epoch_is_shown_for_all_sessions_and_devices_at_once():
    found = cells(
        trained("pytorch", 0.9, session="20261128T054108-1"),
        trained("jax", 0.9, session="20261128T061937-2", device="gpu", threads=16),
        is_timed=False,
    )
    assert found == ["gatech-lenet · fashion-mnist · whole recipe"] * 2


def test_times_are_shown_by_device_threads_and_workers():
    found = cells(
        trained("pytorch", 0.9, session="20261128T054108-1", threads=1),
        trained("jax", 0.9, session="20261128T061937-2", threads=1),
        trained("jax", 0.9, session="20261128T061937-2", threads=2),
        trained("jax", 0.9, session="20261128T061937-2", device="gpu"),
        trained("jax", 0.9, session="20261128T061937-2", threads=1, workers=2),
        is_timed=True,
    )
    assert found[0] == found[1] != found[2]
    assert len(set(found)) == 4


def test_other_cases_stay_in_the_cells_of_their_sessions():
    cases = measured(trained("jax", 0.9, scale="smoke"), trained("jax", 0.9))
    assert whole.over_sessions(cases, is_timed=True)[0] == cases[0]


def test_of_several_numbers_of_threads_the_fewest_are_compared_and_named():
    steps = {("jax", 1): 0.02, ("pytorch", 1): 0.01, ("jax", 2): 0.02, ("pytorch", 2): 0.005}
    cases = [trained(name, 0.9, step=step, threads=threads) for (name, threads), step in steps.items()]
    for order in (cases, cases[::-1]):
        (said,) = whole.reached(measured(*order))
        assert said.endswith("; with 1 thread, a step is shortest in pytorch, and takes 2.00 times as long in jax")


def threads_apart(versions=None, **changes):
    """How much faster two threads are than one, of sessions that are hours apart."""
    one = trained("jax", 0.9, step=0.02, threads=1, session="20261128T054108-1")
    two = trained("jax", 0.9, step=0.0125, threads=2, session="20261129T061937-2", **changes)
    if versions:
        two = replace(two, runs=tuple(replace(run, versions=versions) for run in two.runs))
    cases = whole.over_threads(measured(one, two))
    return scaling.blocks(cases, "threads", lambda case: case.case.threads, lambda case: case.workload)[0].rows


def test_threads_of_whole_recipes_are_compared_over_sessions():
    ((workload, framework, threads, gain, share),) = threads_apart()
    assert workload == f"gatech-lenet · fashion-mnist · cpu · {machine().name} · whole recipe"
    assert (framework, threads, gain.split(" ")[0], share) == ("jax", "2", "1.60", "80 %")


@pytest.mark.parametrize(
    "changes",
    [
        {"result": {"cautions": (Neighbours(cpus=1.0, disturbed=3, runs=3),)}},
        {"context": {"machine": machine(name="another")}},
        {"device": "gpu"},
        {"scale": "smoke"},
    ],
)
def test_threads_are_not_compared_with_another_machine_or_where_other_processes_affected_them(changes):
    assert not threads_apart(**changes)


def test_threads_are_not_compared_between_versions():
    assert not threads_apart(versions={"jax": "0.0.1"})


@pytest.mark.parametrize(
    "caution", [Neighbours(cpus=1.0, disturbed=3, runs=3), UnsteadyCores(variation=1.9, unsteady=2, runs=3)]
)
def test_times_that_others_affected_are_marked_and_not_compared(caution):
    busy = {"cautions": (caution,)}
    slow = trained("mxnet", 0.88, step=0.05, result=busy)
    one_of_three = {"cautions": (Neighbours(cpus=1.0, disturbed=1, runs=3),)}
    cases = (trained("pytorch", 0.9, step=0.01, result=one_of_three), trained("jax", 0.89, step=0.02), slow)
    (said,) = whole.reached(measured(*cases))
    assert said.endswith(
        "; of 2 with comparable times, a step is shortest in pytorch, and takes 2.00 times as long in jax"
    )
    *_, table, note = whole.section(measured(*cases)).blocks
    assert [row[5] for row in table.rows] == ["10.0 ms", "20.0 ms", "50.0 ms (busy)"]
    assert note.text.startswith("Times with (busy) are of cases of which other processes, or others on")
    assert "shortest" not in "".join(whole.reached(measured(slow)))
