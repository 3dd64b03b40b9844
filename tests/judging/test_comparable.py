from dataclasses import fields, replace

import pytest

from pytest_dlbench.judging import changes, obstacles
from pytest_dlbench.judging.comparable import is_whole_recipe
from pytest_dlbench.records import Baseline, Context, codec
from pytest_dlbench.records.reasons import Difference
from tests.doubles import records


def differs(name, baseline, candidate):
    return Difference(name=name, baseline=baseline, candidate=candidate)


OTHER = {
    "machine": (
        records.machine(name="linux-other-64cores"),
        differs("machine class", "linux-acme-2cores-8gib", "linux-other-64cores"),
    ),
    "network_digest": ("beef", differs("network", "5d806ee3711cedb8", "beef")),
    "dataset_digest": ("cafe", differs("data set", "63bf5a2fc100bc0f", "cafe")),
    "batch_size": (128, differs("batch size", 64, 128)),
    "steps": (51, differs("steps", 50, 51)),
    "precision": ("float64", differs("precision", "float32", "float64")),
    "init": ("framework", differs("initial weights", "glorot", "framework")),
    "input": ("pipeline", differs("input", "memory", "pipeline")),
    "allocator": ("default", differs("memory allocator", "tuned", "default")),
    "weights": ("0123456789ab", differs("given weights", "none", "0123456789ab")),
    "execution": (("deterministic", "tf32"), differs("settings of execution", "none", "deterministic, tf32")),
}


@pytest.mark.parametrize("name", sorted({field.name for field in fields(Context)} - {"recipe_steps"}))
def test_every_part_of_the_context_is_an_obstacle_where_it_differs(name):
    other, told = OTHER[name]
    assert obstacles(records.context(), records.context(**{name: other})) == (told,)


def test_one_context_has_no_obstacles():
    assert obstacles(records.context(), records.context()) == ()


def test_all_obstacles_are_reported():
    other = records.context(**{name: value for name, (value, _) in OTHER.items()})
    assert len(obstacles(records.context(), other)) == len(OTHER)


def test_a_recipe_that_would_go_on_for_longer_than_the_scale_is_no_obstacle():
    assert obstacles(records.context(), records.context(recipe_steps=1650)) == ()


def test_the_shared_weights_of_older_files_are_those_by_glorots_rule():
    assert obstacles(records.context(init="shared"), records.context()) == ()
    assert changes({"init": "shared"}, {"init": "glorot"}) == ()
    assert obstacles(records.context(init="shared"), records.context(init="he")) == (
        differs("initial weights", "glorot", "he"),
    )


def test_a_setting_that_is_not_used_is_as_one_that_older_files_do_not_have():
    assert changes({"epochs": 3}, {"epochs": 3, "steps": None}) == ()
    assert changes({"epochs": 3}, {"epochs": None, "steps": 40}) == (
        differs("epochs", 3, None),
        differs("steps", None, 40),
    )


def test_what_a_kernel_tells_differently_of_one_machine_class_is_no_obstacle():
    renamed = records.machine(cpu_model="Acme 9000 (stepping 2)")
    assert obstacles(records.context(), records.context(machine=renamed)) == ()


def test_a_changed_version_is_reported_with_both_numbers():
    assert changes({"numpy": "2.4.6", "torch": "2.12.0"}, {"numpy": "2.4.6", "torch": "2.13.0"}) == (
        differs("torch", "2.12.0", "2.13.0"),
    )


def test_a_version_that_came_is_reported():
    assert changes({}, {"cudnn": "9.1"}) == (differs("cudnn", None, "9.1"),)


def test_a_version_that_went_is_reported():
    assert changes({"cudnn": "9.1"}, {}) == (differs("cudnn", "9.1", None),)


def test_a_setting_within_a_recipe_is_reported_with_its_path():
    faster = {**records.RECIPE, "optimizer": {**records.RECIPE["optimizer"], "learning_rate": 0.1}}
    assert changes(records.RECIPE, faster) == (differs("optimizer.learning_rate", 0.01, 0.1),)


def test_another_optimizer_is_reported_by_all_its_settings():
    other = {**records.RECIPE, "optimizer": {"kind": "adam", "learning_rate": 0.01, "beta": 0.9}}
    assert changes(records.RECIPE, other) == (
        differs("optimizer.kind", "sgd", "adam"),
        differs("optimizer.momentum", 0.9, None),
        differs("optimizer.beta", None, 0.9),
    )


def test_the_same_settings_in_another_order_are_no_change():
    assert changes(records.RECIPE, dict(reversed(records.RECIPE.items()))) == ()


def test_a_recipe_is_itself_after_it_was_stored():
    stored = codec.decode(codec.encode_file(records.baseline()), Baseline, "here")
    assert changes(stored.recipe, records.RECIPE) == ()


def test_a_setting_with_several_values_is_itself_after_it_was_stored():
    recipe = {"optimizer": {"kind": "adam", "betas": (0.9, 0.999)}}
    stored = codec.decode(codec.encode_file(replace(records.baseline(), recipe=recipe)), Baseline, "here")
    assert changes(stored.recipe, recipe) == ()


@pytest.mark.parametrize(
    ("scale", "settings", "is_whole"),
    [
        ("full", {}, True),
        ("full", {"batch_size": 5000}, True),
        ("full", {"steps": 8}, False),
        ("full", {"epochs": 1}, False),
        ("quick", {}, False),
    ],
)
def test_a_training_with_a_length_of_its_own_is_no_whole_recipe(scale, settings, is_whole):
    case = records.case(scale=scale, settings=settings)
    assert is_whole_recipe(case, records.context(recipe_steps=50)) is is_whole
