"""Sanity checks: an impossible result means that the measurement or the builder is wrong, never the speed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isclose, isfinite

from pytest_dlbench.judging.data_sheets import MOST_OF_SHEET
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.model import Recipe
from pytest_dlbench.records import CallCheck, Run, StepCheck, Training, UpdateCheck, Verdict, VerdictOutcome
from pytest_dlbench.records.problems import (
    AboveDataSheet,
    EvaluationVaries,
    LossBelowBound,
    LossesRepeat,
    NotAwaited,
    NotDouble,
    StepsChangeNothing,
    TooFast,
)
from pytest_dlbench.records.reasons import Gain, StepsUnclear

# What checks of single steps or calls find, and losses and updates.
OfSteps = StepsChangeNothing | EvaluationVaries | NotAwaited | NotDouble
Untrained = LossBelowBound | LossesRepeat | StepsChangeNothing

# Times the peak of a matrix product in NumPy: its libraries differ by less.
MOST_OF_PEAK = 1.05
# How much an algorithm may reduce a convolution's arithmetic: Winograd's F(4×4, 3×3) needs a quarter of it.
CONVOLUTION_SAVES = 4.0
# Twice as many steps take twice as long, apart from what a busy machine adds to either.
LEAST_RATIO, MOST_RATIO = 1.2, 5.0
# Changes of the loss for the same batch and weights: reordered sums change it by less, even in half precision.
CHANGES, NOTHING = 1e-3, 1e-6
# Work that may remain after the steps, as a share of their time: the last update, and the clock's inaccuracy.
LEFT_SHARE, LEFT_SECONDS = 0.5, 0.05
# A copy of a result has nothing to compute: its time varies less than that of an evaluation.
LEFT_COPY_SECONDS = 0.005
CLOCK, PROCESSOR = 0, 1
# Times as good as before. Work that is skipped is often worth more, and releases of frameworks were worth less.
MOST_GAIN = 3.0
# Threads that spin while waiting use more processor time, too, if another process delays one of them.
FOREIGN_CPUS = 0.5
CHECK = "check_steps"
# A logarithm of sums that are rounded to 16 bits may be this far below the bound of a loss.
BELOW_BOUND = 0.01
# Losses of different batches and weights are equal by chance in one of a million pairs of consecutive steps.
REPEATED_SHARE = 0.05
# Fewer losses may be equal by chance.
LEAST_LOSSES = 3
# A training with a smaller loss has nothing left to learn: its updates and the differences of its losses are rounded.
LEARNT = 1e-3


def impossible(run: Run, *, has_convolutions: bool, device: str) -> AboveDataSheet | TooFast | OfSteps | None:
    """The failed sanity check of a run; None if all pass."""
    if problem := _above_sheet(run):
        return problem
    most = MOST_OF_PEAK * (CONVOLUTION_SAVES if has_convolutions else 1.0)
    if run.flop_utilisation is not None and run.flop_utilisation > most:
        return TooFast(share=run.flop_utilisation, limit=most)
    found = _found(run, device)
    return None if found and _is_unclear(run, device) else found


def _above_sheet(run: Run) -> AboveDataSheet | None:
    """What is wrong if a GPU multiplied faster than it is built to."""
    speed = run.speed
    if speed is None or speed.published_flops_per_second is None:
        return None
    if speed.flops_per_second <= MOST_OF_SHEET * speed.published_flops_per_second:
        return None
    return AboveDataSheet(
        precision=speed.precision, measured=speed.flops_per_second, published=speed.published_flops_per_second
    )


def unawaited(run: Run, device: str) -> NotAwaited | None:
    """What shows that calls of a single operator do not wait for their work; None if nothing does."""
    for name, one in run.operation.passes.items() if run.operation else ():
        found = [_of_calls(check, device, name) for check in one.checks]
        # A disturbance of a repetition only adds time.
        if found and all(found):
            return found[0]
    return None


def _of_calls(check: CallCheck, device: str, operator_pass: str = "") -> NotAwaited | None:
    clocks = (CLOCK, PROCESSOR) if device == "cpu" else (CLOCK,)
    if not all(_is_left(check, clock, LEFT_COPY_SECONDS) for clock in clocks):
        return None
    return NotAwaited(
        unit="calls",
        operator_pass=operator_pass,
        count=2 * check.calls,
        seconds=check.double[CLOCK],
        after_seconds=check.behind_double[CLOCK],
        alone_seconds=check.alone[CLOCK],
    )


def untrained(run: Run, recipe: Recipe, *, lowest_loss: float, rates: Sequence[float]) -> Untrained | None:
    """What shows that not every step of a run trained the network; None if nothing does.

    ``rates`` are the learning rates of its steps.
    """
    if run.training is None:
        return None
    found = _below(run.training, lowest_loss) or _repeated(run.training, recipe, rates)
    return found or (_unchanged(run.update_check, recipe) if run.update_check else None)


def constant(run: Run) -> LossesRepeat | None:
    """What shows that the steps of a program do not train; None if nothing does.

    A loss of 0 in all steps is none: functions without a loss are measured, too.
    """
    losses = run.training.losses if run.training else ()
    if len(losses) < LEAST_LOSSES or len(set(losses)) > 1 or not losses[0]:
        return None
    return LossesRepeat(repeated=len(losses) - 1, steps=len(losses), loss=losses[0], is_of_program=True)


def _below(training: Training, lowest: float) -> LossBelowBound | None:
    step, loss = min(enumerate(training.losses, start=1), key=lambda pair: pair[1], default=(0, lowest))
    if loss >= lowest - BELOW_BOUND:
        return None
    return LossBelowBound(loss=loss, step=step, bound=lowest)


def _repeated(training: Training, recipe: Recipe, rates: Sequence[float]) -> LossesRepeat | None:
    """Consecutive steps with one and the same loss, although the first of them changed the weights."""
    pairs = [pair for pair, rate in zip(pairwise(training.losses), rates, strict=False) if rate > 0]
    equal = [before for before, after in pairs if before == after]
    if pairs and len(equal) == len(pairs):
        return LossesRepeat(repeated=len(pairs), steps=len(pairs) + 1, loss=equal[0])
    counted = [loss for loss in equal if loss > LEARNT]
    # In 16 bits, losses have only three digits.
    if recipe.precision == recipe.stored_precision and len(counted) > REPEATED_SHARE * len(pairs):
        return LossesRepeat(repeated=len(counted), steps=len(pairs) + 1)
    return None


def _unchanged(check: UpdateCheck, recipe: Recipe) -> StepsChangeNothing | None:
    """Single steps after which the parameters were what they were before."""
    judged = [
        is_changed
        for is_changed, loss in zip(check.changed, check.losses, strict=False)
        if isfinite(float(loss)) and float(loss) > LEARNT
    ]
    skipped = judged.count(False)
    # A loss scale that became too large skips a step, or a few in sequence, and is then small enough.
    begun = sum(before and not after for before, after in pairwise(judged))
    is_scaled = recipe.precision == "float16" and begun <= 1 and skipped < len(judged)
    if not skipped or is_scaled:
        return None
    return StepsChangeNothing(unchanged=skipped, steps=len(judged))


def believed(metric: Metric, verdict: Verdict) -> Verdict:
    """The verdict, which is suspect if the gain is too good to be true."""
    is_too_good = _times(metric, verdict) > MOST_GAIN
    return replace(verdict, outcome=VerdictOutcome.SUSPECT) if is_too_good else verdict


def too_good(verdicts: Iterable[Verdict], metrics: Mapping[str, Metric]) -> tuple[Gain, ...]:
    """The gains that are too good to be true."""
    gains = (
        Gain(metric=one.metric, times=_times(metrics[one.metric], one)) for one in verdicts if one.metric in metrics
    )
    return tuple(gain for gain in gains if gain.times > MOST_GAIN)


def _times(metric: Metric, verdict: Verdict) -> float:
    """How many times as good the new figure is; 1 where figures are not compared as ratios."""
    if metric.kind != "ratio" or metric.is_absolute or not verdict.change:
        return 1.0
    return 1 / verdict.change if metric.better == "lower" else verdict.change


def unchecked(run: Run, device: str) -> StepsUnclear | None:
    """Why the step check's times are inconclusive for this run; None if they are not."""
    if not _found(run, device) or not _is_unclear(run, device):
        return None
    return StepsUnclear(checks=len(run.step_checks), foreign_cpus=run.usage[CHECK].foreign_cpus)


