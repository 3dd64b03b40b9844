"""Every published figure has a place next to ours, or one reason for none."""

from collections import Counter

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
    return Observed(session="s", case=found.result.case, context=found.context, recipe={}, runs=found.runs)


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
