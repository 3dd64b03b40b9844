"""Named values, by axis."""

from dataclasses import replace

import pytest

from pytest_dlbench.data import ANY_SHAPE, DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.errors import OptionError, nearest
from pytest_dlbench.judging import METRICS
from pytest_dlbench.planning.matrix import AXES
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.zoo import MODELS

LENET = MODELS["gatech-lenet"]


def message_of(axis, value):
    with pytest.raises(OptionError) as caught:
        KNOWN.find(axis, value, "--dlbench-somewhere")
    return str(caught.value)


def test_the_registry_knows_every_axis():
    assert set(KNOWN.values) == set(AXES)


@pytest.mark.parametrize(
    ("axis", "value"),
    [
        ("framework", FRAMEWORKS["jax"]),
        ("model", LENET),
        ("dataset", DATASETS["digits28"]),
        ("dataset", ANY_SHAPE),
        ("device", DEVICES["cpu"]),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_a_name_finds_its_value(axis, value):
    assert KNOWN.find(axis, value.name, "here") is value


@pytest.mark.parametrize("axis", AXES)
def test_every_value_is_found_by_its_own_name(axis):
    assert all(value.name == name for name, value in KNOWN.values[axis].items())


def test_a_value_that_is_not_a_name_is_returned_as_it_is():
    own = replace(LENET, name="my-lenet")
    assert KNOWN.find("model", own, "here") is own


def test_the_error_for_an_unknown_name_says_where_it_was_given():
    assert message_of("model", "lenet-5").startswith("--dlbench-somewhere: unknown model 'lenet-5'\n")


@pytest.mark.parametrize(
    ("axis", "known"),
    [
        ("model", "faster-rcnn-shapes, faster-rcnn-voc, gatech-caffe-cifar10, "),
        ("dataset", "chestxray14, cifar10, cifar100, digits, digits28, digits32, fashion-mnist"),
        ("device", "cpu, gpu"),
    ],
)
def test_the_error_for_an_unknown_name_lists_the_known_ones_in_order(axis, known):
    assert f"\n  known: {known}" in message_of(axis, "xyzzy")


@pytest.mark.parametrize(
    ("axis", "value", "nearest"),
    [
        ("framework", "pytorhc", "pytorch"),
        ("framework", "tensorflow2", "tensorflow"),
        ("model", "tartu-cifar-cnn", "tartu-cifar10-cnn"),
        ("model", "gatech-le-net", "gatech-lenet"),
        ("dataset", "digit28", "digits28"),
        ("device", "cuda-gpu", "gpu"),
        # By what packages and imports are called: torch7 is spelled more like torch than pytorch is.
        ("framework", "torch", "pytorch"),
        ("framework", "Torch", "pytorch"),
        ("framework", "tf", "tensorflow"),
        ("framework", "keras", "keras-tensorflow"),
        ("framework", "paddlepaddle", "paddle"),
        ("dataset", "sklearn", "digits"),
        ("device", "cuda", "gpu"),
    ],
)
def test_the_error_for_an_unknown_name_suggests_the_closest_match(axis, value, nearest):
    assert message_of(axis, value).endswith(f"\n  did you mean {nearest!r}?")


@pytest.mark.parametrize("framework", [framework for framework in FRAMEWORKS.values() if framework.package], ids=str)
def test_a_framework_is_suggested_for_the_name_of_its_package(framework):
    meant = nearest(framework.package, FRAMEWORKS)
    assert FRAMEWORKS[meant].package.removesuffix("-cpu") == framework.package.removesuffix("-cpu")


def test_a_name_unlike_all_known_ones_has_no_closest_match():
    assert "did you mean" not in message_of("model", "xyzzy")


def test_a_numbered_gpu_is_a_gpu_of_the_same_name():
    found = KNOWN.find("device", "gpu:1,0", "--dlbench-devices")
    assert (found.name, found.numbers, found.marks) == ("gpu", (1, 0), ("gpu",))


@pytest.mark.parametrize("name", ["gpu:", "gpu:a", "cpu:0", "gpu:-1", "1"])
def test_other_numbers_are_unknown(name):
    with pytest.raises(OptionError, match="unknown device"):
        KNOWN.find("device", name, "--dlbench-devices")


@pytest.mark.parametrize("value", [DEVICES["cpu"], LENET, None, 5], ids=["device", "model", "None", "number"])
def test_a_value_of_another_kind_is_refused(value):
    assert message_of("framework", value).startswith("--dlbench-somewhere: unknown framework ")


def test_an_extended_registry_finds_the_new_value():
    own = replace(LENET, name="my-lenet")
    assert KNOWN.extended("model", [own]).find("model", "my-lenet", "here") is own


def test_an_extended_registry_still_finds_the_known_ones():
    own = replace(LENET, name="my-lenet")
    assert KNOWN.extended("model", [own]).find("model", "gatech-lenet", "here") is LENET


def test_a_new_value_replaces_a_known_one_with_the_same_name():
    own = replace(LENET, sources=("me",))
    assert KNOWN.extended("model", [own]).find("model", "gatech-lenet", "here") is own


def test_extending_a_registry_does_not_change_it():
    KNOWN.extended("model", [replace(LENET, name="my-lenet")])
    assert "my-lenet" not in KNOWN.values["model"]


def test_the_source_of_a_model_may_be_omitted_if_the_rest_is_unambiguous():
    assert KNOWN.find("model", "mnist-cnn", "here") is KNOWN.values["model"]["tartu-mnist-cnn"]
    other = replace(KNOWN.values["model"]["tartu-mnist-cnn"], name="mine-mnist-cnn")
    with pytest.raises(OptionError, match="unknown model 'mnist-cnn'"):
        KNOWN.extended("model", [other]).find("model", "mnist-cnn", "here")


def test_the_first_part_of_a_framework_may_not_be_omitted():
    with pytest.raises(OptionError, match="unknown framework 'theano-cntk'"):
        KNOWN.find("framework", "theano-cntk", "here")
    with pytest.raises(OptionError, match="unknown framework 'imperative'"):
        KNOWN.find("framework", "imperative", "here")


def test_a_framework_in_an_environment_is_found_by_its_specification():
    assert KNOWN.find("framework", "pytorch==2.12.0", "here").name == "pytorch==2.12.0"


@pytest.mark.parametrize("tolerance", [float("inf"), float("nan"), 0.0, -0.05, 10.1])
def test_a_metric_of_a_hook_has_a_tolerance_in_the_same_range(tolerance):
    mine = replace(METRICS["step_time"], name="mine", tolerance=tolerance)
    with pytest.raises(OptionError, match=rf"'mine': expected a tolerance above 0 .*1000% .*got {tolerance}"):
        KNOWN.measuring([mine])


@pytest.mark.parametrize("change", [float("inf"), float("nan"), -1.0])
def test_a_metric_of_a_hook_has_a_least_change_that_leaves_something_to_fail_on(change):
    with pytest.raises(OptionError, match=rf"'mine': expected a least_change of 0 bytes or more, got {change}"):
        KNOWN.measuring([replace(METRICS["peak_rss"], name="mine", least_change=change)])


def test_a_least_change_is_of_ratios():
    with pytest.raises(OptionError, match=r"'mine': a least_change is a share .*; points have none"):
        KNOWN.measuring([replace(METRICS["accuracy"], name="mine", least_change=0.1)])


@pytest.mark.parametrize("changes", [{"run_sd": float("inf")}, {"session_sd": float("nan")}, {"smallest_spread": -1.0}])
def test_a_metric_of_a_hook_has_finite_spreads(changes):
    (name,) = changes
    with pytest.raises(OptionError, match=rf"'mine': expected {name} from 0 to 10, got"):
        KNOWN.measuring([replace(METRICS["step_time"], name="mine", **changes)])
