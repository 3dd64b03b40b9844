"""What observing costs: seconds of one training with many times the looks and without any, in alternating pairs.

Two trainings differ by more than looking costs, on a machine that others share; two seconds of one differ by less. And
what many times the looks cost stands out of what is left, where the usual looks would drown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from math import ceil, expm1, log
from statistics import fmean, median
from time import process_time, sleep

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.spans import spans
from pytest_dlbench.records import Run, RunOutcome, Training
from pytest_dlbench.reporting import explain
from pytest_dlbench.running.plan import Plan
from pytest_dlbench.running.training import train_once

# A look at children and proportional memory comes once a second: a block has one of all that there is.
BLOCK_SECONDS = 1.0
# So long is one training; it takes several where more pairs are asked for.
PAIRS_OF_TRAINING = 60
PILOT_STEPS = 60
# A training as every user has it, for the driver's share of a core.
USUAL_SECONDS = 20.0
# How many times as often to look: no more of one core than this, or looking would be another thing than it usually is.
MOST_CORE_SHARE, MOST_RATE = 0.2, 20
# Of the logarithm of one block's time over another's: what is assumed until it is measured.
PAIR_SD = 0.02
ALPHA = 0.025
FEWEST_PAIRS = 2

Moment = tuple[float, float]
"""Seconds since the start of the run, and what the driver had used of its processor by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the usual looking costs a training: a ratio of step times with its 95 % interval, and a share of one core.

    It was measured with ``rate`` times the looks, and what these cost is divided by ``dose``: by ``rate``, or by how
    many times the processor time they took where that is less. ``core_share`` is the processor time of the whole driver
    over the time of a training with the usual looks.
    """

    pairs: int
    rate: int
    dose: float
    ratio: float
    lower: float
    upper: float
    core_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A training, and the share of one core that the driver took while it looked."""

    training: Training
    core_share: float


@dataclass(slots=True)
class Looking:
    """Looks all the time, or sleeps through one block of each pair; tells when it was awake."""

    is_paired: bool
    moments: list[Moment] = field(default_factory=list)

    def __call__(self, seconds: float, look: Callable[[], None]) -> None:
        """``seconds`` are since the start of the run."""
        self.moments.append((seconds, process_time()))
        if not self.is_paired or is_sampled(block(seconds)):
            look()
        else:
            # To wake up and do nothing would be a cost that both blocks have, and neither would show.
            sleep(next_sampled(seconds) - seconds)