def _found(run: Run, device: str) -> OfSteps | None:
    found = [suspicion(check, device) for check in run.step_checks]
    # A disturbance of a repetition only adds time: the combined fastest parts must fail, too.
    return suspicion(_quickest(run.step_checks), device) if found and all(found) else None


def _is_unclear(run: Run, device: str) -> bool:
    """Whether the only evidence against a run is times that were taken while other processes ran."""
    if CHECK not in run.usage or _of_losses(_quickest(run.step_checks)):
        return False
    return device == "cpu" and run.usage[CHECK].foreign_cpus > FOREIGN_CPUS


def _quickest(checks: Sequence[StepCheck]) -> StepCheck:
    """The last check, with the minimum time of each part over all checks."""
    return replace(
        checks[-1],
        single=_least(check.single for check in checks),
        double=_least(check.double for check in checks),
        behind_single=_least(check.behind_single for check in checks),
        behind_double=_least(check.behind_double for check in checks),
        alone=_least(check.alone for check in checks),
    )


def _least(seconds: Iterable[tuple[float, float]]) -> tuple[float, float]:
    clock, processor = zip(*seconds, strict=True)
    return min(clock), min(processor)


def suspicion(check: StepCheck | CallCheck, device: str) -> OfSteps | None:
    """What one check of steps or calls found; it counts if every repetition found something."""
    if isinstance(check, CallCheck):
        return _of_calls(check, device)
    # Training continued beyond the recipe's length, and may diverge there.
    return (_of_losses(check) or _of_times(check, device)) if isfinite(float(check.loss_after)) else None


