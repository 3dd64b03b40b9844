"""The worker's accuracy and loss, checked against the definitions written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_dlbench.running import launch

LOGITS = arrays(np.float32, (6, 12), elements=st.floats(-30, 30, width=32))
LABELS = arrays(np.int64, 6, elements=st.integers(0, 11))
CLASSES = {"loss": "softmax_cross_entropy", "classes": 12}


@pytest.fixture(scope="module")
def judge():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(launch.WORKER_FOLDER)
        from dlworker import evaluation  # noqa: PLC0415 - it is on the worker's path

        yield evaluation.judge


@given(logits=LOGITS, labels=LABELS)
def test_top_1_is_the_largest_logit_and_top_5_the_five_largest(judge, logits, labels):
    # Stable: ties go to the first.
    order = np.argsort(-logits.astype(np.float64), axis=1, kind="stable")
    correct, near, _ = judge(CLASSES, logits, labels)
    assert correct == (order[:, 0] == labels).sum()
    assert near == (order[:, :5] == labels[:, np.newaxis]).any(axis=1).sum()


@given(logits=LOGITS, labels=LABELS)
def test_a_loss_is_minus_the_logarithm_of_the_labels_softmax(judge, logits, labels):
    shares = np.exp(logits.astype(np.float64))
    shares /= shares.sum(axis=1, keepdims=True)
    expected = -np.log(shares[np.arange(6), labels]).sum()
    assert judge(CLASSES, logits, labels)[2] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_logits_whose_exponential_overflows_have_a_loss(judge):
    assert judge(CLASSES, np.eye(1, 12) * 1e4, np.array([1]))[2] == pytest.approx(1e4)


@given(logits=LOGITS, labels=LABELS)
def test_ignored_steps_do_not_count(judge, logits, labels):
    network = {"loss": "sequence_cross_entropy", "classes": 12, "ignored": 0}
    counts = labels != 0
    rows, others = logits.reshape(2, 3, 12), labels.reshape(2, 3)
    assert judge(network, rows, others) == pytest.approx(judge(CLASSES, logits[counts], labels[counts]))


@given(logits=LOGITS)
def test_a_flag_is_right_on_its_side_of_zero(judge, logits):
    flags = (logits > 3).astype(np.float32)
    correct, _, total = judge({"loss": "sigmoid_cross_entropy"}, logits, flags)
    assert correct == ((logits > 0) == (logits > 3)).sum()
    signed = np.where(flags, -1.0, 1.0) * logits.astype(np.float64)
    assert total == pytest.approx(np.log1p(np.exp(signed)).sum(), rel=1e-9)


def test_a_large_vocabulary_is_processed_in_chunks_with_the_same_result(judge, monkeypatch):
    generator = np.random.default_rng(1)
    logits, labels = generator.normal(size=(50, 12)), generator.integers(0, 12, 50)
    whole = judge(CLASSES, logits, labels)
    monkeypatch.setitem(judge.__globals__, "NUMBERS", 40)
    assert judge(CLASSES, logits, labels) == pytest.approx(whole)


@pytest.fixture(scope="module")
def evaluation():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(launch.WORKER_FOLDER)
        from dlworker import evaluation  # noqa: PLC0415 - it is on the worker's path

        yield evaluation


# Few values, so that many are equal.
SCORES = arrays(np.float64, 9, elements=st.integers(0, 3).map(float))


@given(scores=SCORES, labels=arrays(np.bool_, 9))
def test_the_area_is_the_share_of_pairs_in_which_the_positive_one_scores_higher(evaluation, scores, labels):
    pairs = [(high > low) + (high == low) / 2 for high in scores[labels] for low in scores[~labels]]
    expected = sum(pairs) / len(pairs) if pairs else None
    assert evaluation.area_under_curve(scores, labels) == (expected and pytest.approx(expected, abs=1e-12))


def test_a_score_that_is_not_a_number_has_no_area(evaluation):
    assert evaluation.area_under_curve(np.array([0.0, np.nan]), np.array([True, False])) is None


def test_the_area_of_flags_is_the_mean_over_flags_and_leaves_out_one_without_positives(evaluation):
    answers = evaluation.Answers({"loss": "sigmoid_cross_entropy", "classes": 3})
    answers.add(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    # A second batch of the same split: ranks are those of the whole split.
    answers.add(np.array([[0.5, 3.0, 0.0]]), np.array([[0.0, 1.0, 0.0]]))
    assert answers.found()["auroc"] == (1.0 + 0.5) / 2


def test_every_class_has_the_accuracy_of_its_own_examples(evaluation):
    answers = evaluation.Answers({"loss": "softmax_cross_entropy", "classes": 3})
    answers.add(np.eye(3)[[0, 1, 0]], np.array([0, 0, 0]))
    answers.add(np.eye(3)[[2, 2]], np.array([2, 2]))
    assert answers.found()["class_accuracies"] == [2 / 3, None, 1.0]
    assert "auroc" not in answers.found()
