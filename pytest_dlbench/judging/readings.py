"""From a run to its figures, one function each; None if a run has no such figure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import exp, inf, isnan, prod
from statistics import fmean, median, quantiles
from typing import Literal

from pytest_dlbench.judging import time_to_accuracy
from pytest_dlbench.judging.breakdowns import phase_sum
from pytest_dlbench.judging.contention import contended
from pytest_dlbench.judging.warm_up import steady_steps, warm_up
from pytest_dlbench.records import POWER_LIMIT, CurvePoint, Evaluation, Run, Search, Training, Usage
from pytest_dlbench.records.breakdowns import StepPhase

LARGEST_LOSS = 700.0
# As many as golden losses have: the path of the training is still that of its seed.
FIRST_STEPS = 10
# Phases in which only the driver is interested: those of the first run of a case.
CHECKS = frozenset({"check_steps", "check_updates", "check_calls"})
# Samples of processor time that are closer together show how the kernel rounds it.
PEAK_SECONDS = 0.1
# The kernel counts processor time in ticks.
TICK_SECONDS = 0.01


def quiet_steps(run: Run) -> Sequence[float]:
    """The steady steps without contended ones, if enough remain."""
    steps = steady_steps(trained(run))
    mask = contended(run, len(steps))
    return [seconds for seconds, is_contended in zip(steps, mask, strict=True) if not is_contended]


def trained(run: Run) -> Training:
    """The run's training; ValueError if there is none."""
    if run.training is None:
        raise ValueError(f"run {run.index} of {run.case} was not trained")
    return run.training


def evaluated(run: Run) -> Evaluation:
    """The run's evaluation; ValueError if there is none."""
    if run.evaluation is None:
        raise ValueError(f"run {run.index} of {run.case} was not evaluated")
    return run.evaluation


def timed_steps(run: Run) -> int:
    """How many steps or batches of a run are timed: those after the warm-up, or after the first batch."""
    return len(steady_steps(run.training) if run.training else timed_batches(run))


def step_time(run: Run) -> float:
    """The 10 % quantile of the steady steps, without contended ones."""
    steps = quiet_steps(run)
    return quantiles(steps, n=10, method="inclusive")[0] if len(steps) > 1 else steps[0]


def step_time_median(run: Run) -> float:
    """The median of the same steps."""
    return median(quiet_steps(run))


def step_cpu_time(run: Run) -> float | None:
    """The median processor time of the steps that alternated with another run's; None if none did."""
    alternation = trained(run).alternation
    return median(alternation.cpu_seconds) if alternation else None


def throughput(run: Run) -> float | None:
    """Samples per second, without the first step or batch; None for a single operator or a search."""
    if run.operation is not None or run.search is not None:
        return None
    if run.inference is not None:
        timed = timed_batches(run)
        return run.inference.batch_size * len(timed) / sum(timed)
    training = trained(run)
    timed = training.step_seconds[1:] or training.step_seconds
    return training.batch_size * len(timed) / sum(timed)


def token_throughput(run: Run) -> float | None:
    """Input tokens per second, for text; without the first step."""
    training, rate = trained(run), throughput(run)
    return None if training.tokens is None or rate is None else rate * training.tokens / training.examples


def allocated_on_gpu(run: Run) -> float | None:
    """Peak bytes of the framework's own allocator on its GPU."""
    return trained(run).device_peak_bytes


def timed_batches(run: Run) -> Sequence[float]:
    """Seconds of the batches after the first, which compiles."""
    if run.inference is None:
        raise ValueError(f"run {run.index} of {run.case} did not infer")
    return run.inference.batch_seconds[1:] or run.inference.batch_seconds


def latency_quantile(tenth: int) -> Callable[[Run], float]:
    """A quantile of the timed batches, in tenths."""

    def quantile(run: Run) -> float:
        timed = timed_batches(run)
        return quantiles(timed, n=10, method="inclusive")[tenth - 1] if len(timed) > 1 else timed[0]

    return quantile


def call_time(name: str) -> Callable[[Run], float | None]:
    """The 10 % quantile of the calls of an operator's pass after the first; None if it is not computed apart."""

    def value(run: Run) -> float | None:
        found = run.operation.passes.get(name) if run.operation else None
        if found is None:
            return None
        timed = found.seconds[1:] or found.seconds
        return quantiles(timed, n=10, method="inclusive")[0] if len(timed) > 1 else timed[0]

    return value


def call_rate(name: str, figure: Literal["flops", "least_bytes", "bus_bytes"]) -> Callable[[Run], float | None]:
    """GFLOP/s or GB/s of a pass in that time."""

    def value(run: Run) -> float | None:
        seconds = call_time(name)(run)
        if run.operation is None or seconds is None:
            return None
        work: float = getattr(run.operation.passes[name], figure)
        return work / seconds / 1e9 if work else None

    return value


