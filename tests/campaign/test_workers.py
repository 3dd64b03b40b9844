"""Workers that fail in every known way: each run has the right outcome, and none is finished."""

import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from tests.running.specs import spec

ENDS = {
    "crashes": RunOutcome.CRASHED,
    "crashes_in_evaluation": RunOutcome.CRASHED,
    "leaves_a_child_and_dies": RunOutcome.CRASHED,
    "raises": RunOutcome.FAILED,
    "returns_invalid_json": RunOutcome.FAILED,
    "returns_wrong_types": RunOutcome.BROKEN_PROTOCOL,
    "skips_steps": RunOutcome.BROKEN_PROTOCOL,
    "diverges": RunOutcome.DIVERGED,
    "diverges_in_evaluation": RunOutcome.DIVERGED,
    "asks_for_too_much": RunOutcome.OUT_OF_MEMORY,
    "device_out_of_memory": RunOutcome.OUT_OF_MEMORY,
    "lacks_its_framework": RunOutcome.MISSING_FRAMEWORK,
    "lacks_a_library": RunOutcome.FAILED,
    "holds_the_gil": RunOutcome.TIMEOUT,
    "sleeps": RunOutcome.TIMEOUT,
    "leaves_a_child_and_hangs": RunOutcome.TIMEOUT,
    "leaves_a_child": RunOutcome.FINISHED,
}


@pytest.mark.parametrize("builder", ENDS)
def test_ends(attempt, tmp_path, builder):
    with attempt(builder):
        run = train_once(spec(builder, tmp_path, steps=8, timeout_seconds=4.0), 0)
        assert run.outcome is ENDS[builder], problems.of_run(run)
        assert psutil.Process().children(recursive=True) == []
