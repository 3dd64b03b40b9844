"""Figures that cannot be, and those that only look so on a busy machine."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.sanity import impossible, suspicion, unchecked
from pytest_dlbench.records import StepCheck
from tests.doubles.records import run

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
    ("check", "words"),
    [
        (FROZEN, "30 more steps leave the test loss at 0.51 to the last digit"),
        (UNSYNCHRONISED, "a missing synchronisation"),
        (FORGETFUL, "dropout left on?"),
        (NOT_TWICE, "far from 1:2"),
        (GROWING, "far from 1:2"),
    ],
)
def test_a_fault_is_named(check, words):
    assert words in suspicion(check, "cpu")


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
    assert suspicion(check, "cpu") == ""


def test_what_is_left_unfinished_on_a_gpu_shows_on_the_clock_alone():
    on_card = replace(UNSYNCHRONISED, behind_single=(0.12, 0.001), behind_double=(0.22, 0.001))
    assert suspicion(on_card, "cpu") == ""
    assert "missing synchronisation" in suspicion(on_card, "gpu")


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
    assert "2 times while others used 1.2 CPUs" in unchecked(busy, "cpu")
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


@pytest.mark.parametrize(
    ("utilisation", "has_convolutions", "is_impossible"),
    [(1.04, False, False), (1.06, False, True), (3.0, True, False), (4.3, True, True), (None, False, False)],
)
def test_more_arithmetic_than_the_machine_has_is_impossible(utilisation, has_convolutions, is_impossible):
    fast = replace(run(), flop_utilisation=utilisation)
    assert bool(impossible(fast, has_convolutions=has_convolutions, device="cpu")) is is_impossible
