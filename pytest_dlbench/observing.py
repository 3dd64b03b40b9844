"""What observing costs: seconds of one training with sampling and without, in pairs of alternating order.

Two trainings differ by more than sampling costs, on a machine that others share; two seconds of one differ by less.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, log
from statistics import fmean, median
from time import process_time

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.spans import spans
from pytest_dlbench.records import Run, RunOutcome, Training
from pytest_dlbench.reporting import messages
from pytest_dlbench.running.plan import Plan
from pytest_dlbench.running.training import train_once

# A look at children and proportional memory comes once a second: a block has one of all that there is.
BLOCK_SECONDS = 1.0
# So long is one training; it takes several where more pairs are asked for.
PAIRS_OF_TRAINING = 60
PILOT_STEPS = 60
# Of the logarithm of one block's time over another's: what is assumed until it is measured.
PAIR_SD = 0.02
ALPHA = 0.025
FEWEST_PAIRS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What sampling costs a training: a ratio of step times with its 95 % interval, and a share of one core.

    ``looking_share`` is the driver's processor time while it looks, over the time in which it did.
    """

    pairs: int
    ratio: float
    lower: float
    upper: float
    looking_share: float


@dataclass(slots=True)
class EveryOtherBlock:
    """Looks in one block of each pair, now the first and now the second, and counts what that takes."""

    processor_seconds: float = 0.0

    def __call__(self, seconds: float, look: Callable[[], None]) -> None:
        """``seconds`` are since the start of the run."""
        if is_sampled(block(seconds)):
            before = process_time()
            look()
            self.processor_seconds += process_time() - before


def block(seconds: float) -> int:
    """The number of the block that a moment lies in."""
    return int(seconds // BLOCK_SECONDS)


def is_sampled(number: int) -> bool:
    """Whether a block has samples: of four in a row the first and the last, so that a drift counts for neither."""
    pair, place = divmod(number, 2)
    return place == pair % 2


def observer_cost(
    plan: Plan, pairs: int, tell: Callable[[str], None], train: Callable[[Plan, int], Run] = train_once
) -> Cost:
    """Train until there are so many ``pairs`` of blocks with and without samples; a training that fails is an error.

    Raises DlbenchError, also where steps are too long for blocks of a second.
    """
    step = median(_trained(train(replace(plan, steps=PILOT_STEPS), 0)).step_seconds)
    ratios: list[float] = []
    shares: list[float] = []
    while len(ratios) < pairs:
        # A few more than are wanted, for the warm-up and the pairs at both ends.
        seconds = 2 * BLOCK_SECONDS * (min(pairs - len(ratios), PAIRS_OF_TRAINING) + 3)
        every_other = EveryOtherBlock()
        asked = replace(plan, steps=max(PILOT_STEPS, ceil(seconds / step)), around_look=every_other)
        training = _trained(train(asked, 0))
        found = block_ratios(training)
        if not found:
            raise DlbenchError(f"steps of {step:.2f} s leave no pair of seconds to compare: observe a smaller network")
        ratios += found
        shares.append(every_other.processor_seconds / (sum(training.step_seconds) / 2))
        tell(f"{len(ratios)} pairs of seconds of {pairs}: {exp(median(ratios)) - 1:+.2%} in the median")
    return _cost(ratios, shares)


def block_ratios(training: Training) -> list[float]:
    """The logarithm of the mean step with samples over that without, of each pair of blocks behind the warm-up.

    A step counts for the block that it lies in as a whole.
    """
    means = dict(_block_means(training))
    pairs = (number for number in means if number % 2 == 0 and number + 1 in means)
    ordered = ((number, number + 1) if is_sampled(number) else (number + 1, number) for number in pairs)
    return [log(means[sampled] / means[other]) for sampled, other in ordered]


def _block_means(training: Training) -> Iterator[tuple[int, float]]:
    seconds: dict[int, list[float]] = {}
    first = len(training.step_seconds) - len(judging.steady_steps(training))
    for began, ended in spans(training)[first:]:
        if block(began) == block(ended):
            seconds.setdefault(block(began), []).append(ended - began)
    return ((number, fmean(steps)) for number, steps in seconds.items())


def _trained(run: Run) -> Training:
    if run.outcome is not RunOutcome.FINISHED or run.training is None:
        raise DlbenchError(messages.unfinished(run))
    return run.training


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
        looking_share=fmean(shares),
    )
