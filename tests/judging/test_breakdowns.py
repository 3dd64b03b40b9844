"""Whether the phases of a step are sound, and what is read of them."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, disturbances, read_all
from pytest_dlbench.judging.breakdowns import LEAST_SUM, MOST_SUM, flaw, phase_sum
from pytest_dlbench.records import Breakdown
from pytest_dlbench.records.reasons import PhaseNotAwaited, PhasesDoNotAddUp, Undivided
from tests.doubles import records

SOUND = Breakdown(
    step_seconds=(0.010, 0.010, 0.020),
    phase_seconds={
        "input": (0.001, 0.001, 0.002),
        "forward": (0.003, 0.003, 0.006),
        "backward": (0.005, 0.005, 0.010),
        "update": (0.001, 0.001, 0.002),
    },
    copy_seconds={"backward": ((0.0001, 0.0001), (0.0001, 0.0001), (0.005, 0.0001))},
)
THEANO = Undivided(cause="one_program", what="theano.function")


def with_forward(*seconds):
    return replace(SOUND, phase_seconds={**SOUND.phase_seconds, "forward": seconds})


def test_phases_are_compared_with_the_step_before_them():
    # The machine was half as fast during the last two.
    assert phase_sum(SOUND) == pytest.approx(1.0)
    assert flaw(SOUND) is None


@pytest.mark.parametrize("ratio", [LEAST_SUM - 0.01, MOST_SUM + 0.01])
def test_phases_that_do_not_add_up_to_the_step_are_not_sound(ratio):
    forward = 0.003 + (ratio - 1) * 0.01
    found = flaw(with_forward(forward, forward, 2 * forward))
    assert found == PhasesDoNotAddUp(ratio=pytest.approx(ratio), least=LEAST_SUM, most=MOST_SUM)


@pytest.mark.parametrize("ratio", [LEAST_SUM + 0.01, MOST_SUM - 0.01])
def test_phases_that_are_a_little_faster_or_slower_together_are_sound(ratio):
    forward = 0.003 + (ratio - 1) * 0.01
    assert flaw(with_forward(forward, forward, 2 * forward)) is None


def test_one_pause_of_the_machine_decides_nothing():
    assert flaw(with_forward(0.5, 0.003, 0.006)) is None


def test_a_phase_whose_results_come_late_was_not_waited_for():
    late = replace(SOUND, copy_seconds={"forward": ((0.002, 0.0001),) * 3})
    assert flaw(late) == PhaseNotAwaited(phase="forward", late_seconds=pytest.approx(0.0019), step_seconds=0.010)


def test_a_large_array_takes_long_to_copy_each_time():
    assert flaw(replace(SOUND, copy_seconds={"update": ((0.02, 0.02),) * 3})) is None


def test_a_phase_is_the_median_of_its_seconds():
    run = records.run(breakdown=SOUND)
    assert METRICS["phase_forward"].read(run) == 0.003
    assert METRICS["phase_sum"].read(run) == pytest.approx(1.0)
    # What a framework has no phase for is no figure.
    assert {name for name in read_all([run]) if name.startswith("phase_")} == {
        *("phase_input", "phase_forward", "phase_backward", "phase_update", "phase_sum")
    }


def test_phases_that_are_not_sound_are_no_figures_but_their_sum_is():
    run = records.run(breakdown=replace(SOUND, flaw=PhasesDoNotAddUp(ratio=1.5, least=LEAST_SUM, most=MOST_SUM)))
    assert {name for name in read_all([run]) if name.startswith("phase_")} == {"phase_sum"}


def test_a_step_that_cannot_be_divided_has_no_figures():
    assert not [name for name in read_all([records.run(breakdown=Breakdown(undivided=THEANO))]) if "phase" in name]


def test_each_reason_is_a_caution_once():
    late, later = (PhaseNotAwaited(phase="forward", late_seconds=late, step_seconds=1.0) for late in (0.4, 0.5))
    found = [
        records.run(breakdown=one)
        for one in (Breakdown(undivided=THEANO), replace(SOUND, flaw=late), replace(SOUND, flaw=later), SOUND, None)
    ]
    assert sorted(disturbances([*found, found[0]]), key=repr) == sorted([THEANO, late], key=repr)