def _of_losses(check: StepCheck) -> StepsChangeNothing | EvaluationVaries | None:
    if check.loss_before == check.loss_after and float(check.loss_before) != 0:
        return StepsChangeNothing(unchanged=3 * check.steps, steps=3 * check.steps, test_loss=check.loss_before)
    if check.loss_again and _changes(float(check.loss_after), float(check.loss_again)):
        return EvaluationVaries(losses=(check.loss_after, check.loss_again), is_checked=True)
    return None


def _of_times(check: StepCheck, device: str) -> NotAwaited | NotDouble | None:
    # Other processes stretch wall-clock time but not processor time, which does not include a GPU's work.
    clocks = (CLOCK, PROCESSOR) if device == "cpu" else (CLOCK,)
    if all(_is_left(check, clock) for clock in clocks):
        return NotAwaited(
            unit="steps",
            count=2 * check.steps,
            seconds=check.double[CLOCK],
            after_seconds=check.behind_double[CLOCK],
            alone_seconds=check.alone[CLOCK],
        )
    if all(_is_no_double(check, clock) for clock in clocks):
        return NotDouble(steps=check.steps, seconds=check.single[CLOCK], double_seconds=check.double[CLOCK])
    return None


def _changes(loss: float, again: float) -> bool:
    return not isclose(loss, again, rel_tol=CHANGES, abs_tol=NOTHING)


def _is_left(check: StepCheck | CallCheck, clock: int, seconds: float = LEFT_SECONDS) -> bool:
    pairs = ((check.single, check.behind_single), (check.double, check.behind_double))
    return all(behind[clock] - check.alone[clock] > LEFT_SHARE * steps[clock] + seconds for steps, behind in pairs)


def _is_no_double(check: StepCheck, clock: int) -> bool:
    enough = check.single[clock] + check.double[clock] > LEFT_SECONDS
    return enough and not LEAST_RATIO < check.double[clock] / max(check.single[clock], 1e-9) < MOST_RATIO
