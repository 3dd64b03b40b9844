"""From the values of a cell to the spec of its runs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.data import ANY_SHAPE, DATASETS
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.environments.placing import Absent, Lack
from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import SGD, Dense, Model, Recipe, ReLU, SoftmaxCrossEntropy, infer
from pytest_dlbench.planning.plan import RunSettings, evaluations, require_fit, steps_of, synthetic_for, unsupported
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Context, Machine
from pytest_dlbench.zoo import MODELS

MACHINE = Machine(name="small", cpu_model="8086", cores=4, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=4, seed=5, timeout_seconds=60.0)
DOUBLES = Path(__file__).parents[1] / "doubles" / "builders"
PYTORCH, CPU = FRAMEWORKS["pytorch"], DEVICES["cpu"]
SMALL = Model(
    name="small",
    family="fcn",
    input_shape=(4,),
    layers=(Dense(6), ReLU(), Dense(3)),
    head=SoftmaxCrossEntropy(classes=3),
    recipe=Recipe(batch_size=32, epochs=2, optimizer=SGD(0.1)),
)


@pytest.fixture(scope="module", autouse=True)
def users_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        prepare.cache_clear()
        yield
        prepare.cache_clear()


def spec_of(settings=SETTINGS, model=SMALL, data=ANY_SHAPE, **more):
    return settings.spec(PYTORCH, model, data, CPU, **more)


def recipe_of(*, batch_size=32, epochs=1):
    return Recipe(batch_size=batch_size, epochs=epochs, optimizer=SGD(0.1))


@pytest.mark.parametrize(
    ("scale", "batch_size", "epochs", "steps"),
    [
        ("full", 128, 15, 15 * 11),
        ("full", 360, 2, 2 * 3),
        ("quick", 128, 15, 2880 // 128),
        ("quick", 128, 1, 11),
        ("smoke", 128, 15, 640 // 128),
        ("smoke", 1024, 40, 2),
    ],
)
def test_a_run_has_the_epochs_of_the_recipe_up_to_the_limit_of_the_scale(scale, batch_size, epochs, steps):
    recipe = recipe_of(batch_size=batch_size, epochs=epochs)
    assert steps_of(recipe, DATASETS["digits28"], scale, infer(SMALL)) == steps


@pytest.mark.parametrize(
    ("model", "steps"), [("gatech-lenet", 90), ("tartu-svhn-cnn", 25), ("hkbu-resnet-50", 2), ("thesis-vgg16", 2)]
)
def test_a_large_network_has_fewer_steps_at_scale_quick_but_at_least_two(model, steps):
    network = infer(MODELS[model])
    assert steps_of(recipe_of(epochs=9), synthetic_for(MODELS[model]), "quick", network) == steps


@pytest.mark.parametrize(("scale", "trained"), [("full", 5000), ("quick", 2880 // 32), ("smoke", 640 // 32)])
def test_a_recipe_in_steps_has_those_up_to_the_limit_of_the_scale(scale, trained):
    recipe = replace(recipe_of(), epochs=None, steps=5000)
    assert steps_of(recipe, DATASETS["digits28"], scale, infer(SMALL)) == trained


def test_a_recipe_in_steps_is_evaluated_between_epochs_too():
    recipe, data = replace(recipe_of(batch_size=128), epochs=None, steps=30), DATASETS["digits28"]
    assert evaluations(recipe, data, "full", steps_of(recipe, data, "full", infer(SMALL))) == (11, 22)


def test_a_recipe_with_one_step_has_one():
    assert steps_of(recipe_of(batch_size=1000), DATASETS["digits28"], "smoke", infer(SMALL)) == 1


def test_missing_parts_of_a_builder_are_a_reason_not_to_train():
    assert unsupported(PYTORCH, infer(MODELS["hkbu-lstm"]), MODELS["hkbu-lstm"].recipe) == ""
    without = replace(PYTORCH, name="double", builder="numpy_softmax", folders=(DOUBLES,))
    reason = unsupported(without, infer(MODELS["gatech-lenet"]), MODELS["gatech-lenet"].recipe)
    assert reason == "the builder of double has no conv2d, no max_pool, no relu, no schedule"


def test_a_builder_that_cannot_be_read_refuses_nothing():
    elsewhere = replace(PYTORCH, builder="somebody_elses")
    assert unsupported(elsewhere, infer(SMALL), SMALL.recipe) == ""


@settings(deadline=None)
@given(st.integers(1, 1437), st.integers(1, 200))
def test_a_larger_scale_never_has_fewer_steps(batch_size, epochs):
    recipe = recipe_of(batch_size=batch_size, epochs=epochs)
    smoke, quick, full = (
        steps_of(recipe, DATASETS["digits"], scale, infer(SMALL)) for scale in ("smoke", "quick", "full")
    )
    assert 1 <= smoke <= quick <= full


def test_a_batch_larger_than_the_data_set_is_refused_with_both_numbers():
    with pytest.raises(ModelError, match="a batch of 1438 is more than the 1437 examples of digits28"):
        steps_of(recipe_of(batch_size=1438), DATASETS["digits28"], "full", infer(SMALL))


def test_a_batch_larger_than_the_data_set_is_refused_even_with_given_steps():
    with pytest.raises(ModelError, match="a batch of 1281 is more than the 1280 examples of synthetic-4-3"):
        spec_of(recipe=recipe_of(batch_size=1281), steps=10)


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({"accumulation": 5}, "digits", "a batch of 32 cannot be cut into 5 parts of one size"),
        ({"flips": True}, "digits", "need input=pipeline"),
        ({"crop_padding": 2, "input": "pipeline"}, "pydoc30", "are for images .*, not for pydoc30"),
        ({"flips": True, "input": "pipeline"}, "shapes", "without boxes, not for shapes"),
        ({"input": "jpeg"}, "pydoc30", "images of one class each, in grey or colours, which pydoc30 has not"),
        ({"loader_workers": 2}, "digits", "loader_workers=2 needs input=jpeg"),
        ({"loader": "plain", "input": "pipeline"}, "digits", "loader=plain needs input=jpeg"),
        ({"flips": True, "input": "jpeg"}, "digits", "need input=pipeline"),
        ({"patience": 2}, "digits", "patience=2 needs validation=true"),
        ({"tested_epoch": "best"}, "digits", "tested_epoch=best needs validation=true"),
        ({"validation": True, "patience": 2, "evaluation_interval": None}, "digits", "interval=1, not none"),
    ],
)
def test_a_recipe_that_does_not_fit_its_data_is_refused(changes, data, message):
    with pytest.raises(ModelError, match=message):
        require_fit(replace(recipe_of(), **changes), DATASETS[data])


def test_a_setting_that_does_not_fit_makes_its_case_unsupported():
    settings = replace(SETTINGS, changes=(Change(name="accumulation", value=5),))
    assert "cannot be cut into 5 parts" in spec_of(settings=settings).place.reason


def test_a_validation_split_is_a_fifth_of_the_training_split_and_no_part_of_the_test_split():
    plain, held_out = spec_of(), spec_of(recipe=replace(SMALL.recipe, validation=True))
    counts = [(spec.data.dataset.train_examples, spec.test_data.dataset.test_examples) for spec in (plain, held_out)]
    assert counts == [(1280, 320), (1024, 320)]
    assert held_out.data.dataset.test_examples == 256
    assert held_out.steps == held_out.recipe_steps == 2 * (1024 // 32)
    assert held_out.evaluate_after == (1024 // 32,)
    contexts = [SETTINGS.context(spec).dataset_digest for spec in (plain, held_out)]
    assert contexts[0] != contexts[1]


def test_a_case_of_inference_holds_nothing_out():
    asked = spec_of(recipe=replace(SMALL.recipe, validation=True), purpose="inference")
    assert asked.whole is None


def test_a_data_set_that_is_too_small_for_a_validation_split_makes_its_case_unsupported():
    settings = replace(SETTINGS, changes=(Change(name="validation", value=True),))
    tiny = replace(synthetic_for(SMALL), train_examples=4)
    assert "has 4 training examples" in spec_of(settings=settings, data=tiny).place.reason


def test_hosts_that_could_disagree_on_when_to_stop_are_refused():
    placed = Change(name="placement", value="spread")
    settings = replace(SETTINGS, workers=2, changes=(placed,))
    recipe = replace(SMALL.recipe, validation=True, patience=1)
    with_patience, without = (
        spec_of(settings=settings, recipe=chosen).place.reason for chosen in (recipe, replace(recipe, patience=None))
    )
    assert "they could disagree" in with_patience
    assert "they could disagree" not in without


def test_only_a_training_by_one_worker_is_saved():
    settings = replace(SETTINGS, checkpoints=True)
    assert [spec_of(settings=settings, purpose=purpose).is_saved for purpose in ("training", "inference")] == [
        True,
        False,
    ]
    assert not spec_of().is_saved
    assert (
        "several workers save no checkpoint" in spec_of(settings=replace(settings, workers=2, threads=1)).place.reason
    )


def test_a_plan_has_the_steps_of_its_scale():
    assert spec_of().steps == 2 * (1280 // 32)


def test_given_steps_override_those_of_the_scale():
    assert spec_of(steps=10).steps == 10


def test_a_plan_has_the_recipe_of_the_model():
    assert spec_of().recipe is SMALL.recipe


def test_a_given_recipe_overrides_that_of_the_model():
    assert spec_of(recipe=recipe_of(batch_size=64)).recipe.batch_size == 64


def test_a_plan_has_the_network_of_the_model():
    assert spec_of().network.digest == infer(SMALL).digest


def test_a_plan_has_the_seed_and_timeout_of_the_session():
    planned = spec_of()
    assert (planned.seed, planned.timeout_seconds) == (5, 60.0)


def test_synthetic_data_has_the_shape_and_classes_of_the_model():
    assert spec_of().data.dataset is synthetic_for(SMALL)


def test_the_data_of_a_plan_is_prepared():
    assert spec_of().data.part("train_inputs").is_file()


def test_without_the_files_of_a_data_set_a_plan_has_the_command_that_fetches_them():
    place = spec_of(model=MODELS["gatech-lenet"], data=DATASETS["mnist"]).place
    assert isinstance(place, Absent)
    assert place.lack is Lack.NO_DATA
    assert "to get it: dlbench data fetch mnist" in place.reason


def test_a_case_is_named_by_label_cell_and_scale():
    assert spec_of().case.id == "training-pytorch-small-synthetic-cpu-quick"


def test_a_label_starts_the_name_of_a_case():
    assert spec_of(label="equivalence").case.id.startswith("equivalence-pytorch-small-")


@pytest.mark.parametrize("label", ["big/batch", "../training", "big batch", ".hidden", "big[bold]", "big\n"])
def test_a_label_that_is_not_a_valid_file_name_is_refused(label):
    with pytest.raises(ModelError, match="names a file: use letters, digits and"):
        spec_of(label=label)


@pytest.mark.parametrize("name", ["org/small", "small net", "small\\net", "small:1"])
def test_a_model_name_that_is_not_a_valid_file_name_is_refused_with_the_case(name):
    case = f"training-pytorch-{name}-synthetic-cpu-quick"
    with pytest.raises(ModelError, match=f"^case {re.escape(repr(case))} names a file"):
        spec_of(model=replace(SMALL, name=name))


@pytest.mark.parametrize("label", ["big_batch", "lr=1e+3", "v1.2", "größer"])
def test_a_label_that_every_file_system_accepts_is_accepted(label):
    assert spec_of(label=label).case.id.startswith(f"{label}-pytorch-small-")


def test_the_name_of_a_case_has_its_threads_unless_they_are_all_cores():
    assert spec_of(replace(SETTINGS, threads=2)).case.id == "training-pytorch-small-synthetic-cpu-quick-threads2"


def test_a_case_has_its_threads_even_if_its_name_does_not():
    assert spec_of().case.threads == 4


def test_a_model_that_does_not_fit_the_data_is_refused_with_a_remedy():
    with pytest.raises(ModelError) as caught:
        spec_of(model=MODELS["gatech-lenet"], data=DATASETS["digits32"])
    assert str(caught.value) == (
        "gatech-lenet takes 1×28×28, digits32 has 3×32×32; model.for_input((3, 32, 32)) makes a model for it"
    )


def test_the_context_has_what_must_be_equal_on_both_sides():
    planned = spec_of(steps=10)
    assert SETTINGS.context(planned) == Context(
        machine=MACHINE,
        network_digest=infer(SMALL).digest,
        dataset_digest=planned.data.digest,
        batch_size=32,
        steps=10,
        precision="float32",
        init="glorot",
        recipe_steps=2 * (1280 // 32),
    )


@pytest.mark.parametrize("change", [{"precision": "float64"}, {"init": "framework"}, {"batch_size": 64}], ids=str)
def test_another_recipe_is_another_context(change):
    other = replace(SMALL.recipe, **change)
    contexts = [SETTINGS.context(spec_of(recipe=recipe, steps=10)) for recipe in (SMALL.recipe, other)]
    assert contexts[0] != contexts[1]


# Settings of the command line


def with_changes(**values):
    return replace(SETTINGS, changes=tuple(Change(name=name, value=value) for name, value in values.items()))


def test_a_change_is_applied_to_the_recipe_of_the_model():
    assert spec_of(with_changes(learning_rate=0.5)).recipe == replace(SMALL.recipe, optimizer=SGD(0.5))


def test_a_change_is_applied_to_a_given_recipe():
    assert spec_of(with_changes(epochs=7), recipe=recipe_of(batch_size=64)).recipe == recipe_of(batch_size=64, epochs=7)


def test_the_name_of_a_case_has_the_settings_between_the_scale_and_the_threads():
    settings = replace(with_changes(batch_size=64, learning_rate=0.01), threads=2)
    assert spec_of(settings).case.id.endswith("-cpu-quick-batch_size64-learning_rate0.01-threads2")


def test_the_name_of_a_case_has_settings_that_equal_those_of_the_recipe():
    assert spec_of(with_changes(batch_size=32)).case.id.endswith("-batch_size32")


def test_a_case_has_its_settings():
    assert spec_of(with_changes(batch_size=64, init="framework")).case.settings == {
        "batch_size": 64,
        "init": "framework",
    }


def test_the_context_has_both_the_steps_and_those_of_the_recipe():
    context = SETTINGS.context(spec_of(recipe=recipe_of(epochs=50)))
    assert (context.steps, context.recipe_steps) == (2880 // 32, 50 * (1280 // 32))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rho": 0.9}, "SGD has no rho; its settings: learning_rate, momentum"),
        ({"batch_size": 5000}, "a batch of 5000 is more than the 1280 examples"),
        ({"nesterov": True}, "SGD with nesterov needs a momentum above 0"),
    ],
)
def test_a_point_of_a_sweep_that_cannot_be_trained_is_unsupported_with_the_reason(changes, reason):
    planned = spec_of(with_changes(**changes))
    assert isinstance(planned.place, Absent)
    assert re.match(reason, planned.place.reason)
    assert planned.steps == 0


def test_the_outline_refuses_a_discontinued_framework():
    outline = SETTINGS.outline(FRAMEWORKS["torch7"], SMALL, ANY_SHAPE, CPU)
    assert outline.refusal == FRAMEWORKS["torch7"].unsupported


def test_an_outline_prepares_no_data(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere/that/can/be/written")
    assert SETTINGS.outline(PYTORCH, MODELS["gatech-lenet"], DATASETS["digits28"], CPU).steps


@pytest.mark.parametrize(
    ("scale", "interval", "epochs", "expected"),
    [
        ("full", 1, 3, (11, 22)),
        ("full", 2, 5, (22, 44)),
        ("full", None, 3, ()),
        ("full", 3, 3, ()),
        ("quick", 1, 15, (11,)),
        ("quick", 1, 1, ()),
        ("smoke", 1, 15, ()),
    ],
)
def test_the_test_split_is_evaluated_at_the_interval_and_at_smoke_only_at_the_end(scale, interval, epochs, expected):
    recipe, data = replace(recipe_of(batch_size=128, epochs=epochs), evaluation_interval=interval), DATASETS["digits28"]
    steps = steps_of(recipe, data, scale, infer(SMALL))
    assert evaluations(recipe, data, scale, steps) == expected


def test_a_plan_with_given_steps_is_evaluated_only_at_the_end():
    settings = replace(SETTINGS, scale="full")
    assert spec_of(settings).evaluate_after == (40,)
    assert spec_of(settings, steps=60).evaluate_after == ()


def test_a_plan_has_the_target_of_its_session():
    assert spec_of(replace(SETTINGS, target_accuracy=0.9)).target_accuracy == 0.9


def test_the_allocation_policy_is_in_the_plan_and_in_the_context():
    settings = replace(SETTINGS, allocator="default")
    planned = spec_of(settings, steps=10)
    assert planned.allocator == settings.context(planned).allocator == "default"


def test_settings_of_execution_are_in_the_context_and_in_the_name():
    settings = replace(SETTINGS, changes=(Change(name="deterministic", value=True),))
    planned = spec_of(settings, steps=10)
    assert settings.context(planned).execution == planned.execution == ("deterministic",)
    assert planned.case.id.endswith("-deterministic_true")


@pytest.mark.parametrize(
    ("framework", "device", "changes", "execution"),
    [
        ("jax", "gpu", {}, ("autotune",)),
        ("jax", "gpu", {"autotune": False}, ()),
        ("jax", "gpu", {"deterministic": True}, ("deterministic",)),
        ("jax", "cpu", {}, ()),
        ("pytorch", "gpu", {}, ()),
        ("pytorch", "gpu", {"autotune": True}, ("autotune",)),
    ],
)
def test_a_framework_autotunes_as_it_does_by_itself_unless_the_recipe_says(framework, device, changes, execution):
    settings = replace(SETTINGS, changes=tuple(Change(name=name, value=value) for name, value in changes.items()))
    outline = settings.outline(FRAMEWORKS[framework], SMALL, ANY_SHAPE, DEVICES[device])
    assert (outline.recipe.execution, outline.refusal) == (execution, "")


def test_a_setting_of_execution_that_a_device_lacks_is_refused_with_the_reason():
    settings = replace(SETTINGS, changes=(Change(name="tf32", value=True),))
    outline = settings.outline(PYTORCH, SMALL, ANY_SHAPE, CPU)
    assert (outline.steps, outline.refusal) == (0, "tf32=true on a processor: it is a format of NVIDIA's GPUs")
