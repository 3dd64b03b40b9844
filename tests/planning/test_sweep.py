"""Settings as text, and the recipes they result in."""

from dataclasses import fields, replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.errors import ModelError, OptionError
from pytest_dlbench.model import SGD, Adam, Recipe
from pytest_dlbench.model.optimizers import Optimizer
from pytest_dlbench.planning import sweep
from pytest_dlbench.planning.sweep import Change, changed, parse, points, show
from pytest_dlbench.zoo import RECIPES

WHERE = "--dlbench-set"
RECIPE = Recipe(batch_size=32, epochs=2, optimizer=SGD(0.1, momentum=0.5))


def error_of(text):
    with pytest.raises(OptionError) as caught:
        parse(text, WHERE)
    return str(caught.value)


def change(**values):
    return [Change(name=name, value=value) for name, value in values.items()]


# From text


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("batch_size=50,500,5000", "batch_size", (50, 500, 5000)),
        ("learning_rate=0.001,1e-2", "learning_rate", (0.001, 0.01)),
        ("nesterov=true,False", "nesterov", (True, False)),
        ("precision=float64", "precision", ("float64",)),
        ("init=glorot,he,framework", "init", ("glorot", "he", "framework")),
        ("clip_norm=none,1", "clip_norm", (None, 1.0)),
        (" epochs = 3 , 4 ", "epochs", (3, 4)),
        ("momentum=-0", "momentum", (0.0,)),
    ],
)
def test_a_setting_has_the_type_of_its_field(text, name, values):
    (found,) = parse(text, WHERE).items()
    assert found == (name, values)
    assert [type(value) for value in found[1]] == [type(value) for value in values]


def test_an_empty_text_has_no_settings():
    assert parse("", WHERE) == {}


def test_settings_are_sorted_so_that_their_order_does_not_make_another_case():
    assert list(parse("momentum=0.9,batch_size=50,500", WHERE)) == ["batch_size", "momentum"]


@pytest.mark.parametrize("name", sorted({field.name for kind in get_args(Optimizer) for field in fields(kind)}))
def test_every_setting_of_every_optimiser_is_known(name):
    assert "unknown" not in error_of(f"{name}=x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("batchsize=50", "--dlbench-set: unknown setting 'batchsize'"),
        ("batchsize=50", "did you mean 'batch_size'?"),
        ("batchsize=50", "known: accumulation, autotune, batch_size, beta1"),
        ("optimizer=adam", "unknown setting 'optimizer'"),
        ("schedule=none", "unknown setting 'schedule'"),
        ("50", "expected KEY=VALUE, such as batch_size=64 or batch_size=50,500, got '50'"),
        ("=50", "unknown setting ''"),
        ("batch_size=", "--dlbench-set batch_size: expected a whole number, got ''"),
        ("batch_size=50,,500", "--dlbench-set batch_size: expected a whole number, got ''"),
        ("batch_size=many", "--dlbench-set batch_size: expected a whole number, got 'many'"),
        ("batch_size=-50", "expected a whole number, got '-50'"),
        ("batch_size=2.5", "expected a whole number, got '2.5'"),
        ("batch_size=0", "--dlbench-set batch_size: the batch size must be 1 or more, got 0"),
        ("steps=0", "--dlbench-set steps: steps must be 1 or more, got 0"),
        ("init=shared", "--dlbench-set init: expected one of glorot, he, framework, got 'shared'"),
        ("learning_rate=quick", "expected a finite number, 0 or more, got 'quick'"),
        ("learning_rate=nan", "expected a finite number, 0 or more, got 'nan'"),
        ("learning_rate=inf", "expected a finite number, 0 or more, got 'inf'"),
        ("learning_rate=-0.1", "expected a finite number, 0 or more, got '-0.1'"),
        ("learning_rate=0", "learning rate above 0"),
        ("momentum=1", "momentum must be at least 0 and below 1, got 1.0"),
        ("rho=1.5", "rho must be at least 0 and below 1, got 1.5"),
        ("nesterov=1", "expected true or false, got '1'"),
        ("precision=float8", "expected one of float32, float64, bfloat16, float16, got 'float8'"),
        ("clip_norm=some", "expected a finite number, 0 or more or none, got 'some'"),
        ("clip_norm=0", "clip_norm must be above 0"),
        ("batch_size=50,50", "--dlbench-set batch_size: 50 is given twice"),
        ("learning_rate=0.01,1e-2", "--dlbench-set learning_rate: 0.01 is given twice"),
        ("nesterov=false,false", "false is given twice"),
        ("batch_size=50,batch_size=60", "batch_size is set twice; give all its values together"),
    ],
)
def test_the_error_for_an_invalid_setting_says_what_is_expected(text, expected):
    assert expected in error_of(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("batch_size=64", 64),
        ("batch_size=large", "large"),
        ("learning_rate=1", 1.0),
        ("depth=-3", -3),
        ("rate=1e-3", 0.001),
        ("rate=nan", "nan"),
        ("shuffled=True", True),
        ("warm_up=none", None),
    ],
)
def test_a_setting_of_a_side_may_be_a_parameter_of_a_program(text, value):
    (found,) = sweep.parse_any(text, WHERE)
    assert (found.value, type(found.value)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("depth=12", "--dlbench-ab: unknown setting 'depth'"),
        ("batch_size=large", "--dlbench-ab batch_size: expected a whole number, got 'large'"),
        ("batch_size=none", "--dlbench-ab batch_size: expected a whole number, got 'none'"),
    ],
)
def test_a_setting_that_no_recipe_has_is_refused_of_a_network(text, expected):
    with pytest.raises(OptionError) as caught:
        sweep.refuse_unknown(sweep.parse_any(text, WHERE), "--dlbench-ab")
    assert expected in str(caught.value)


