"""What pairs, or a stored baseline, can detect, before anything is run."""

from collections.abc import Mapping, Sequence
from math import expm1, inf, sqrt

import numpy as np

from pytest_dlbench.judging.accuracy import ALPHA as ALPHA_OF_SEEDS
from pytest_dlbench.judging.accuracy import repeated
from pytest_dlbench.judging.alpha_spending import LAST_LOOK, level_of_a_look
from pytest_dlbench.judging.intervals import PRIOR_FREEDOM, expected_interval, independent_runs
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.multiple_testing import SCREENING_ALPHA
from pytest_dlbench.judging.scales import badness, limit, smallest_spread
from pytest_dlbench.judging.sequential import POWER
from pytest_dlbench.judging.sessions import SessionFigure, SessionSpread, prediction
from pytest_dlbench.judging.verdicts import ALPHA as ALPHA_OF_SESSIONS


def smallest_tolerance(spread: float, *, alpha: float = SCREENING_ALPHA, max_pairs: int = LAST_LOOK) -> float:
    """The smallest tolerance at which 90 % of unchanged cases are called equivalent, by default in the screening.

    Then 90 % of cases that are worse by twice the tolerance are called regressed by a pass at the same ``alpha``. In
    the unit of ``spread``, the standard deviation of a pair's difference; for normal noise.
    """
    from scipy import special  # noqa: PLC0415 - as in intervals

    freedom = PRIOR_FREEDOM + max_pairs - 1
    half_width = float(special.stdtrit(freedom, 1 - level_of_a_look(alpha, max_pairs)))
    # The mean must be within the tolerance minus the half width, on both sides.
    return (half_width + float(special.ndtri((1 + POWER) / 2))) * spread / sqrt(max_pairs)


def too_narrow(
    tolerances: Mapping[str, float], spreads: Mapping[str, float], metrics: Metrics, max_pairs: int = LAST_LOOK
) -> dict[str, float]:
    """The smallest tolerance for each metric whose own is below it, as given: 0.05 for 5 %, 1.0 for 1 pp."""
    found = {}
    for name, tolerance in tolerances.items():
        smallest = smallest_tolerance(spreads[name], max_pairs=max_pairs)
        if limit(metrics[name], tolerance) < smallest:
            found[name] = as_given(metrics[name], smallest)
    return found


def smallest_of_sessions(
    stored: Sequence[SessionFigure], spread: SessionSpread, *, alpha: float = ALPHA_OF_SESSIONS
) -> float:
    """The tolerance at which 90 % of further sessions of the same code are called equivalent, as estimated.

    In the unit of the figures. The half width of the interval is known before the session runs; its deviation is not.
    """
    from scipy import special  # noqa: PLC0415 - as in intervals

    expected = prediction(stored, spread)
    half_width = float(special.stdtrit(expected.freedom, 1 - alpha))
    return (half_width + float(special.ndtri((1 + POWER) / 2))) * expected.error


def smallest_of_runs(metric: Metric, stored: Sequence[Sequence[float]], runs: int) -> float:
    """The tolerance at which this many further runs of the same code are cleared 90 % of the time, as estimated.

    ``stored`` has the values of each seed. In the unit of differences.
    """
    from scipy import special  # noqa: PLC0415 - as in intervals

    # "Not worse" (accuracies) is a one-sided test, "the same" (ratios) a two-sided one.
    alpha, power = (ALPHA_OF_SEEDS, POWER) if metric.kind == "points" else (ALPHA_OF_SESSIONS, (1 + POWER) / 2)
    groups = [[badness(metric, value) for value in seed] for seed in stored]
    expected = expected_interval(
        np.concatenate(groups),
        runs,
        run_sd=metric.run_sd,
        session_sd=metric.session_sd,
        smallest_sd=smallest_spread(metric),
        is_robust=metric.is_robust,
        alpha=alpha,
        old_runs=independent_runs(groups),
    )
    return expected.half_width + float(special.ndtri(power)) * expected.distance


def smallest_of_repeated(metric: Metric, runs: int) -> float:
    """The tolerance at which this many exactly repeated runs are cleared; infinite for ratios, which never repeat."""
    return repeated(metric, runs).upper if metric.kind == "points" else inf


def as_given(metric: Metric, difference: float) -> float:
    """A difference as a tolerance is written: 0.05 for 5 %, 1.0 for 1 pp."""
    return expm1(difference) if metric.kind == "ratio" else difference
