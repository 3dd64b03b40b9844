"""The table of several numbers of workers."""

import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting import scaling
from pytest_dlbench.reporting.tables import Row
from tests.doubles import records
from tests.storing.test_certificates import CERTIFICATE

FIGURES = {"throughput": 1000.0, "cpu_use": 1.0, "peak_rss": 2.0**29}


def row(workers: int, speed: float, *, framework: str = "pytorch", settings=None, **changes) -> Row:
    case = records.case(framework=framework, threads=1, workers=workers, settings=settings or {})
    figures = {
        **FIGURES,
        "throughput": speed,
        **({"exchange_share": 0.25, "exchanged": 3 * 2.0**20} if workers > 1 else {}),
    }
    result = records.case_result(case=case, figures=figures, **changes)
    return Row(result=result, values={"throughput": [speed] * 3})


def test_speed_up_and_efficiency_are_relative_to_the_fewest_workers():
    title, headings, one, two, _ = scaling.tables([row(2, 1600.0, certificate=CERTIFICATE), row(1, 1000.0)])
    assert title == "workers: mnist-cnn on digits28, cpu, 1 thread each, scale quick"
    assert headings.split()[:5] == ["framework", "workers", "samples/s", "speed-up", "efficiency"]
    assert one.split()[:5] == ["pytorch", "1", "1,000", "1.00", "–"]
    assert two.split()[:6] == ["pytorch", "2", "1,600", "1.60", "80", "%"]
    assert "25.00 %" in two
    assert "3 MiB" in two
    assert two.endswith("1e-07")


def test_efficiency_has_an_interval_around_it():
    *_, two, _ = scaling.tables([row(1, 1000.0), row(2, 1600.0)])
    lower, upper = (int(part.strip("[],")) for part in two.split()[6:8])
    assert lower < 80 < upper


def test_frameworks_and_settings_are_apart():
    lines = scaling.tables([row(1, 1.0), row(2, 1.0, framework="jax"), row(2, 2.0, settings={"scaling": "weak"})])
    assert lines == []


@pytest.mark.parametrize("outcome", [CaseOutcome.INVALID, CaseOutcome.CRASHED])
def test_what_is_not_valid_is_not_compared(outcome):
    assert scaling.tables([row(1, 1000.0), row(2, 1600.0, outcome=outcome)]) == []
