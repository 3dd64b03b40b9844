"""Which steps others disturbed, by a time line of one sample every quarter of a second."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.contention import contention
from pytest_dlbench.judging.invalid import examined
from pytest_dlbench.judging.readings import quiet_steps, steady_steps
from pytest_dlbench.records import Timeline
from tests.doubles import records

PERIOD = 0.25
CORES = 2
SLOW, USUAL = 0.2, 0.1


def line(foreign, ours=1.0):
    """``foreign`` are the CPUs that others used between one sample and the next."""
    moments = range(len(foreign) + 1)
    return Timeline(
        seconds=tuple(PERIOD * place for place in moments),
        rss_bytes=(2**20,) * len(moments),
        cpu_seconds=tuple(PERIOD * ours * place for place in moments),
        machine_seconds=tuple(PERIOD * (ours * place + sum(foreign[:place])) for place in moments),
    )


def observed(foreign, ours=1.0):
    """A run of 100 steps in ten seconds; contended ones take twice as long."""
    seconds, moment = [], 0.0
    while moment < PERIOD * len(foreign) - SLOW:
        seconds.append(SLOW if foreign[int(moment / PERIOD)] > 0.5 else USUAL)
        moment += seconds[-1]
    trained = replace(records.training(seconds), began_seconds=0.0)
    usage = {"train": records.usage(core_use=(0.5,) * CORES)}
    return examined(records.run(training=trained, usage=usage, timeline=line(foreign, ours)))


QUIET, BUSY = (0.0,) * 4, (1.0,) * 4


def test_contended_steps_are_excluded_from_step_times_unless_they_are_most():
    run = observed(QUIET * 6 + BUSY * 2 + QUIET * 2)
    assert run.contention.is_cut
    assert SLOW not in quiet_steps(run)
    assert METRICS["step_time_median"].figure(run) == USUAL


def test_where_most_were_contended_all_count():
    run = observed(QUIET * 3 + BUSY * 7)
    assert (run.contention.is_cut, run.contention.steps > 0) == (False, True)
    assert list(quiet_steps(run)) == list(steady_steps(run.training))


def test_a_neighbour_that_leaves_a_processor_free_disturbs_nobody():
    assert observed(QUIET * 2 + (0.6,) * 4 + QUIET * 7).contention.steps == 0


def test_our_own_threads_on_all_processors_disturb_nobody():
    assert observed(QUIET * 10, ours=CORES).contention.steps == 0


def test_a_record_without_the_machines_seconds_says_nothing_and_cuts_nothing():
    run = observed(QUIET * 6 + BUSY * 2 + QUIET * 2)
    older = examined(replace(run, timeline=replace(run.timeline, machine_seconds=())))
    assert older.contention is None
    assert SLOW in quiet_steps(older)


@given(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=4, max_size=60))
def test_never_more_than_half_of_the_steady_steps_are_cut(foreign):
    run = observed(tuple(value for value in foreign for _ in range(4)))
    assert 2 * len(quiet_steps(run)) >= len(steady_steps(run.training))


@pytest.mark.parametrize("build", [records.run, records.inferred])
def test_a_run_without_a_time_line_tells_none(build):
    assert contention(build()) is None


def test_steps_after_an_evaluation_have_their_own_times():
    # A hundred steps of 0.1 s; after the first 39 there was an evaluation of two seconds, during other load.
    trained = replace(records.training((USUAL,) * 100), began_seconds=0.0, resumed=((39, 6.0),))
    usage = {"train": records.usage(core_use=(0.5,) * CORES)}
    observed = line(QUIET * 4 + BUSY * 2 + QUIET * 6)
    assert examined(records.run(training=trained, usage=usage, timeline=observed)).contention.steps == 0
