"""What is read off a run, and how it is compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import median, quantiles
from typing import Literal

from pytest_dlbench.judging.warm_up import warm_up
from pytest_dlbench.model import Purpose
from pytest_dlbench.records import Evaluation, Run, Training

LARGEST_LOSS = 700.0


def _of_all_runs(_: Run) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a run.

    ``kind`` says how two of them are compared: as a ratio, or as a difference in percentage points. ``run_sd`` and
    ``session_sd`` are what is assumed of the spread of fresh processes and of sessions (log units, or points) until it
    is measured: the run's has four degrees of freedom beside the data, the session's is added for either side.
    ``is_robust`` pulls single runs in that are far from the others: right for time, which neighbours disturb, and wrong
    where a single bad run is the finding. Without a ``tolerance`` a metric is reported and not judged. ``purpose``
    and ``applies`` say which runs have it.
    """

    name: str
    unit: str
    better: Literal["lower", "higher"]
    kind: Literal["ratio", "points"]
    value: Callable[[Run], float]
    tolerance: float | None = None
    run_sd: float = 0.015
    # Two sessions of the same code in a row, on a shared machine of two cores: eight cases differed by 2.7 % (root mean
    # square), which is √2 of this.
    session_sd: float = 0.02
    is_robust: bool = True
    purpose: Purpose | None = None
    applies: Callable[[Run], bool] = _of_all_runs


def steady_steps(training: Training) -> Sequence[float]:
    """Seconds of the steps behind the warm-up; of a single step, that one."""
    return training.step_seconds[warm_up(training.step_seconds).steps :]


def _training(run: Run) -> Training:
    if run.training is None:
        raise ValueError(f"run {run.index} of {run.case} was not trained")
    return run.training


def _evaluation(run: Run) -> Evaluation:
    if run.evaluation is None:
        raise ValueError(f"run {run.index} of {run.case} was not evaluated")
    return run.evaluation


def _step_time(run: Run) -> float:
    steps = steady_steps(_training(run))
    return quantiles(steps, n=10, method="inclusive")[0] if len(steps) > 1 else steps[0]


def _step_time_median(run: Run) -> float:
    return median(steady_steps(_training(run)))


def _throughput(run: Run) -> float:
    if run.inference is not None:
        timed = _timed_batches(run)
        return run.inference.batch_size * len(timed) / sum(timed)
    training = _training(run)
    timed = training.step_seconds[1:] or training.step_seconds
    return training.batch_size * len(timed) / sum(timed)


def _timed_batches(run: Run) -> Sequence[float]:
    """Behind the first, which compiles."""
    if run.inference is None:
        raise ValueError(f"run {run.index} of {run.case} did not infer")
    return run.inference.batch_seconds[1:] or run.inference.batch_seconds


def _latency_quantile(tenth: int) -> Callable[[Run], float]:
    def quantile(run: Run) -> float:
        timed = _timed_batches(run)
        return quantiles(timed, n=10, method="inclusive")[tenth - 1] if len(timed) > 1 else timed[0]

    return quantile


def _first_step(run: Run) -> float:
    return _training(run).step_seconds[0]


def _import_time(run: Run) -> float:
    return run.import_seconds or 0.0


def _build_time(run: Run) -> float:
    return run.build_seconds or 0.0


def _accuracy(run: Run) -> float:
    evaluation = _evaluation(run)
    return evaluation.correct / evaluation.examples


def _has_top5(run: Run) -> bool:
    return run.evaluation is not None and run.evaluation.top5_correct is not None


def _top5_accuracy(run: Run) -> float:
    evaluation = _evaluation(run)
    return (evaluation.top5_correct or 0) / evaluation.examples


def _has_tokens(run: Run) -> bool:
    return run.evaluation is not None and run.evaluation.answers == "tokens"


def _perplexity(run: Run) -> float:
    # A larger one is no number.
    return exp(min(_evaluation(run).loss, LARGEST_LOSS))


def _peak_rss(run: Run) -> float:
    return float(max(usage.rss_peak_bytes for usage in run.usage.values()))


