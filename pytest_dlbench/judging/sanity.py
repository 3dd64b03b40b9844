"""Sanity checks: an impossible result means that the measurement or the builder is wrong, never the speed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isclose, isfinite

from pytest_dlbench.judging.data_sheets import MOST_OF_SHEET
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.model import Recipe
from pytest_dlbench.records import CallCheck, Run, StepCheck, Training, UpdateCheck, Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import Gain, StepsUnclear

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


def impossible(run: Run, *, has_convolutions: bool, device: str) -> str:
    """The failed sanity check of a run; empty if all pass."""
    if reason := _above_sheet(run):
        return reason
    most = MOST_OF_PEAK * (CONVOLUTION_SAVES if has_convolutions else 1.0)
    if run.flop_utilisation is not None and run.flop_utilisation > most:
        return (
            f"impossible: {run.flop_utilisation:.0%} of the arithmetic that this machine is capable of"
            f" (limit {most:.0%}); steps do less than the network has, or their clock stops too early"
        )
    reason = _found(run, device)
    return "" if reason and _is_unclear(run, device) else reason


def _above_sheet(run: Run) -> str:
    """What is wrong if a GPU multiplied faster than it is built to."""
    speed = run.speed
    if speed is None or speed.published_flops_per_second is None:
        return ""
    if speed.flops_per_second <= MOST_OF_SHEET * speed.published_flops_per_second:
        return ""
    return (
        f"impossible: a large product in {speed.precision} ran at {speed.flops_per_second / 1e12:.1f} TFLOP/s, the data"
        f" sheet of this GPU has {speed.published_flops_per_second / 1e12:.1f}; steps do not wait for their work, or"
        " numbers are rounded to TF32 although that is not set"
    )


def unawaited(run: Run, device: str) -> str:
    """What shows that calls of a single operator do not wait for their work; empty if nothing does."""
    for name, one in run.operation.passes.items() if run.operation else ():
        found = [_of_calls(check, device) for check in one.checks]
        # A disturbance of a repetition only adds time.
        if found and all(found):
            return f"impossible: of its pass {name}, {found[0]}"
    return ""


def _of_calls(check: CallCheck, device: str) -> str:
    clocks = (CLOCK, PROCESSOR) if device == "cpu" else (CLOCK,)
    if not all(_is_left(check, clock, LEFT_COPY_SECONDS) for clock in clocks):
        return ""
    return (
        f"{2 * check.calls} calls ended after {check.double[CLOCK]:.4f} s, but a copy of the last result took"
        f" {check.behind_double[CLOCK]:.4f} s, and again takes {check.alone[CLOCK]:.4f} s;"
        " a call does not wait for its own work (a missing synchronisation)"
    )


def untrained(run: Run, recipe: Recipe, *, lowest_loss: float, rates: Sequence[float]) -> str:
    """What shows that not every step of a run trained the network; empty if nothing does.

    ``rates`` are the learning rates of its steps.
    """
    if run.training is None:
        return ""
    found = _below(run.training, lowest_loss) or _repeated(run.training, recipe, rates)
    return found or (_unchanged(run.update_check, recipe) if run.update_check else "")


def constant(run: Run) -> str:
    """What shows that the steps of a program do not train; empty if nothing does.

    A loss of 0 in all steps is none: functions without a loss are measured, too.
    """
    losses = run.training.losses if run.training else ()
    if len(losses) < LEAST_LOSSES or len(set(losses)) > 1 or not losses[0]:
        return ""
    return (
        f"impossible: the loss is {losses[0]:g} in each of {len(losses)} steps, to the last digit;"
        " steps do not train, or do not report their own loss (return 0.0 if there is none)"
    )


def _below(training: Training, lowest: float) -> str:
    step, loss = min(enumerate(training.losses, start=1), key=lambda pair: pair[1], default=(0, lowest))
    if loss >= lowest - BELOW_BOUND:
        return ""
    return f"impossible: the loss is {loss:g} at step {step}, but this loss cannot be below {lowest:g}"


def _repeated(training: Training, recipe: Recipe, rates: Sequence[float]) -> str:
    """Consecutive steps with one and the same loss, although the first of them changed the weights."""
    pairs = [pair for pair, rate in zip(pairwise(training.losses), rates, strict=False) if rate > 0]
    equal = [before for before, after in pairs if before == after]
    if pairs and len(equal) == len(pairs):
        return (
            f"impossible: the loss is {equal[0]:g} in each of {len(pairs) + 1} steps, to the last digit;"
            " steps do not train, or do not report their own loss"
        )
    counted = [loss for loss in equal if loss > LEARNT]
    # In 16 bits, losses have only three digits.
    if recipe.precision == recipe.stored_precision and len(counted) > REPEATED_SHARE * len(pairs):
        return (
            f"impossible: {len(counted)} of {len(pairs)} steps report the loss of the step before, to the last digit;"
            " some steps do not train, or do not report their own loss"
        )
    return ""


def _unchanged(check: UpdateCheck, recipe: Recipe) -> str:
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
        return ""
    return (
        f"impossible: {skipped} of {len(judged)} more steps, taken one by one, changed no parameter;"
        " steps are asked for, and not all of them train"
    )


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


def _found(run: Run, device: str) -> str:
    found = [suspicion(check, device) for check in run.step_checks]
    # A disturbance of a repetition only adds time: the combined fastest parts must fail, too.
    return suspicion(_quickest(run.step_checks), device) if found and all(found) else ""


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


def suspicion(check: StepCheck | CallCheck, device: str) -> str:
    """What one check of steps or calls found; it counts if every repetition found something."""
    if isinstance(check, CallCheck):
        return _of_calls(check, device)
    # Training continued beyond the recipe's length, and may diverge there.
    return (_of_losses(check) or _of_times(check, device)) if isfinite(float(check.loss_after)) else ""


def _of_losses(check: StepCheck) -> str:
    if check.loss_before == check.loss_after and float(check.loss_before) != 0:
        return (
            f"impossible: {3 * check.steps} more steps leave the test loss at {check.loss_before} to the last digit;"
            " steps do not touch the weights (or the learning rate is 0)"
        )
    if check.loss_again and _changes(float(check.loss_after), float(check.loss_again)):
        return (
            f"impossible: the same weights give a test loss of {check.loss_after}, and then of {check.loss_again};"
            " evaluation changes with repetition (dropout left on?)"
        )
    return ""


def _of_times(check: StepCheck, device: str) -> str:
    # Other processes stretch wall-clock time but not processor time, which does not include a GPU's work.
    clocks = (CLOCK, PROCESSOR) if device == "cpu" else (CLOCK,)
    if all(_is_left(check, clock) for clock in clocks):
        return (
            f"impossible: {2 * check.steps} steps ended after {check.double[CLOCK]:.3f} s, but the evaluation after"
            f" them took {check.behind_double[CLOCK]:.3f} s and alone takes {check.alone[CLOCK]:.3f} s;"
            " a step does not wait for its own work (a missing synchronisation)"
        )
    if all(_is_no_double(check, clock) for clock in clocks):
        return (
            f"impossible: {check.steps} steps took {check.single[CLOCK]:.3f} s and {2 * check.steps} took"
            f" {check.double[CLOCK]:.3f} s, which is far from 1:2; steps are not all done, or not alike"
        )
    return ""


def _changes(loss: float, again: float) -> bool:
    return not isclose(loss, again, rel_tol=CHANGES, abs_tol=NOTHING)


def _is_left(check: StepCheck | CallCheck, clock: int, seconds: float = LEFT_SECONDS) -> bool:
    pairs = ((check.single, check.behind_single), (check.double, check.behind_double))
    return all(behind[clock] - check.alone[clock] > LEFT_SHARE * steps[clock] + seconds for steps, behind in pairs)


def _is_no_double(check: StepCheck, clock: int) -> bool:
    enough = check.single[clock] + check.double[clock] > LEFT_SECONDS
    return enough and not LEAST_RATIO < check.double[clock] / max(check.single[clock], 1e-9) < MOST_RATIO