def probe_share(name: str) -> Callable[[Run], float | None]:
    """The arithmetic per second of a pass as a share of that of the fastest probe, which it may exceed."""

    def value(run: Run) -> float | None:
        rate = call_rate(name, "flops")(run)
        best = run.operation.best_flops_per_second if run.operation else 0.0
        return 1e9 * rate / best if rate and best else None

    return value


def first_step(run: Run) -> float:
    """Seconds of the first step, which compiles."""
    return trained(run).step_seconds[0]


def import_time(run: Run) -> float:
    """Seconds of importing the framework."""
    return run.import_seconds or 0.0


def build_time(run: Run) -> float:
    """Seconds of building the network."""
    return run.build_seconds or 0.0


def evaluation_time(run: Run) -> float:
    """Seconds of the evaluation after training; 0 without one."""
    if run.reported:
        return run.reported.evaluation_seconds or 0.0
    return run.evaluation.seconds if run.evaluation else 0.0


def accuracy(run: Run) -> float | None:
    """The share of correct answers; None if a program reports none."""
    if run.reported:
        return run.reported.values.get("accuracy")
    evaluation = evaluated(run)
    return evaluation.correct / evaluation.examples


def applied_accuracy(run: Run) -> float | None:
    """The share of correct answers of given weights; None if the data has no labels for them."""
    return run.evaluation.correct / run.evaluation.examples if run.evaluation else None


def applied_top5_accuracy(run: Run) -> float | None:
    """The share of labels among the five most likely classes of given weights, for more than ten classes."""
    found = run.evaluation
    return None if found is None or found.top5_correct is None else found.top5_correct / found.examples


def output_deviation(run: Run) -> float | None:
    """How far the outputs of an inference are from those of the session's first framework."""
    return run.inference.deviation if run.inference else None


def best_accuracy(run: Run) -> float | None:
    """The highest of all evaluations."""
    return max((point.accuracy for point in run.curve), default=accuracy(run))


def epochs_to_best(run: Run) -> float | None:
    """The epoch of the first evaluation with the highest accuracy; None if none was during training."""
    return None if (point := _best_point(run)) is None else point.epoch


def time_to_best(run: Run) -> float | None:
    """Training seconds until then, without evaluations."""
    return None if (point := _best_point(run)) is None else point.seconds


def _best_point(run: Run) -> CurvePoint | None:
    return max(run.curve, key=lambda point: point.accuracy, default=None)


def trained_epochs(run: Run) -> float | None:
    """The epochs until training stopped or ended; None without a validation split."""
    return run.validation.trained_epochs if run.validation else None


def best_epoch(run: Run) -> float | None:
    """The epoch with the best validation; None without a validation split."""
    return run.validation.best_epoch if run.validation else None


def held_out_accuracy(run: Run) -> float | None:
    """The accuracy on the validation split after its best epoch; None without such a split."""
    if run.validation is None:
        return None
    sign, monitor = (1 if run.validation.monitor == "accuracy" else -1), run.validation.monitor
    return max(run.validation.curve, key=lambda point: sign * getattr(point, monitor)).accuracy


def of_checkpoint(field: Literal["write_seconds", "read_seconds", "size_bytes"]) -> Callable[[Run], float | None]:
    """A reading of the checkpoint of a run; None without one."""

    def read(run: Run) -> float | None:
        return getattr(run.checkpoint, field) if run.checkpoint else None

    return read


def training_time(run: Run) -> float:
    """Seconds of all steps, including the first, without evaluations."""
    return sum(trained(run).step_seconds)


def top5_accuracy(run: Run) -> float | None:
    """The share of labels among the five most likely classes, for more than ten classes."""
    if run.reported:
        return None
    evaluation = evaluated(run)
    return None if evaluation.top5_correct is None else evaluation.top5_correct / evaluation.examples


def map50(run: Run) -> float | None:
    """The mean average precision of a detector at an overlap of 0.5; None for all others."""
    if run.reported:
        return None
    return evaluated(run).map50


def auroc(run: Run) -> float | None:
    """The mean over flags of the area under the ROC curve; None for all but flags."""
    return None if run.reported else evaluated(run).auroc


def lowest_class_accuracy(run: Run) -> float | None:
    """The accuracy of the class that is recognised worst; None where classes were not counted apart."""
    if run.reported:
        return None
    return min((share for share in evaluated(run).class_accuracies if share is not None), default=None)


