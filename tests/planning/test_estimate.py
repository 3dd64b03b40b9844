"""How long a run should take."""

from dataclasses import replace

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.planning.estimate import START_SECONDS, THREAD_RATE, Estimate, Estimator, read_past
from pytest_dlbench.planning.plan import RunSettings, evaluations
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.storing import Entry, Journal
from pytest_dlbench.zoo import MODELS
from tests.doubles import records

MACHINE = records.machine()
SETTINGS = RunSettings(machine=MACHINE, scale="smoke", threads=2, seed=1, timeout_seconds=60.0)
LENET = MODELS["gatech-lenet"]
OUTLINE = SETTINGS.outline(FRAMEWORKS["pytorch"], LENET, DATASETS["digits28"], DEVICES["cpu"])
CONTEXT = records.context(
    network_digest=OUTLINE.network.digest, batch_size=OUTLINE.recipe.batch_size, steps=OUTLINE.steps
)


def write(folder, *seconds, name="", context=CONTEXT, **changes):
    """A journal of finished runs."""
    journal = Journal(folder, name)
    for taken in seconds:
        run = replace(records.run(), case=OUTLINE.case.id, wall_seconds=taken, **changes)
        journal.append(Entry(run=run, context=context))


def estimate(folder, outline=OUTLINE, **more):
    return Estimator(MACHINE, read_past(folder)).run(outline, **more)


def test_without_a_journal_a_run_takes_the_start_and_three_forward_passes_per_sample(tmp_path):
    found = estimate(tmp_path / "none")
    work = 3 * OUTLINE.network.multiply_adds * 640
    assert found.seconds == pytest.approx(START_SECONDS + work / (2 * THREAD_RATE))
    assert not found.is_measured


def test_a_gpu_is_estimated_to_be_faster_than_a_cpu(tmp_path):
    full = replace(SETTINGS, scale="full")
    on_gpu, on_cpu = (
        full.outline(FRAMEWORKS["pytorch"], LENET, DATASETS["digits28"], DEVICES[name]) for name in ("gpu", "cpu")
    )
    assert START_SECONDS < estimate(tmp_path, on_gpu).seconds < estimate(tmp_path, on_cpu).seconds


def test_a_short_training_on_a_gpu_is_as_long_as_its_timed_steps_have_to_last(tmp_path):
    on_gpu = SETTINGS.outline(FRAMEWORKS["pytorch"], LENET, DATASETS["digits28"], DEVICES["gpu"])
    assert estimate(tmp_path, on_gpu).seconds == START_SECONDS + 1


def test_the_estimate_is_the_median_of_the_runs_of_the_case(tmp_path):
    write(tmp_path, 4.0, 9.0, 5.0)
    assert (estimate(tmp_path).seconds, estimate(tmp_path).is_measured) == (5.0, True)


def test_the_newest_journal_with_the_case_counts(tmp_path):
    write(tmp_path, 4.0, name="a")
    write(tmp_path, 7.0, name="b")
    write(tmp_path, 1.0, name="c", context=replace(CONTEXT, steps=1))
    assert estimate(tmp_path).seconds == 7.0


@pytest.mark.parametrize(
    "changes",
    [{"batch_size": 1}, {"steps": 1}, {"network_digest": "beef"}, {"machine": records.machine(name="other")}],
    ids=lambda changes: next(iter(changes)),
)
def test_runs_under_other_conditions_are_ignored(tmp_path, changes):
    write(tmp_path, 4.0, context=replace(CONTEXT, **changes))
    assert not estimate(tmp_path).is_measured


def test_runs_that_did_not_finish_are_ignored(tmp_path):
    write(tmp_path, 4.0, outcome=RunOutcome.TIMEOUT)
    assert not estimate(tmp_path).is_measured


def test_intact_lines_of_a_damaged_journal_are_used(tmp_path):
    write(tmp_path, 4.0)
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(b'{"half of a l\n' + path.read_bytes())
    assert estimate(tmp_path).seconds == 4.0


def test_with_unknown_steps_only_the_start_is_estimated(tmp_path):
    assert estimate(tmp_path, is_exact=False).seconds == START_SECONDS


def test_with_unknown_steps_any_run_of_the_case_on_this_machine_counts(tmp_path):
    write(tmp_path, 4.0, context=replace(CONTEXT, steps=1))
    assert estimate(tmp_path, is_exact=False).seconds == 4.0


def write_scale(folder, steps=None, **changes):
    """The journal of a case at scale quick, whose steps take 0.1 s, and all else 9 s, with 1 s of an evaluation."""
    quick = replace(SETTINGS, scale="quick")
    outline = quick.outline(FRAMEWORKS["pytorch"], LENET, DATASETS["digits28"], DEVICES["cpu"])
    taken = (0.1,) * (steps or outline.steps)
    run = records.run()
    run = replace(
        run,
        case=outline.case.id,
        wall_seconds=9 + sum(taken),
        training=replace(run.training, step_seconds=(3.0, *taken[1:])),
        evaluation=replace(run.evaluation, seconds=1.0),
    )
    context = replace(CONTEXT, steps=len(taken), **changes)
    result = records.case_result(case=outline.case)
    journal = Journal(folder)
    journal.append(Entry(run=run, context=context))
    journal.append(Entry(result=result, context=context))
    return outline


def test_runs_of_another_scale_show_how_long_steps_and_evaluations_take(tmp_path):
    write_scale(tmp_path)
    full = replace(SETTINGS, scale="full").outline(FRAMEWORKS["pytorch"], LENET, DATASETS["digits28"], DEVICES["cpu"])
    tests = 1 + len(evaluations(full.recipe, full.dataset, "full", full.steps))
    assert tests > 1
    found = estimate(tmp_path, full)
    # What the first step takes longer than the others is among the 9 s.
    assert found.seconds == pytest.approx(9 - 1 + full.steps * 0.1 + tests * 1.0)
    assert not found.is_measured


def test_steps_are_in_proportion_to_their_batches(tmp_path):
    write_scale(tmp_path, batch_size=CONTEXT.batch_size // 2)
    write_scale(tmp_path / "as large")
    twice, once = (estimate(folder).seconds for folder in (tmp_path, tmp_path / "as large"))
    assert twice - once == pytest.approx(OUTLINE.steps * 0.1)


def test_the_first_of_two_steps_is_not_taken_for_a_usual_one(tmp_path):
    write_scale(tmp_path, steps=2)
    # At scale smoke one evaluation follows the steps, as in the run that is known.
    assert estimate(tmp_path).seconds == pytest.approx(9 + OUTLINE.steps * 0.1)


def test_runs_of_the_same_scale_come_first(tmp_path):
    write(tmp_path, 4.0, name="a")
    write_scale(tmp_path)
    assert estimate(tmp_path) == Estimate(seconds=4.0, is_measured=True)


@pytest.mark.parametrize("changes", [{"network_digest": "beef"}, {"machine": records.machine(name="other")}])
def test_steps_of_another_kind_show_nothing(tmp_path, changes):
    write_scale(tmp_path, **changes)
    assert estimate(tmp_path) == estimate(tmp_path / "none")


def test_another_framework_shows_nothing(tmp_path):
    write_scale(tmp_path)
    jax = SETTINGS.outline(FRAMEWORKS["jax"], LENET, DATASETS["digits28"], DEVICES["cpu"])
    assert estimate(tmp_path, jax) == estimate(tmp_path / "none", jax)
