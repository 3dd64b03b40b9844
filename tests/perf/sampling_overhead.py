"""Sampling overhead: pairs of seconds of one training, with many additional samplers and without.

On a shared machine two trainings differ by more than the cost of sampling; neighbouring seconds of one training differ
by less. And the cost of many samplers stands out from the remaining noise, which would hide the cost of the usual one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, expm1, log
from statistics import fmean, median
from time import monotonic, process_time, sleep

import numpy as np

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.intervals import of_mean
from pytest_dlbench.judging.spans import spans
from pytest_dlbench.records import Run, RunOutcome, Training
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.observer import Observer

# Children and proportional memory are read once a second: a block has at least one sample of each kind.
BLOCK_SECONDS = 1.0
# The length of one training; more pairs take several trainings.
PAIRS_OF_TRAINING = 60
PILOT_STEPS = 60
# An ordinary training, for the driver's share of a core.
USUAL_SECONDS = 20.0
# Additional samplers may take no more of a core than this, or sampling would no longer behave as usual.
MOST_CORE_SHARE, MOST_RATE = 0.2, 20
# The part of a sampling period over which the additional samples are spread: in the rest the driver must read the
# worker's answer before the next sample is due.
SPREAD = 0.9
# The spread of the logarithm of the ratio of two blocks' times, assumed until it is measured.
PAIR_SD = 0.02
ALPHA = 0.025

BlockPair = tuple[float, float]
"""Mean seconds per step with additional samples, and without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The state at one of a run's usual samples: time, the driver's processor time, additional samples so far."""

    seconds: float
    processor_seconds: float
    samples: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The driver's load during the steps.

    ``usual`` is its share of a core with the usual samples, ``added`` the share of additional samples while there were
    any, and ``samples`` the number of additional samples per usual one.
    """

    usual: float
    added: float
    samples: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A training on the driver's monotonic clock, and the driver's load during it."""

    training: Training
    load: Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of the usual samples: a ratio of step times with its 95 % interval, and a share of one core.

    It was measured with ``rate`` additional samplers, whose cost is divided by ``dose``: the number of their samples
    per usual one, or the ratio of processor times, whichever is less. ``core_share`` is the processor time of the whole
    driver divided by the time of a training with the usual samples.
    """

    blocks: tuple[BlockPair, ...]
    rate: int
    dose: float
    ratio: float
    lower: float
    upper: float
    core_share: float


class Dose:
    """A run's sampler: in every other second ``rate`` additional samplers sample as often as the usual one.

    Their samples are spread over the usual period, because consecutive samples find warm caches. There is no thread:
    the driver sleeps in ``sample`` instead of at its usual place.
    """

    def __init__(self, pid: int, rate: int, period_seconds: float, moments: list[Moment]) -> None:
        self._observers = [Observer([pid], monotonic(), device="cpu") for _ in range(rate)]
        self._period_seconds, self._moments, self._samples = period_seconds, moments, 0
        self._began = 0.0

    def begin(self) -> None:
        """Record the moment, which relates the run's clock to the driver's."""
        self._began = monotonic()

    def sample(self) -> None:
        """Called after each usual sample."""
        began = monotonic()
        self._moments.append(Moment(seconds=began, processor_seconds=process_time(), samples=self._samples))
        for number, observer in enumerate(self._observers):
            due = began + SPREAD * self._period_seconds * number / len(self._observers)
            sleep(max(0.0, due - monotonic()))
            if not (is_sampled(block(began)) and is_sampled(block(monotonic()))):
                return
            observer.sample()
            self._samples += 1

    def end(self) -> dict[str, float]:
        """The time on the monotonic clock at which the phase began."""
        return {"began_monotonic_seconds": self._began}