def parameters(run: Run) -> float | None:
    """The number of values that are trained, as the framework reports its parameters; None for a program."""
    return float(sum(map(prod, run.parameters.values()))) or None


def first_loss(run: Run) -> float | None:
    """The mean loss of the first steps; None where no losses are reported, or one is below 0."""
    losses = trained(run).losses[:FIRST_STEPS]
    return fmean(losses) if losses and min(losses) > 0 else None


def perplexity(run: Run) -> float | None:
    """exp(loss) if answers are tokens."""
    if run.reported:
        return None
    evaluation = evaluated(run)
    # A larger one would overflow.
    return exp(min(evaluation.loss, LARGEST_LOSS)) if evaluation.answers == "tokens" else None


def peak_rss(run: Run) -> float:
    """The largest resident set of any phase, without those of our own checks, and without the end if it follows one.

    Checking, counting and a breakdown may need more than the training does, and not every run has them.
    """
    is_examined = run.counts is not None or run.breakdown is not None or not CHECKS.isdisjoint(run.usage)
    others = {*CHECKS, "close"} if is_examined else CHECKS
    return float(max(usage.rss_peak_bytes for name, usage in run.usage.items() if name not in others))


def leak(run: Run) -> float | None:
    """The relative growth of the resident set over the steps, 0 if it shrinks; None with too few samples."""
    from pytest_dlbench.judging.growth import growth  # noqa: PLC0415 - of NumPy

    found = growth(run)
    return None if isnan(found) else max(0.0, found)


def phase(run: Run) -> Usage:
    """Resource usage during training, inference, or the calls of an operator."""
    return run.usage[{"training": "train", "inference": "infer", "operator": "operate", "search": "train"}[run.purpose]]


def cpu_use(run: Run) -> float:
    """The mean number of busy processors."""
    usage = phase(run)
    return (usage.user_seconds + usage.system_seconds) / usage.wall_seconds


def processors_share(seconds: Callable[[Usage], float | None]) -> Callable[[Run], float | None]:
    """A reading of seconds of processors as a share of what all of the machine's have; None in older files."""

    def value(run: Run) -> float | None:
        usage = phase(run)
        used = seconds(usage)
        return used / usage.wall_seconds / len(usage.core_use) if usage.core_use and used is not None else None

    return value


def tick_share(run: Run) -> float:
    """One tick of every processor as a share of what all of them have: each has its own counter."""
    return TICK_SECONDS / phase(run).wall_seconds


def iowait_seconds(usage: Usage) -> float | None:
    """Seconds in which processors of the machine were idle while a process waited for a disk."""
    return None if usage.iowait_cpus is None else usage.iowait_cpus * usage.wall_seconds


def peak_cpu_use(run: Run) -> float | None:
    """The largest number of busy processors between two samples of training; None with fewer than two.

    Samples less than PEAK_SECONDS apart are skipped.
    """
    usage, line = phase(run), run.timeline
    if usage.began_seconds is None:
        return None
    ended = usage.began_seconds + usage.wall_seconds
    samples = zip(line.seconds, line.cpu_seconds, strict=True)
    found = _apart(sample for sample in samples if usage.began_seconds <= sample[0] <= ended)
    return max(((after - before) / (now - began) for (began, before), (now, after) in pairwise(found)), default=None)


