"""Every published figure has a place next to ours, or one reason for none."""

from collections import Counter
from dataclasses import replace

import pytest

from pytest_dlbench import DATASETS
from pytest_dlbench.environments.known import FRAMEWORKS as KNOWN
from pytest_dlbench.judging import METRICS
from pytest_dlbench.reporting.published import placing, studies, tables
from pytest_dlbench.reporting.published.observing import Observed
from pytest_dlbench.reporting.published.placing import Absence, Unmatched
from pytest_dlbench.zoo import MODELS
from tests.doubles.judged import judged

FIGURES = 2888
EVERY = [one for name in studies.studies() for one in placing.placed(name)]


def observed(framework, model, **changes):
    found = judged(framework, model, **changes)
    recipe = {"epochs": 15}
    return Observed(session="s", case=found.result.case, context=found.context, recipe=recipe, runs=found.runs)


def match(one, *cases):
    (found,) = placing.match([one], cases)
    return found


def find(**fields):
    return next(one for one in EVERY if all(getattr(one.figure, name) == value for name, value in fields.items()))


def test_no_row_of_the_shipped_data_is_lost():
    files = {name: file.read_text("utf-8") for name in _files() for file in [studies.HERE / name]}
    rows = {(name, number) for name, text in files.items() for number in range(1, len(text.splitlines()))}
    assert len(rows) == len(EVERY) == FIGURES
    assert {(one.file, one.row) for one in EVERY} == rows


def _files():
    return [name for study in studies.studies().values() for name in study.files]


def test_every_figure_has_a_place_or_one_reason():
    assert all((one.place is None) != (one.absence is None) for one in EVERY)


def test_the_counts_are_those_of_all_figures():
    counts = placing.counts(EVERY)
    assert counts.total() == FIGURES
    assert set(counts) == {"placed", *Absence}


def test_every_reason_has_an_explanation():
    assert set(tables.ABSENT) == set(Absence)
    assert set(tables.UNMATCHED) == set(Unmatched)
    assert set(tables.CAVEATS) == set(placing.Caveat)
    assert set(tables.CONDITIONS) == set(placing.Condition)


def test_a_place_has_a_model_frameworks_a_metric_and_a_data_set_of_ours():
    for place in [one.place for one in EVERY if one.place]:
        assert place.model in MODELS
        assert set(place.frameworks) <= set(KNOWN)
        assert place.metric in METRICS
        assert place.dataset in {"", *DATASETS}


@pytest.mark.parametrize(
    ("fields", "absence"),
    [
        ({"framework": "Torch", "model": "FCN-R"}, Absence.NO_EQUIVALENT),
        ({"source": "hkbu", "framework": "MXNet", "gpus": "4"}, Absence.SEVERAL_GPUS),
        ({"metric": "gpu_power_avg", "gpus": "0"}, Absence.IDLE_GPU),
        ({"metric": "epochs_logged"}, Absence.CONDITION),
        ({"model": "faster-rcnn"}, Absence.NO_MODEL),
        ({"framework": "MXNet", "metric": "gpu_memory_avg", "value": "0.0"}, Absence.ZERO),
    ],
)
def test_the_reason_is_that_of_the_row(fields, absence):
    assert find(**fields).absence is absence


def test_our_figure_is_that_of_the_nearest_conditions():
    one = find(source="hkbu", framework="MXNet", model="FCN-R", threads="4", gpus="0")
    cases = [observed("mxnet", "hkbu-fcn-r", threads=count, step=0.01 * count) for count in (1, 4)]
    found = match(one, *cases)
    assert (found.case.case.threads, found.ours, found.unmatched) == (4, pytest.approx(0.04), None)


def differing(found):
    """The last column of the row of a figure."""
    return tables.matched([found], Counter())[1].partition("another machine")[-1]


def test_conditions_that_differ_are_in_the_row():
    one = find(source="hkbu", framework="MXNet", model="FCN-R", threads="4", gpus="0")
    found = match(one, observed("mxnet", "hkbu-fcn-r", threads=2, context={"batch_size": 32}))
    assert differing(found) == ", batch size 1,024 (ours 32), threads 4 (ours 2), data set MNIST (ours digits28)"


def test_conditions_that_are_the_same_are_not_in_the_row():
    one = find(source="hkbu", framework="MXNet", model="FCN-R", threads="4", gpus="0")
    found = match(one, observed("mxnet", "hkbu-fcn-r", threads=4, dataset="mnist", context={"batch_size": 1024}))
    assert (found.differences, differing(found)) == ((), "")


