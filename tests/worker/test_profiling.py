"""What profilers of frameworks give is put together: the time of an event is not counted again in those around it."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.running.launch import WORKER_FOLDER


@pytest.fixture(scope="module")
def profiling():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(WORKER_FOLDER)
        from dlworker import profiling  # noqa: PLC0415 - it lies on the worker's path

        return profiling


@st.composite
def nested(draw, begin=0, depth=3):
    """Events in a row, as (name, begin, end), with others within them; and where the last one ends."""
    events = []
    for _ in range(draw(st.integers(0, 3))):
        begin += draw(st.integers(0, 5))
        within, end = draw(nested(begin, depth - 1)) if depth else ([], begin)
        end += draw(st.integers(1, 5))
        events += [(draw(st.sampled_from("abc")), begin, end), *within]
        begin = end
    return events, begin


def test_what_an_event_has_within_it_is_not_its_own(profiling):
    events = [("step", 0, 10), ("convolution", 1, 4), ("copy", 2, 3), ("convolution", 5, 9), ("step", 10, 12)]
    assert profiling.own_times(events) == {"step": 5, "convolution": 6, "copy": 1}


def test_events_that_overlap_by_a_rounding_error_are_in_a_row(profiling):
    assert profiling.own_times([("a", 0.0, 1.1), ("b", 1.0, 2.0)]) == {"a": 1.1, "b": 1.0}


@given(nested())
def test_own_times_add_up_to_the_time_in_which_there_was_any_event(profiling, made):
    events, _ = made
    covered = {moment for _, begin, end in events for moment in range(begin, end)}
    assert sum(profiling.own_times(events).values()) == len(covered)


@given(nested())
def test_no_own_time_is_negative(profiling, made):
    assert all(taken >= 0 for taken in profiling.own_times(made[0]).values())


def test_parts_are_summed_name_by_name(profiling):
    assert profiling.summed([{"a": 1.0, "b": 2.0}, {"a": 0.5}]) == {"a": 1.5, "b": 2.0}


def test_a_variant_has_the_answer_of_the_builder_whose_trainer_it_is_made_from(profiling):
    class Trainer:
        __module__ = "dlworker.frameworks.mlx"

    class Variant(Trainer):
        """The same, but quicker."""

    with pytest.raises(profiling.RequestError, match="MLX has no profiler"):
        profiling.profiler_of(SimpleNamespace(__name__="quick.variant", Trainer=Variant))


def test_a_card_whose_profile_nobody_has_looked_at_is_refused(profiling):
    profiling.processor_only("Paddle", "cpu")
    with pytest.raises(profiling.RequestError, match="of Paddle a profile is read on the CPU only, not on 'gpu:1'"):
        profiling.processor_only("Paddle", "gpu:1")
