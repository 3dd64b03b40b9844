"""How many steps a case trains where its timed part has to last: decided once, by a run that measures its steps."""

from dataclasses import replace

import pytest

from pytest_dlbench.planning import lengths
from pytest_dlbench.records import Length
from tests.doubles import records
from tests.running.specs import spec


@pytest.fixture
def planned(tmp_path):
    """A spec of 8 steps on a GPU, of a recipe with 1,000, whose timed steps have to last a second."""
    usual = spec("numpy_softmax", tmp_path)
    case = replace(usual.case, device="gpu", dataset="digits")
    return replace(usual, case=case, recipe_steps=1000, least_seconds=1.0)


def probed(planned, step):
    return lengths.probed(planned, records.training((10 * step, *[step] * 39)))


@pytest.mark.parametrize(("step", "steps"), [(0.2, 8), (0.1, 16), (0.06, 32), (0.002, 512), (0.0001, 1000)])
def test_steps_are_doubled_until_they_last_and_end_with_the_recipe(planned, step, steps):
    found = probed(planned, step)
    assert (found.steps, found.least_seconds) == (steps, 0.0)
    assert found.length == Length(least_seconds=1.0, source="probe", probed_steps=40, step_seconds=pytest.approx(step))


def test_synthetic_data_are_trained_for_longer_than_their_recipe(planned):
    synthetic = replace(planned, case=replace(planned.case, dataset="synthetic"))
    assert probed(synthetic, 0.0001).steps == 16384


def test_a_disturbed_probe_does_not_shorten_runs(planned):
    disturbed = records.training((0.1, *[0.01, 0.05, 0.05] * 13))
    assert lengths.probed(planned, disturbed).steps == probed(planned, 0.01).steps


def test_a_longer_training_is_evaluated_as_often_as_its_recipe_says(planned):
    quick = replace(planned, case=replace(planned.case, scale="quick"))
    per_epoch = quick.data.dataset.train_examples // quick.recipe.batch_size
    found = probed(quick, 0.002)
    assert found.evaluate_after == tuple(range(per_epoch, found.steps, per_epoch))


def test_the_other_side_of_a_pair_is_made_longer_by_as_much(planned):
    decided = probed(planned, 0.01)
    assert lengths.alike(planned, planned, decided).steps == decided.steps
    half = replace(planned, steps=4)
    assert lengths.alike(half, planned, decided).steps == decided.steps // 2


def test_a_side_whose_steps_are_given_keeps_them(planned):
    given = replace(planned, least_seconds=0.0)
    assert lengths.alike(given, planned, probed(planned, 0.01)) is given