@given(st.text(max_size=12))
def test_any_text_for_a_number_is_parsed_or_refused_with_the_name_of_the_option(text):
    try:
        found = parse(f"batch_size={text}", WHERE)
    except OptionError as error:
        found = {"batch_size": (str(error),)}
    for value in found["batch_size"]:
        assert value.startswith(WHERE) if isinstance(value, str) else value >= 1


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_a_number_survives_being_shown_and_parsed(number):
    assert parse(f"learning_rate={show(number)}", WHERE) == {"learning_rate": (number,)}


# To points


def test_all_combinations_are_points_and_the_last_setting_varies_fastest():
    found = points(parse("batch_size=50,500,learning_rate=0.1,0.01", WHERE))
    assert ["-".join(each.id for each in point) for point in found] == [
        "batch_size50-learning_rate0.1",
        "batch_size50-learning_rate0.01",
        "batch_size500-learning_rate0.1",
        "batch_size500-learning_rate0.01",
    ]


def test_without_settings_there_is_one_point_without_changes():
    assert points({}) == [()]


@pytest.mark.parametrize(
    ("name", "value", "name_in_ids"),
    [
        ("batch_size", 50, "batch_size50"),
        ("learning_rate", 1.0, "learning_rate1"),
        ("learning_rate", 1e-05, "learning_rate1e-05"),
        ("nesterov", True, "nesterov_true"),
        ("init", "framework", "init_framework"),
        ("clip_norm", None, "clip_norm_none"),
    ],
)
def test_a_change_has_its_part_of_an_id(name, value, name_in_ids):
    assert Change(name=name, value=value).id == name_in_ids


# To recipes


def test_settings_of_the_recipe_and_of_its_optimiser_are_changed_together():
    found = changed(RECIPE, change(batch_size=64, precision="float64", learning_rate=0.5, nesterov=True))
    optimizer = SGD(0.5, momentum=0.5, nesterov=True)
    assert found == replace(RECIPE, batch_size=64, precision="float64", optimizer=optimizer)


def test_steps_replace_epochs_and_epochs_replace_steps():
    in_steps = replace(RECIPE, epochs=None, steps=700)
    assert changed(RECIPE, change(steps=700)) == in_steps
    assert changed(in_steps, change(epochs=RECIPE.epochs)) == RECIPE


def test_steps_and_epochs_together_are_refused():
    with pytest.raises(ModelError, match="either epochs or steps, got epochs=2 and steps=700"):
        changed(RECIPE, change(epochs=2, steps=700))


def test_no_change_gives_the_same_recipe():
    assert changed(RECIPE, []) == RECIPE


def test_a_setting_that_the_optimiser_lacks_is_refused_with_those_it_has():
    with pytest.raises(ModelError, match=r"^Adam has no momentum; its settings: learning_rate, beta1, beta2, epsilon$"):
        changed(replace(RECIPE, optimizer=Adam()), change(momentum=0.9))


def test_settings_that_contradict_each_other_are_refused_by_the_optimiser():
    with pytest.raises(ModelError, match="nesterov needs a momentum"):
        changed(RECIPE, change(momentum=0.0, nesterov=True))


# Whole recipes

MNIST, CIFAR10 = (1, 28, 28), (3, 32, 32)


def chosen(text, framework="pytorch", image=MNIST):
    (changes,) = points(parse(text, "--dlbench-set"))
    return sweep.changed(sweep.chosen(RECIPE, changes, framework, image), changes)


def test_a_framework_can_be_trained_with_the_recipe_of_another_one():
    assert chosen("recipe=gatech-caffe-mnist") == RECIPES["gatech-caffe-mnist"]


def test_a_named_recipe_can_be_changed():
    assert chosen("recipe=gatech-caffe-mnist,batch_size=7") == replace(RECIPES["gatech-caffe-mnist"], batch_size=7)


def test_several_named_recipes_are_an_axis():
    names = ("gatech-caffe-mnist", "gatech-theano-mnist")
    found = points(parse(f"recipe={','.join(names)}", "--dlbench-set"))
    assert [change.id for (change,) in found] == [f"recipe_{name}" for name in names]


def test_an_unknown_recipe_is_refused_with_the_known_ones():
    with pytest.raises(OptionError, match=r"expected one of gatech-tensorflow-mnist, .*, got 'gatech-cafe-mnist'"):
        parse("recipe=gatech-cafe-mnist", "--dlbench-set")


@pytest.mark.parametrize(
    ("framework", "image", "name"),
    [
        ("tensorflow", MNIST, "gatech-tensorflow-mnist"),
        ("tensorflow==2.15.1", CIFAR10, "gatech-tensorflow-cifar10"),
        ("theano", CIFAR10, "gatech-theano-cifar10"),
        ("theano@requirements.txt", CIFAR10, "gatech-theano-cifar10"),
    ],
)
def test_framework_settings_are_its_own_defaults_for_such_images(framework, image, name):
    assert chosen("settings=framework", framework, image) == RECIPES[name]


def test_equal_settings_are_the_given_ones():
    assert chosen("settings=equal", "tensorflow") == RECIPE


@pytest.mark.parametrize(("framework", "image"), [("pytorch", MNIST), ("tensorflow", (3, 224, 224)), ("theano", (30,))])
def test_a_framework_without_defaults_is_refused(framework, image):
    with pytest.raises(ModelError, match=f"no default settings of {framework} for inputs of"):
        chosen("settings=framework", framework, image)


def test_two_whole_recipes_are_refused():
    with pytest.raises(ModelError, match="are two recipes"):
        chosen("settings=framework,recipe=gatech-caffe-mnist", "tensorflow")