def _apart(samples: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Samples that are at least PEAK_SECONDS apart."""
    last = -inf
    for seconds, value in samples:
        if seconds - last >= PEAK_SECONDS:
            last = seconds
            yield seconds, value


def load_time(run: Run) -> float | None:
    """Seconds of handing the data to the framework."""
    return trained(run).load_seconds


def input_wait(run: Run) -> float | None:
    """Median seconds per step, after the warm-up, until its batch was available and handed over."""
    training = trained(run)
    return median(training.input_seconds[warm_up(training.step_seconds).steps :]) if training.input_seconds else None


def gpu_step_time(run: Run) -> float | None:
    """Median seconds per step, after the warm-up, by the GPU's own clock."""
    training = trained(run)
    return median(training.device_seconds[warm_up(training.step_seconds).steps :]) if training.device_seconds else None


def loading(part: Literal["read_seconds", "decode_seconds", "collate_seconds"]) -> Callable[[Run], float | None]:
    """The median seconds, after the warm-up, that a loader needed for one part of its work on a step's batch."""

    def value(run: Run) -> float | None:
        training = trained(run)
        seconds: tuple[float, ...] = getattr(training.loading, part) if training.loading else ()
        return median(seconds[warm_up(training.step_seconds).steps :]) if seconds else None

    return value


def page_faults(run: Run) -> float | None:
    """Minor page faults per step."""
    faults = run.usage["train"].minor_faults
    return None if faults is None else faults / len(trained(run).step_seconds)


def step_phase(name: StepPhase) -> Callable[[Run], float | None]:
    """The median seconds of a phase of a step; None if it was not measured, or the phases are not sound."""

    def value(run: Run) -> float | None:
        found = run.breakdown
        return median(found.phase_seconds[name]) if found and not found.flaw and name in found.phase_seconds else None

    return value


def step_phase_sum(run: Run) -> float | None:
    """All phases of a step over the step, whether it is near enough to 1 or not."""
    return phase_sum(run.breakdown) if run.breakdown and run.breakdown.phase_seconds else None


def exchange_share(run: Run) -> float | None:
    """The share of a step that data-parallel workers spend on exchanging gradients and waiting for each other.

    From the median step and that of the steps without exchange; 0 if those took longer.
    """
    if run.exchange is None or not run.exchange.alone_seconds:
        return None
    return max(0.0, 1 - median(run.exchange.alone_seconds) / median(quiet_steps(run)))


def exchanged(run: Run) -> float | None:
    """Bytes per step that workers of one host sent each other."""
    sent = run.usage["train"].readings.get("loopback_bytes") if "train" in run.usage else None
    return None if sent is None else sent / len(trained(run).step_seconds)


def counted(name: str) -> Callable[[Run], float | None]:
    """A reading of what was counted after the measurement."""

    def value(run: Run) -> float | None:
        return run.counts.get(name) if run.counts else None

    return value


def machine_speed(run: Run) -> float | None:
    """GFLOP/s of a matrix product in NumPy."""
    return run.speed.flops_per_second / 1e9 if run.speed else None


def energy(run: Run) -> float | None:
    """Joules of processors and memory."""
    readings = phase(run).readings
    found = [readings[name] for name in ("package_joules", "dram_joules") if name in readings]
    return sum(found) if found else None


def samples_per_joule(run: Run) -> float | None:
    """Samples that were trained or inferred per joule of the GPUs."""
    if run.operation is not None:
        return None
    joules = of_gpus("energy_joules", sum)(run)
    done = run.inference or trained(run)
    return done.examples / joules if joules else None


def throttled(run: Run) -> float | None:
    """The largest share of the samples of a GPU in which one reason other than its power limit slowed it."""
    gpus = phase(run).gpus
    causes = [(gpu, reason) for gpu in gpus for reason in gpu.slowed_by if reason != POWER_LIMIT]
    # None in files older than the shares.
    shares = [gpu.slowed_shares.get(reason) for gpu, reason in causes]
    if not gpus or None in shares or any("reasons for slowing" in gpu.absent for gpu in gpus):
        return None
    return max((share for share in shares if share is not None), default=0.0)


def of_gpus(field: str, together: Callable[[Iterable[float]], float]) -> Callable[[Run], float | None]:
    """A reading that combines a field of all GPUs."""

    def value(run: Run) -> float | None:
        found = [getattr(gpu, field) for gpu in phase(run).gpus]
        return together(found) if found and None not in found else None

    return value


def processor_seconds(run: Run) -> float:
    """Processor time of a whole run, its start included, as it was sampled; its duration if nothing was sampled."""
    phases = sum(usage.user_seconds + usage.system_seconds for usage in run.usage.values())
    until_last = max(run.timeline.cpu_seconds, default=0.0)
    return max(phases, until_last) or run.wall_seconds


def cost(run: Run) -> float | None:
    """The price of the machine for the whole run, from the start of the process to its end, without the checks."""
    return _price(run, run.wall_seconds - sum(run.usage[name].wall_seconds for name in CHECKS & run.usage.keys()))


def cost_to_accuracy(run: Run) -> float | None:
    """The price of the machine for the training until its target accuracy; None if it was not reached."""
    seconds = time_to_accuracy.seconds(run)
    return None if seconds is None else _price(run, seconds)


def _price(run: Run, seconds: float) -> float | None:
    return None if run.hourly_price is None else run.hourly_price * seconds / 3600


def of_search(value: Callable[[Search], float]) -> Callable[[Run], float | None]:
    """A reading of the search that led to a run; None for one that found nothing."""

    def read(run: Run) -> float | None:
        return value(run.search) if run.search and run.search.curve else None

    return read


def winner_accuracy(run: Run) -> float | None:
    """The test accuracy of the network that a search found, after training on all of the training part."""
    return accuracy(run) if run.evaluation or run.reported else None


def failed_trials(run: Run) -> float | None:
    """Trials of a search that ended in an error; those that the budget cut are not among them."""
    return sum(trial.outcome == "failed" for trial in run.search.trials) if run.search else None
