"""Calibrations as text: the tolerances that apply to the figures of the case."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import Verdict, VerdictOutcome
from pytest_dlbench.reporting import calibrations
from tests.storing.test_calibrations import FOUND

MEMORY = METRICS["peak_rss"]


def of_memory(mib):
    """A calibration of peaks of this size, in which a pair's difference supports no tolerance below 3 %."""
    verdict = Verdict(
        metric="peak_rss",
        outcome=VerdictOutcome.EQUIVALENT,
        old=mib * 2**20,
        new=mib * 2**20,
        change=1.0,
        lower=0.99,
        upper=1.01,
        tolerance=0.02,
    )
    known = {"peak_rss": 0.03}
    return replace(FOUND, spreads=known, smallest=known, exchanged={"peak_rss": 0.0}, verdicts=(verdict,))


@pytest.mark.parametrize(("mib", "tolerance", "is_narrow"), [(400, "4%", False), (4000, "2%", True)])
def test_the_default_tolerance_of_memory_depends_on_how_much_there_is(mib, tolerance, is_narrow):
    found, tolerances = of_memory(mib), {"peak_rss": 0.02}
    line = next(one for one in calibrations.lines(found, tolerances, METRICS) if "peak_rss" in one)
    assert line.split()[4] == tolerance
    assert line.endswith("too narrow") == calibrations.is_too_narrow(found, MEMORY, tolerances) == is_narrow


def test_a_metric_without_a_tolerance_is_never_too_narrow():
    assert not calibrations.is_too_narrow(of_memory(4000), MEMORY, {})