def block(seconds: float) -> int:
    """The number of the block that a moment lies in."""
    return int(seconds // BLOCK_SECONDS)


def is_sampled(number: int) -> bool:
    """Whether a block has samples: of four in a row the first and the last, so that a drift counts for neither."""
    pair, place = divmod(number, 2)
    return place == pair % 2


def next_sampled(seconds: float) -> float:
    """When the next block with samples begins."""
    return BLOCK_SECONDS * next(filter(is_sampled, count(block(seconds) + 1)))


def observed(plan: Plan, *, is_paired: bool) -> Observed:
    """Train; a training that fails is an error. The share is of seconds with samples."""
    looking = Looking(is_paired)
    training = _trained(train_once(replace(plan, around_look=looking), 0))
    return Observed(training=training, core_share=core_share(looking.moments, training, is_paired=is_paired))


def core_share(moments: Sequence[Moment], training: Training, *, is_paired: bool) -> float:
    """The driver's processor time over the time in which it looked while steps were taken; 0 where it never did."""
    steps = spans(training)
    inside = [moment for moment in moments if steps[0][0] <= moment[0] <= steps[-1][1]]
    looked = [
        (two[0] - one[0], two[1] - one[1])
        for one, two in pairwise(inside)
        if not is_paired or is_sampled(block(one[0]))
    ]
    seconds = sum(wall for wall, _ in looked)
    return sum(processor for _, processor in looked) / seconds if looked else 0.0


def observer_cost(
    plan: Plan,
    pairs: int,
    tell: Callable[[str], None],
    rate: int | None = None,
    observe: Callable[..., Observed] = observed,
) -> Cost:
    """Train as usual, then with ``rate`` times the looks until there are so many ``pairs`` of blocks with and without.

    Without a ``rate`` it is as high as a fifth of one core allows, 20 at most. Raises DlbenchError where a training
    fails, or where steps are too long for blocks of a second.
    """
    # Of evaluations between steps the driver reads all counters, which is another cost.
    plan = replace(plan, evaluate_after=(), steps=PILOT_STEPS)
    step = median(observe(plan, is_paired=False).training.step_seconds)
    usual = observe(replace(plan, steps=_steps(USUAL_SECONDS, step)), is_paired=False).core_share
    rate = rate or affordable_rate(usual)
    tell(f"the usual looks take {usual:.2%} of one core; {rate} times as many from here on")
    ratios: list[float] = []
    shares: list[float] = []
    while len(ratios) < pairs:
        # A few more than are wanted, for the warm-up and the pairs at both ends.
        seconds = 2 * BLOCK_SECONDS * (min(pairs - len(ratios), PAIRS_OF_TRAINING) + 3)
        found = observe(replace(plan, steps=_steps(seconds, step), looking_rate=rate), is_paired=True)
        if not (fresh := block_ratios(found.training)):
            raise DlbenchError(f"steps of {step:.2f} s leave no pair of seconds to compare: observe a smaller network")
        ratios += fresh
        shares.append(found.core_share)
        tell(f"{len(ratios)} pairs of seconds of {pairs}: {expm1(median(ratios)):+.2%} in the median")
    return cost(ratios, rate=rate, usual=usual, at_rate=fmean(shares))


def affordable_rate(usual: float) -> int:
    """How many times as often looking may come that usually takes this share of a core."""
    return MOST_RATE if usual * MOST_RATE <= MOST_CORE_SHARE else max(1, int(MOST_CORE_SHARE / usual))


def block_ratios(training: Training) -> list[float]:
    """The logarithm of the mean step with samples over that without, of each pair of blocks behind the warm-up.

    A step counts for the block that it lies in as a whole.
    """
    means = dict(_block_means(training))
    pairs = (number for number in means if number % 2 == 0 and number + 1 in means)
    ordered = ((number, number + 1) if is_sampled(number) else (number + 1, number) for number in pairs)
    return [log(means[sampled] / means[other]) for sampled, other in ordered]


def cost(ratios: Sequence[float], *, rate: int, usual: float, at_rate: float) -> Cost:
    """What the usual looks cost, of logarithms of ratios at a ``rate``; the shares of a core are the driver's."""
    # Late: SciPy is slow to load, and the other half of the doctor needs none.
    import numpy as np  # noqa: PLC0415

    from pytest_dlbench.judging.intervals import of_mean  # noqa: PLC0415

    # Looks that come often find warm caches, and each is less of a burden than one that comes alone.
    dose = min(rate, at_rate / usual) if usual else rate
    found = of_mean(np.array(ratios), run_sd=PAIR_SD, is_robust=True, alpha=ALPHA)
    estimate, lower, upper = (1 + expm1(value) / dose for value in (found.estimate, found.lower, found.upper))
    return Cost(pairs=len(ratios), rate=rate, dose=dose, ratio=estimate, lower=lower, upper=upper, core_share=usual)


def _steps(seconds: float, step: float) -> int:
    return max(PILOT_STEPS, ceil(seconds / step))


def _block_means(training: Training) -> Iterator[tuple[int, float]]:
    seconds: dict[int, list[float]] = {}
    first = len(training.step_seconds) - len(judging.steady_steps(training))
    for began, ended in spans(training)[first:]:
        if block(began) == block(ended):
            seconds.setdefault(block(began), []).append(ended - began)
    return ((number, fmean(steps)) for number, steps in seconds.items())


def _trained(run: Run) -> Training:
    if run.outcome is not RunOutcome.FINISHED or run.training is None:
        raise DlbenchError(explain.unfinished(run))
    return run.training
