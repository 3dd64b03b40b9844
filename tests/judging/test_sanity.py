"""Figures that cannot be, and those that only look so on a busy machine."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.sanity import impossible, suspicion, unchecked, untrained
from pytest_dlbench.model import SGD, Recipe
from pytest_dlbench.records import StepCheck, UpdateCheck
from pytest_dlbench.records.problems import (
    EvaluationVaries,
    LossBelowBound,
    LossesRepeat,
    NotAwaited,
    NotDouble,
    StepsChangeNothing,
    TooFast,
)
from pytest_dlbench.records.reasons import StepsUnclear
from tests.doubles.records import run, training

SOUND = StepCheck(
    steps=10,
    loss_before="0.51",
    loss_after="0.42",
    single=(0.05, 0.10),
    double=(0.10, 0.20),
    behind_single=(0.02, 0.04),
    behind_double=(0.02, 0.04),
    alone=(0.02, 0.04),
    loss_again="0.42",
)
FROZEN = replace(SOUND, loss_after="0.51")
UNSYNCHRONISED = replace(
    SOUND, single=(0.001, 0.001), double=(0.002, 0.002), behind_single=(0.12, 0.22), behind_double=(0.22, 0.42)
)
FORGETFUL = replace(SOUND, loss_again="0.44")
NOT_TWICE = replace(SOUND, single=(0.1, 0.1), double=(0.1, 0.1))
GROWING = replace(SOUND, single=(0.1, 0.1), double=(0.6, 0.6))


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (FROZEN, StepsChangeNothing(unchanged=30, steps=30, test_loss="0.51")),
        (
            UNSYNCHRONISED,
            NotAwaited(unit="steps", count=20, seconds=0.002, after_seconds=0.22, alone_seconds=0.02),
        ),
        (FORGETFUL, EvaluationVaries(losses=("0.42", "0.44"), is_checked=True)),
        (NOT_TWICE, NotDouble(steps=10, seconds=0.1, double_seconds=0.1)),
        (GROWING, NotDouble(steps=10, seconds=0.1, double_seconds=0.6)),
    ],
)
def test_a_fault_is_named(check, problem):
    assert suspicion(check, "cpu") == problem


@pytest.mark.parametrize(
    "check",
    [
        SOUND,
        # A neighbour: the clock goes on, the processors' time does not.
        replace(SOUND, double=(0.9, 0.2)),
        replace(SOUND, behind_single=(0.5, 0.04), behind_double=(0.9, 0.04)),
        # The last update is still to be done when its loss is known.
        replace(SOUND, behind_single=(0.03, 0.05), behind_double=(0.03, 0.05)),
        # Steps too short to decide.
        replace(SOUND, single=(0.001, 0.001), double=(0.001, 0.001)),
        # Nothing left to learn.
        replace(SOUND, loss_before="0.0", loss_after="0.0", loss_again="1e-9"),
        # Beyond its recipe a training may diverge.
        replace(SOUND, loss_after="nan", double=(0.05, 0.1)),
    ],
)
def test_a_busy_machine_and_an_odd_training_are_possible(check):
    assert suspicion(check, "cpu") is None


def test_what_is_left_unfinished_on_a_gpu_shows_on_the_clock_alone():
    on_card = replace(UNSYNCHRONISED, behind_single=(0.12, 0.001), behind_double=(0.22, 0.001))
    assert suspicion(on_card, "cpu") is None
    assert isinstance(suspicion(on_card, "gpu"), NotAwaited)


def test_a_suspicion_counts_if_every_repetition_has_one():
    def found(*checks):
        return impossible(replace(run(), step_checks=checks), has_convolutions=False, device="cpu")

    assert found(UNSYNCHRONISED, UNSYNCHRONISED, UNSYNCHRONISED)
    assert not found(UNSYNCHRONISED, UNSYNCHRONISED, SOUND)
    assert not found()


def test_repetitions_that_a_neighbour_disturbed_in_turn_are_possible():
    slow_single, slow_double = replace(SOUND, single=(0.3, 0.3)), replace(SOUND, double=(0.9, 0.9))
    assert suspicion(slow_single, "cpu")
    assert suspicion(slow_double, "cpu")
    disturbed = replace(run(), step_checks=(slow_single, slow_double, slow_single))
    assert not impossible(disturbed, has_convolutions=False, device="cpu")


def beside(foreign_cpus, *checks):
    usage = replace(run().usage["train"], foreign_cpus=foreign_cpus)
    return replace(run(), step_checks=checks, usage={"check_steps": usage})


@pytest.mark.parametrize("check", [UNSYNCHRONISED, NOT_TWICE])
def test_times_taken_during_other_load_are_no_fault_and_no_measurement(check):
    busy, quiet = beside(1.2, check, check), beside(0.2, check, check)
    assert not impossible(busy, has_convolutions=False, device="cpu")
    assert unchecked(busy, "cpu") == StepsUnclear(checks=2, foreign_cpus=1.2)
    assert impossible(quiet, has_convolutions=False, device="cpu")
    assert not unchecked(quiet, "cpu")


@pytest.mark.parametrize("check", [FROZEN, FORGETFUL])
def test_losses_count_even_during_other_load(check):
    busy = beside(1.2, check)
    assert impossible(busy, has_convolutions=False, device="cpu")
    assert not unchecked(busy, "cpu")


def test_a_sound_check_during_other_load_is_sound():
    assert not unchecked(beside(1.2, SOUND), "cpu")


def test_what_others_do_on_processors_excuses_no_gpu():
    on_card = beside(1.2, UNSYNCHRONISED)
    assert impossible(on_card, has_convolutions=False, device="gpu")
    assert not unchecked(on_card, "gpu")


def recipe(**changes):
    return replace(Recipe(batch_size=64, epochs=1, optimizer=SGD(0.1)), **changes)


def losses(*values, rates=None, **changes):
    """What is wrong with a run that reports these losses."""
    trained = replace(run(), training=replace(training((0.01,) * len(values)), losses=values))
    return untrained(trained, recipe(**changes), lowest_loss=0.0, rates=rates or (0.1,) * len(values))


def test_a_loss_below_its_bound_is_impossible_but_not_one_that_is_rounded_below_it():
    assert losses(2.3, -5.0, 1.9) == LossBelowBound(loss=-5.0, step=2, bound=0.0)
    assert not losses(2.3, 0.4, -1e-7)


def test_a_constant_loss_is_impossible():
    assert losses(2.3, 2.3, 2.3) == LossesRepeat(repeated=2, steps=3, loss=2.3)
    assert not losses(2.3)


def test_a_loss_that_is_equal_by_chance_once_in_many_steps_is_possible_but_not_one_in_every_tenth():
    falling = tuple(2.3 * 0.99**step for step in range(100))
    assert not losses(*falling[:50], *falling[49:])
    repeated = tuple(loss for place, loss in enumerate(falling) for _ in range(2 if place % 5 == 0 else 1))
    assert losses(*repeated) == LossesRepeat(repeated=20, steps=120)


def test_equal_losses_mean_nothing_at_a_learning_rate_of_0_in_16_bits_and_where_nothing_is_left_to_learn():
    assert not losses(2.3, 2.3, 2.2, rates=(0.0, 0.1, 0.1))
    assert not losses(2.3, 2.3, rates=(0.0, 0.0))
    assert not losses(2.3125, 2.3125, 2.25, precision="bfloat16")
    assert not losses(2.3, *(1e-7,) * 9)


def updates(pattern, losses=None, **changes):
    """What is wrong if steps change the parameters where the pattern has a 1."""
    changed = tuple(letter == "1" for letter in pattern)
    check = UpdateCheck(numbers=tuple(range(len(changed))), changed=changed, losses=losses or ("0.5",) * len(changed))
    trained = replace(run(), training=replace(training((0.01,)), losses=(2.3,)), update_check=check)
    return untrained(trained, recipe(**changes), lowest_loss=0.0, rates=(0.1,))


@pytest.mark.parametrize("pattern", ["10", "01", "0000", "10101010", "1111111101111111"])
def test_a_step_that_changes_no_parameter_is_impossible(pattern):
    assert updates(pattern) == StepsChangeNothing(unchanged=pattern.count("0"), steps=len(pattern))


@pytest.mark.parametrize("pattern", ["1111", "0011", "1100111"])
def test_a_loss_scale_may_skip_steps_that_overflow(pattern):
    assert not updates(pattern, precision="float16")


@pytest.mark.parametrize("pattern", ["0000", "10101010"])
def test_a_loss_scale_does_not_skip_every_second_step(pattern):
    assert updates(pattern, precision="float16")


def test_a_step_with_nothing_left_to_learn_and_one_that_diverged_need_not_change_parameters():
    assert not updates("100", losses=("0.5", "1e-08", "0.0"))
    assert not updates("10", losses=("0.5", "nan"))


@pytest.mark.parametrize(
    ("utilisation", "has_convolutions", "is_impossible"),
    [(1.04, False, False), (1.06, False, True), (3.0, True, False), (4.3, True, True), (None, False, False)],
)
def test_more_arithmetic_than_the_machine_has_is_impossible(utilisation, has_convolutions, is_impossible):
    fast = replace(run(), flop_utilisation=utilisation)
    assert isinstance(impossible(fast, has_convolutions=has_convolutions, device="cpu"), TooFast) is is_impossible
