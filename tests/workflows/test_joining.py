"""One run of the parts that several hosts made: what is summed over hosts is of the processors of all of them."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.invalid import disqualified
from pytest_dlbench.records.reasons import Stolen
from pytest_dlbench.running.hosts.joining import joined
from tests.doubles import records

CORES = 4


def part(**train):
    """What one host with four processors made."""
    usage = records.usage(wall_seconds=10.0, user_seconds=20.0, core_use=(0.5,) * CORES, **train)
    run = records.run()
    return replace(run, usage={**run.usage, "train": usage})


def test_time_is_a_share_of_the_processors_of_all_hosts():
    alone, both = part(), joined([part(), part()])
    assert len(both.usage["train"].core_use) == 2 * CORES
    assert both.usage["train"].user_seconds == 40.0
    for name in ("user_share", "system_share"):
        assert METRICS[name].read(both) == pytest.approx(METRICS[name].read(alone))


def test_a_reading_that_one_host_lacks_is_not_that_of_all():
    both = joined([part(readings={"x": 1.0, "y": 1.0}), part(readings={"y": 2.0})])
    assert both.usage["train"].readings == {"y": 3.0}


@pytest.mark.parametrize(("stolen", "is_stolen"), [(0.8, False), (1.2, True)])
def test_what_is_stolen_on_each_host_is_compared_with_its_processors(stolen, is_stolen):
    one = part(steal_cpus=stolen)
    of_one, of_both = ([type(why) for why in disqualified(run)] for run in (one, joined([one, one])))
    assert (Stolen in of_one) == (Stolen in of_both) == is_stolen
