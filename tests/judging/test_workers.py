"""The metrics of several data-parallel workers."""

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import Exchange
from tests.doubles import records


def test_the_exchange_is_the_part_of_a_step_that_steps_without_it_do_not_take():
    run = records.run(step=0.01, exchange=Exchange(alone_seconds=(0.5, 0.0075, 0.0075)))
    assert METRICS["exchange_share"].read(run) == pytest.approx(0.25)


def test_the_exchange_is_never_negative():
    run = records.run(step=0.01, exchange=Exchange(alone_seconds=(0.02,)))
    assert METRICS["exchange_share"].read(run) == 0.0


@pytest.mark.parametrize("exchange", [None, Exchange(join_seconds=1.0)])
def test_a_run_without_such_steps_has_no_share(exchange):
    assert METRICS["exchange_share"].read(records.run(exchange=exchange)) is None


def test_exchanged_bytes_are_those_of_a_step():
    phase = records.usage(readings={"loopback_bytes": 1000.0 * records.STEPS})
    assert METRICS["exchanged"].read(records.run(usage={"train": phase})) == 1000.0
    assert METRICS["exchanged"].read(records.run()) is None