@pytest.mark.parametrize(
    ("fields", "dataset"),
    [
        ({"source": "hkbu", "model": "LSTM"}, "ptb32"),
        ({"source": "hkbu", "model": "FCN-S"}, "synthetic"),
        ({"source": "rosetta", "model": "imdb-gru", "metric": "training_time_3_epochs"}, "imdb150"),
        ({"source": "rosetta", "model": "imdb-gru", "metric": "test_accuracy"}, "imdb150"),
        ({"source": "tartu", "model": "lstm", "dataset": "IMDB", "metric": "final_test_accuracy"}, "imdb500"),
        ({"source": "thesis", "dataset": "CIFAR10"}, "cifar10"),
    ],
)
def test_a_data_set_by_another_name_is_no_difference(fields, dataset):
    found = match_of(fields, dataset=dataset, scale="full")
    assert placing.Condition.DATASET not in {difference.condition for difference in found.differences}


def test_what_a_study_does_not_print_is_no_difference():
    assert match_of({"source": "thesis", "model": "LeNet"}, dataset="mnist").differences == ()


def match_of(fields, **case):
    """The first such figure that has a place, next to a case of ours."""
    one = next(one for one in EVERY if one.place and _has(one.figure, fields))
    device = "gpu" if one.place.is_gpu else "cpu"
    found = match(one, observed(one.place.frameworks[0], one.place.model, device=device, **case))
    assert found.case is not None
    return found


def _has(figure, fields):
    return all(getattr(figure, name) == value for name, value in fields.items())


@pytest.mark.parametrize(
    ("metric", "differs"),
    [
        ("avg_time_per_1000_images", ", their seconds for 1,000 images, our samples per second"),
        ("inference_wall_time_1280_images", ", their seconds for 1,280 images, our samples per second"),
        ("inference_speed", ""),
    ],
)
def test_seconds_for_a_number_of_images_are_not_samples_per_second(metric, differs):
    found = match_of({"metric": metric}, dataset="synthetic", context={"batch_size": 32})
    assert differing(found) == differs


def test_a_time_of_another_number_of_epochs_says_so():
    logs = {"source": "tartu", "metric": "last_elapsed_time_in_log", "model": "cnn", "dataset": "MNIST", "gpus": "0"}
    one = next(one for one in EVERY if one.place and _has(one.figure, logs))
    longer = replace(one, figure=replace(one.figure, note="31 epochs logged"))
    case = {"dataset": "mnist", "scale": "full", "context": {"batch_size": 128}}
    ours = observed(one.place.frameworks[0], "tartu-mnist-cnn", **case)
    assert differing(match(one, ours)) == ""
    assert differing(match(longer, ours)) == ", epochs 31 (ours 15)"


@pytest.mark.parametrize(
    ("fields", "changes", "unmatched"),
    [
        ({"source": "hkbu", "framework": "MXNet", "gpus": "1"}, {}, Unmatched.NO_GPU),
        ({"source": "hkbu", "framework": "CNTK", "gpus": "0"}, {}, Unmatched.NOT_RUN),
    ],
)
def test_records_without_a_figure_are_explained(fields, changes, unmatched):
    assert match(find(**fields, model="FCN-R"), observed("mxnet", "hkbu-fcn-r", **changes)).unmatched is unmatched


def test_a_record_of_another_network_on_a_gpu_is_none_of_this_one():
    one = find(source="hkbu", framework="MXNet", gpus="1", model="FCN-R")
    assert match(one, observed("mxnet", "gatech-lenet", device="gpu")).unmatched is Unmatched.NO_GPU
    assert match(one, observed("pytorch", "hkbu-fcn-r", device="gpu")).unmatched is Unmatched.NOT_RUN


def test_an_accuracy_is_placed_next_to_one_on_the_same_data_after_a_whole_training():
    one = find(source="tartu", framework="PyTorch", dataset="MNIST", metric="accuracy", gpus="0")
    case = {"framework": "pytorch", "model": "tartu-mnist-cnn"}
    assert match(one, observed(**case)).unmatched is Unmatched.OTHER_DATA
    case |= {"dataset": "mnist", "accuracy": 0.97}
    short = observed(**case, scale="full", context={"recipe_steps": 10_000})
    assert match(one, short).unmatched is Unmatched.CUT_SHORT
    # A suite's own recipe of scale quick is another one.
    assert match(one, observed(**case)).unmatched is Unmatched.CUT_SHORT
    assert match(one, observed(**case, scale="full")).ours == pytest.approx(0.97)


def test_the_counts_with_records_are_also_those_of_all_figures():
    found = list(placing.match(EVERY, [observed("mxnet", "hkbu-fcn-r")]))
    total = tables.counted(found, placing.counts(EVERY))
    assert total.total() == FIGURES
    # FCN-R in MXNet, on two processors with one to 32 threads.
    assert total["placed"] == Counter(one.unmatched for one in found)[None] == 10