def _cpu_use(run: Run) -> float:
    usage = run.usage["train" if run.inference is None else "infer"]
    return (usage.user_seconds + usage.system_seconds) / usage.wall_seconds


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        # The 10 % quantile is what the computation costs; neighbours on the machine move the median far more
        # (measured between sessions: -3 % against +91 %), which therefore is reported and not judged alone.
        Metric(
            name="step_time",
            unit="s",
            better="lower",
            kind="ratio",
            value=_step_time,
            tolerance=0.05,
            purpose="training",
        ),
        Metric(
            name="step_time_median",
            unit="s",
            better="lower",
            kind="ratio",
            value=_step_time_median,
            purpose="training",
        ),
        # Of batches, as the step times are of steps.
        Metric(
            name="latency",
            unit="s",
            better="lower",
            kind="ratio",
            value=_latency_quantile(1),
            tolerance=0.05,
            purpose="inference",
        ),
        Metric(
            name="latency_median",
            unit="s",
            better="lower",
            kind="ratio",
            value=_latency_quantile(5),
            purpose="inference",
        ),
        Metric(
            name="latency_p90",
            unit="s",
            better="lower",
            kind="ratio",
            value=_latency_quantile(9),
            purpose="inference",
        ),
        Metric(name="throughput", unit="samples/s", better="higher", kind="ratio", value=_throughput),
        Metric(
            name="first_step",
            unit="s",
            better="lower",
            kind="ratio",
            value=_first_step,
            run_sd=0.05,
            purpose="training",
        ),
        Metric(name="import_time", unit="s", better="lower", kind="ratio", value=_import_time, run_sd=0.05),
        Metric(name="build_time", unit="s", better="lower", kind="ratio", value=_build_time, run_sd=0.05),
        Metric(
            name="accuracy",
            unit="share",
            better="higher",
            kind="points",
            value=_accuracy,
            tolerance=1.0,
            # One image of the digits' 360.
            run_sd=0.28,
            session_sd=0.0,
            is_robust=False,
            purpose="training",
        ),
        Metric(
            name="top5_accuracy",
            unit="share",
            better="higher",
            kind="points",
            value=_top5_accuracy,
            run_sd=0.28,
            session_sd=0.0,
            is_robust=False,
            applies=_has_top5,
        ),
        Metric(
            # As if it were so many tokens that each were as likely as the others.
            name="perplexity",
            unit="tokens",
            better="lower",
            kind="ratio",
            value=_perplexity,
            session_sd=0.0,
            is_robust=False,
            applies=_has_tokens,
        ),
        Metric(
            name="peak_rss",
            unit="bytes",
            better="lower",
            kind="ratio",
            value=_peak_rss,
            tolerance=0.02,
            # PyTorch's runs differ by 0.1 to 1 %, JAX's by 1 to 4 %.
            run_sd=0.015,
            session_sd=0.0025,
            is_robust=False,
        ),
        Metric(name="cpu_use", unit="cores", better="lower", kind="ratio", value=_cpu_use),
    )
}


def _has(run: Run, metric: Metric) -> bool:
    purpose = "training" if run.inference is None else "inference"
    return metric.purpose in (None, purpose) and metric.applies(run)


def of_purpose(tolerances: Mapping[str, float], purpose: Purpose) -> dict[str, float]:
    """Those whose metrics such runs have."""
    return {name: amount for name, amount in tolerances.items() if METRICS[name].purpose in (None, purpose)}


def read_all(runs: Sequence[Run]) -> dict[str, tuple[float, ...]]:
    """Every metric that the runs have, of every run; they must have finished."""
    own = {name: metric for name, metric in METRICS.items() if all(_has(run, metric) for run in runs)}
    return {name: tuple(metric.value(run) for run in runs) for name, metric in own.items()}


def summarise(runs: Sequence[Run]) -> dict[str, float]:
    """The median over the runs of each metric; of a case that did not finish, what is there."""
    finished = [run for run in runs if run.inference or (run.training and run.evaluation)]
    return {name: median(values) for name, values in read_all(finished).items()} if finished else {}
