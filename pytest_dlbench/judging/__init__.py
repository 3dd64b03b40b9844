"""Numbers in, verdicts out: no clock, no file, no pytest.

Modules that need NumPy and SciPy, such as ``verdicts``, are not imported here: collecting tests needs neither.
"""

from pytest_dlbench.judging.comparable import changes, obstacles
from pytest_dlbench.judging.disturbances import disturbances
from pytest_dlbench.judging.invalid import examined
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import (
    METRICS,
    Metrics,
    described,
    extended,
    facts,
    read_all,
    shown_in,
    stored,
    summarise,
)
from pytest_dlbench.judging.outcomes import (
    GATE_FAILING,
    SKIPPING,
    at_best_inconclusive,
    fails,
    is_sound,
    of_runs,
    of_verdicts,
    with_absolute,
    with_validity,
)
from pytest_dlbench.judging.time_to_accuracy import TimeToAccuracy, censored, time_to_accuracy
from pytest_dlbench.judging.tolerance import asked_for, given_tolerances, parse_tolerances
from pytest_dlbench.judging.warm_up import steady_steps

__all__ = [
    "GATE_FAILING",
    "METRICS",
    "SKIPPING",
    "Metric",
    "Metrics",
    "TimeToAccuracy",
    "asked_for",
    "at_best_inconclusive",
    "censored",
    "changes",
    "described",
    "disturbances",
    "examined",
    "extended",
    "facts",
    "fails",
    "given_tolerances",
    "is_sound",
    "obstacles",
    "of_runs",
    "of_verdicts",
    "parse_tolerances",
    "read_all",
    "shown_in",
    "steady_steps",
    "stored",
    "summarise",
    "time_to_accuracy",
    "with_absolute",
    "with_validity",
]
