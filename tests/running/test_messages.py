"""Which answers of a worker are accepted, and which are refused before they become figures."""

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.running import messages

TRAINED = {
    "status": "done",
    "load_seconds": 0.1,
    "began": 7.0,
    "step_seconds": [0.01, 0.02],
    "losses": [2.3, 2.2],
    "examples": 128,
}
EVALUATED = {"status": "done", "seconds": 0.5, "examples": 360, "correct": 350, "loss": "0.25"}


def test_an_answer_is_parsed_as_the_message_of_its_operation():
    assert messages.parse("train", TRAINED) == messages.Trained(
        load_seconds=0.1, began=7.0, step_seconds=(0.01, 0.02), losses=(2.3, 2.2), examples=128
    )


def test_a_failure_is_parsed_as_such_for_any_operation():
    failed = {"status": "failed", "kind": "failed", "message": "no such layer", "traceback": "Traceback"}
    assert messages.parse("train", failed).message == "no such layer"


@pytest.mark.parametrize("seconds", [0, 0.0, -0.01])
def test_a_step_that_took_no_time_is_refused(seconds):
    with pytest.raises(FileFormatError, match="the answer to 'train': the seconds of every step must be above 0"):
        messages.parse("train", {**TRAINED, "step_seconds": [0.01, seconds]})


@pytest.mark.parametrize("correct", [-1, 361])
def test_an_impossible_number_of_correct_answers_is_refused_with_both_numbers(correct):
    with pytest.raises(FileFormatError, match=f"the answer to 'evaluate': {correct} correct answers of 360 examples"):
        messages.parse("evaluate", {**EVALUATED, "correct": correct})


@pytest.mark.parametrize("correct", [0, 360])
def test_zero_and_all_answers_may_be_correct(correct):
    assert messages.parse("evaluate", {**EVALUATED, "correct": correct}).correct == correct


def test_a_missing_field_is_named():
    without = {name: value for name, value in TRAINED.items() if name != "losses"}
    with pytest.raises(FileFormatError, match=r"the answer to 'train': .*`losses`"):
        messages.parse("train", without)