def block(seconds: float) -> int:
    """The number of the block that contains a moment."""
    return int(seconds // BLOCK_SECONDS)


def is_sampled(number: int) -> bool:
    """Whether a block has additional samples: the first and last of four, so that drift cancels."""
    pair, place = divmod(number, 2)
    return place == pair % 2


def observed(spec: NetworkSpec, rate: int) -> Observed:
    """Train with ``rate`` additional samplers; a failed training is an error."""
    moments: list[Moment] = []
    period = spec.sample_period_seconds
    hooks = RunHooks(samplers=(lambda pid: Dose(pid, rate, period, moments),))
    run = train_once(spec, 0, hooks)
    training = _trained(run)
    phase = run.usage["train"]
    # The usual sampler begins its phase just after this one.
    origin = phase.readings["began_monotonic_seconds"] - phase.began_seconds
    training = replace(training, began_seconds=origin + training.began_seconds)
    return Observed(training=training, load=load(moments, training, period))


def load(moments: Sequence[Moment], training: Training, period_seconds: float) -> Load:
    """The driver's load during the steps: all zero if it took no sample."""
    steps = spans(training)
    inside = [moment for moment in moments if steps[0][0] <= moment.seconds <= steps[-1][1]]
    sampled, others = [], []
    has_additional = inside and inside[-1].samples > inside[0].samples
    for one, two in pairwise(inside):
        (sampled if has_additional and is_sampled(block(one.seconds)) else others).append((one, two))
    usual = _core_share(others)
    seconds = sum(two.seconds - one.seconds for one, two in sampled)
    samples = sum(two.samples - one.samples for one, two in sampled)
    return Load(
        usual=usual,
        added=max(0.0, _core_share(sampled) - usual),
        samples=samples * period_seconds / seconds if sampled else 0.0,
    )


def sampling_cost(
    spec: NetworkSpec,
    pairs: int,
    progress: Callable[[str], None],
    rate: int | None = None,
    observe: Callable[[NetworkSpec, int], Observed] = observed,
) -> Cost:
    """Train as usual, then with ``rate`` additional samplers until there are ``pairs`` pairs of blocks.

    The default ``rate`` is as high as a fifth of one core allows, at most 20. Raises DlbenchError if a training fails,
    or if steps are too long for blocks of a second.
    """
    # For evaluations between steps the driver reads all counters, which is a separate cost.
    spec = replace(spec, evaluate_after=(), steps=PILOT_STEPS)
    step = median(observe(spec, 0).training.step_seconds)
    usual = observe(replace(spec, steps=_steps(USUAL_SECONDS, step)), 0).load.usual
    rate = rate or affordable_rate(usual)
    progress(f"usual samples take {usual:.2%} of one core; {rate} times as many are added from now on")
    blocks: list[BlockPair] = []
    loads: list[Load] = []
    while len(blocks) < pairs:
        # A few more than requested, for the warm-up and the pairs at both ends.
        seconds = 2 * BLOCK_SECONDS * (min(pairs - len(blocks), PAIRS_OF_TRAINING) + 3)
        found = observe(replace(spec, steps=_steps(seconds, step)), rate)
        if not (fresh := block_pairs(found.training)):
            raise DlbenchError(f"steps of {step:.2f} s leave no pair of seconds to compare: train a smaller network")
        blocks += fresh
        loads.append(found.load)
        progress(f"{len(blocks)} pairs of seconds of {pairs}: {expm1(median(_logarithms(blocks))):+.2%} in the median")
    return cost(blocks, loads, rate=rate, usual=usual)


def affordable_rate(usual: float) -> int:
    """How many samplers may be added if one takes this share of a core."""
    return MOST_RATE if usual * MOST_RATE <= MOST_CORE_SHARE else max(1, int(MOST_CORE_SHARE / usual))


def block_pairs(training: Training) -> list[BlockPair]:
    """The mean step with and without additional samples, for each pair of blocks after the warm-up.

    A step counts only if it is entirely within a block.
    """
    means = dict(_block_means(training))
    pairs = (number for number in means if number % 2 == 0 and number + 1 in means)
    ordered = ((number, number + 1) if is_sampled(number) else (number + 1, number) for number in pairs)
    return [(means[sampled], means[other]) for sampled, other in ordered]


def cost(blocks: Sequence[BlockPair], loads: Sequence[Load], *, rate: int, usual: float) -> Cost:
    """The cost of the usual samples, which take the share ``usual`` of a core, from blocks with additional ones."""
    # Frequent samples find warmer caches, and each costs less than one that comes alone.
    samples, added = fmean(load.samples for load in loads), fmean(load.added for load in loads)
    dose = min(samples, added / usual) if usual and added else samples
    found = of_mean(np.array(_logarithms(blocks)), run_sd=PAIR_SD, is_robust=True, alpha=ALPHA)
    estimate, lower, upper = (1 + expm1(value) / dose for value in (found.estimate, found.lower, found.upper))
    return Cost(blocks=tuple(blocks), rate=rate, dose=dose, ratio=estimate, lower=lower, upper=upper, core_share=usual)


def _logarithms(blocks: Sequence[BlockPair]) -> list[float]:
    return [log(sampled / other) for sampled, other in blocks]


def _core_share(intervals: Sequence[tuple[Moment, Moment]]) -> float:
    seconds = sum(two.seconds - one.seconds for one, two in intervals)
    processor = sum(two.processor_seconds - one.processor_seconds for one, two in intervals)
    return processor / seconds if intervals else 0.0


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
        raise DlbenchError(f"{run.outcome}: {problems.of_run(run)}")
    return run.training
