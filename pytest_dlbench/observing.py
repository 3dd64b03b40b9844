"""What observing costs: the same training with and without sampling, in interleaved pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from time import process_time

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.reporting import messages
from pytest_dlbench.running.plan import Plan
from pytest_dlbench.running.training import train_once

# Of the logarithm of one run's time over another's: what is assumed until it is measured.
PAIR_SD = 0.02
ALPHA = 0.025


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What sampling costs a training: a ratio of step times with its 95 % interval, and a share of one core."""

    pairs: int
    ratio: float
    lower: float
    upper: float
    driver_share: float


def observer_cost(
    plan: Plan, pairs: int, tell: Callable[[str], None], train: Callable[[Plan, int], Run] = train_once
) -> Cost:
    """Train ``pairs`` times with sampling and without, in alternating order, each in a fresh process of the same seed.

    Both read the counters at the ends of each phase; what is compared is what goes on while a worker works.
    """
    modes = {True: plan, False: replace(plan, sample_period_seconds=inf)}
    ratios, shares = [], []
    for pair in range(pairs):
        seconds = {}
        for is_sampled in ((True, False), (False, True))[pair % 2]:
            before = process_time()
            seconds[is_sampled], wall = _step_seconds(train(modes[is_sampled], 0))
            if is_sampled:
                shares.append((process_time() - before) / wall)
        ratios.append(log(seconds[True] / seconds[False]))
        tell(f"pair {pair + 1} of {pairs}: {seconds[True]:.6f} s a step with sampling, {seconds[False]:.6f} s without")
    return _cost(ratios, shares)


def _step_seconds(run: Run) -> tuple[float, float]:
    if run.outcome is not RunOutcome.FINISHED or run.training is None:
        raise DlbenchError(messages.unfinished(run))
    steps = judging.steady_steps(run.training)
    return sum(steps) / len(steps), run.wall_seconds


def _cost(ratios: Sequence[float], shares: Sequence[float]) -> Cost:
    # Late: SciPy is slow to load, and the other half of the doctor needs none.
    import numpy as np  # noqa: PLC0415

    from pytest_dlbench.judging.intervals import paired  # noqa: PLC0415

    found = paired(np.array(ratios), run_sd=PAIR_SD, is_robust=True, alpha=ALPHA)
    return Cost(
        pairs=len(ratios),
        ratio=exp(found.estimate),
        lower=exp(found.lower),
        upper=exp(found.upper),
        driver_share=sum(shares) / len(shares),
    )
