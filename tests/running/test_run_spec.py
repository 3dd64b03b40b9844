"""The specification of a run."""

import pickle
from dataclasses import replace

from pytest_dlbench.model import SGD, Recipe
from pytest_dlbench.model.recipe import EXECUTION, LATER
from pytest_dlbench.running.run_spec import recipe_json
from tests.running.specs import spec


def test_a_spec_can_be_sent_to_another_process(tmp_path):
    asked = spec("clocked", tmp_path, evaluate_after=(3,), gpu="GPU-a", cores=frozenset({1}))
    assert repr(pickle.loads(pickle.dumps(asked))) == repr(asked)


def test_settings_of_execution_that_are_off_are_not_in_the_record_as_in_older_ones():
    recipe = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))
    assert set(EXECUTION).isdisjoint(recipe_json(recipe))
    assert recipe_json(replace(recipe, tf32=True)) == {**recipe_json(recipe), "tf32": True}


def test_a_recipe_with_settings_of_their_usual_values_is_that_of_records_older_than_them():
    recipe = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))
    assert set(LATER).isdisjoint(recipe_json(recipe))
    changed = {"accumulation": 2, "crop_padding": 4, "flips": True, "validation": True, "patience": 3}
    changed |= {
        "monitor": "accuracy",
        "tested_epoch": "best",
        "library": "onednn",
        "loader": "plain",
        "loader_workers": 2,
    }
    assert set(changed) == set(LATER)
    assert recipe_json(replace(recipe, **changed)) == {**recipe_json(recipe), **changed}
