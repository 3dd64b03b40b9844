"""The phases of a step, measured in real worker processes after training."""

import sys
from pathlib import Path

import pytest

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.judging import read_all
from pytest_dlbench.model import SGD, Recipe
from pytest_dlbench.records import Breakdown, LayerSeconds, RunOutcome, codec
from pytest_dlbench.records.problems import WorkersDiffer
from pytest_dlbench.records.reasons import PhaseNotAwaited, PhasesDoNotAddUp, Undivided
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import messages
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.merging import merged
from pytest_dlbench.running.network_dialogue import COPIED_STEPS, MOST_ROUNDS
from pytest_dlbench.running.training import train_once
from pytest_dlbench.storing import consistent
from pytest_dlbench.workflows.validity import Examiner
from tests.running.specs import BATCH, BUILDERS, spec

# Of clocked.py.
STEP_SECONDS = 0.002


@pytest.fixture(scope="module")
def broken_down(tmp_path_factory):
    """One run of a double with a fault, examined as in a session."""
    folder = tmp_path_factory.mktemp("data")

    def broken_down(fault="", builder="divided", **changes):
        variables = {"FAULT": fault} if fault else {}
        framework = Framework(name=builder, builder=builder, folders=(BUILDERS,))
        place = Place(python=Path(sys.executable), environment=CURRENT, caches=folder / "caches", variables=variables)
        asked = spec(builder, folder, framework=framework, place=place, **{"is_broken_down": True, **changes})
        return Examiner(probe=lambda *_: None).examine(asked, train_once(asked, 0))

    return broken_down


@pytest.fixture(scope="module")
def sound(broken_down):
    return broken_down()


def test_a_step_has_its_phases_and_they_add_up_to_it(sound):
    assert sound.outcome is RunOutcome.FINISHED, problems.of_run(sound)
    found = sound.breakdown
    assert found.step_seconds == (pytest.approx(STEP_SECONDS),) * MOST_ROUNDS
    assert found.phase_seconds == {
        "input": (pytest.approx(0.05 * STEP_SECONDS),) * MOST_ROUNDS,
        "forward": (pytest.approx(0.25 * STEP_SECONDS),) * MOST_ROUNDS,
        "backward": (pytest.approx(0.5 * STEP_SECONDS),) * MOST_ROUNDS,
        "update": (pytest.approx(0.2 * STEP_SECONDS),) * MOST_ROUNDS,
    }
    assert {len(copies) for copies in found.copy_seconds.values()} == {COPIED_STEPS}
    assert found.flaw is None
    assert read_all([sound])["phase_backward"] == (pytest.approx(0.5 * STEP_SECONDS),)


def test_what_is_timed_is_that_of_a_run_without_a_breakdown(sound, broken_down):
    plain = broken_down(is_broken_down=False)
    assert plain.breakdown is None
    assert plain.training.step_seconds == pytest.approx(sound.training.step_seconds)
    assert plain.training.losses == sound.training.losses
    assert plain.evaluation.loss == sound.evaluation.loss
    # It is in no phase of the run.
    assert plain.usage.keys() == sound.usage.keys()


def test_layers_of_a_builder_that_times_none_have_the_reason(broken_down):
    found = broken_down(has_layers_timed=True).breakdown
    assert found.layers == ()
    assert found.no_layers == Undivided(cause="no_layers", what="divided", unit="layers")
    assert found.flaw is None


def test_untimed_runs_are_not_broken_down(broken_down):
    assert broken_down(is_timed=False).breakdown is None


def test_a_step_from_a_pipeline_begins_with_its_batch(broken_down, sound):
    recipe = Recipe(batch_size=BATCH, epochs=1, optimizer=SGD(0.1), input="pipeline")
    found = broken_down(recipe=recipe).breakdown
    assert list(found.phase_seconds) == list(sound.breakdown.phase_seconds)
    assert found.flaw is None


def test_phases_that_take_longer_than_the_step_are_not_sound(broken_down):
    run = broken_down("twice")
    assert run.breakdown.flaw == PhasesDoNotAddUp(ratio=pytest.approx(1.25), least=0.9, most=1.2)
    assert run.outcome is RunOutcome.FINISHED
    assert {name for name in read_all([run]) if name.startswith("phase_")} == {"phase_sum"}


def test_a_phase_that_is_not_waited_for_is_named(broken_down):
    late = broken_down("late").breakdown.flaw
    assert late == PhaseNotAwaited(
        phase="backward", late_seconds=pytest.approx(0.5 * STEP_SECONDS), step_seconds=pytest.approx(STEP_SECONDS)
    )


@pytest.mark.parametrize(
    ("builder", "fault", "undivided"),
    [
        ("numpy_softmax", "", Undivided(cause="no_function", what="numpy_softmax")),
        ("divided", "raises", Undivided(cause="failed", what="ValueError: no phases today")),
        ("divided", "dies", Undivided(cause="failed", what="the worker ended, or did not answer in time")),
    ],
)
def test_a_run_whose_steps_cannot_be_divided_has_its_figures_and_the_reason(broken_down, builder, fault, undivided):
    run = broken_down(fault, builder)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert run.breakdown == Breakdown(undivided=undivided)
    assert run.evaluation is not None


def test_it_is_stored_and_read_again(sound):
    stored = codec.decode(codec.encode_line(sound), type(sound), "a run")
    assert stored.breakdown == sound.breakdown


@pytest.mark.parametrize(
    "changes",
    [
        {"phase_seconds": {}},
        {"phase_seconds": {"forward": (0.1,)}},
        {"phase_seconds": {"forward": (0.1, -0.1)}},
        {"step_seconds": (0.1, 0.0), "phase_seconds": {"forward": (0.1, 0.1)}},
        {"layers": (LayerSeconds(name="fc1", kind="dense", forward_seconds=(0.1,), backward_seconds=()),)},
    ],
)
def test_an_answer_without_times_of_every_step_is_refused(changes):
    answer = {"status": "ok", "step_seconds": (0.1, 0.1), "phase_seconds": {"forward": (0.1, 0.1)}, **changes}
    with pytest.raises(FileFormatError, match="break_down"):
        messages.parse("break_down", answer)
    fields = {name: value for name, value in answer.items() if name != "status"}
    wrong = list(consistent.of_breakdown(Breakdown(**fields)))
    assert wrong[0][0].startswith("breakdown.")


def answer(step, forward, update, steps=2):
    phases = {"forward": (forward,) * steps, "update": (update,) * steps}
    return messages.BrokenDown(step_seconds=(step,) * steps, phase_seconds=phases)


def test_of_several_workers_every_phase_is_the_longest():
    found = merged("break_down", [answer(0.3, 0.1, 0.2), answer(0.4, 0.2, 0.1)])
    assert found.step_seconds == (0.4, 0.4)
    assert found.phase_seconds == {"forward": (0.2, 0.2), "update": (0.2, 0.2)}


def test_workers_that_took_different_steps_contradict_each_other():
    with pytest.raises(NotDoneError) as raised:
        merged("break_down", [answer(0.3, 0.1, 0.2), answer(0.3, 0.1, 0.2, steps=3)])
    assert raised.value.problem == WorkersDiffer(aspect="steps", workers=2, steps=(2, 3))
