"""Calibrations, stored and found again."""

from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import Calibration
from pytest_dlbench.storing.calibrations import CalibrationStore
from tests.doubles import records

FOUND = Calibration(
    case=records.case(),
    context=records.context(),
    versions={},
    date="2026-11-21",
    alpha=0.0025,
    max_pairs=20,
    pairs=10,
    spreads={"step_time": 0.02},
    smallest={"step_time": 0.03},
    verdicts=(),
    exchanged={"step_time": 0.0},
)


@pytest.fixture
def store(tmp_path):
    return CalibrationStore(folder=tmp_path)


def of(framework):
    usual = records.case()
    return replace(usual, id=usual.id.replace("pytorch", framework), framework=framework)


@pytest.mark.parametrize("framework", ["pytorch", "pytorch==2.12.0", "pytorch@old"])
def test_a_version_has_the_calibration_of_its_framework(store, framework):
    store.write(FOUND)
    assert store.nearest(of(framework), records.machine()) == FOUND


def test_a_calibration_of_the_version_itself_takes_precedence(store):
    own = replace(FOUND, case=of("pytorch==2.12.0"))
    store.write(FOUND)
    store.write(own)
    assert store.nearest(of("pytorch==2.12.0"), records.machine()) == own


def test_another_framework_or_machine_has_none(store):
    store.write(FOUND)
    assert store.nearest(of("jax"), records.machine()) is None
    assert store.nearest(records.case(), records.machine(name="another")) is None


def test_a_spread_of_0_is_refused(store):
    store.write(replace(FOUND, spreads={"step_time": 0.0}))
    with pytest.raises(FileFormatError, match="every spread must be above 0"):
        store.nearest(records.case(), records.machine())
