"""All that is read off a run."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import readings, time_to_accuracy
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.model import Purpose
from pytest_dlbench.records import Run

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        # The 10 % quantile is what the computation costs; neighbours on the machine move the median far more
        # (measured between sessions: -3 % against +91 %), which therefore is reported and not judged alone.
        Metric(
            name="step_time",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.step_time,
            tolerance=0.05,
            purpose="training",
        ),
        Metric(
            name="step_time_median",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.step_time_median,
            purpose="training",
        ),
        # Of batches, as the step times are of steps.
        Metric(
            name="latency",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.latency_quantile(1),
            tolerance=0.05,
            purpose="inference",
        ),
        Metric(
            name="latency_median",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.latency_quantile(5),
            purpose="inference",
        ),
        Metric(
            name="latency_p90",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.latency_quantile(9),
            purpose="inference",
        ),
        Metric(name="throughput", unit="samples/s", better="higher", kind="ratio", value=readings.throughput),
        Metric(
            name="token_throughput",
            unit="tokens/s",
            better="higher",
            kind="ratio",
            value=readings.token_throughput,
            purpose="training",
        ),
        Metric(
            name="first_step",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.first_step,
            run_sd=0.05,
            purpose="training",
        ),
        Metric(name="import_time", unit="s", better="lower", kind="ratio", value=readings.import_time, run_sd=0.05),
        Metric(name="build_time", unit="s", better="lower", kind="ratio", value=readings.build_time, run_sd=0.05),
        Metric(
            name="accuracy",
            unit="share",
            better="higher",
            kind="points",
            value=readings.accuracy,
            tolerance=1.0,
            # One image of the digits' 360.
            run_sd=0.28,
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            purpose="training",
        ),
        Metric(
            name="best_accuracy",
            unit="share",
            better="higher",
            kind="points",
            value=readings.best_accuracy,
            run_sd=0.28,
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            purpose="training",
        ),
        Metric(
            name="reached_accuracy",
            unit="share",
            better="higher",
            kind="points",
            value=time_to_accuracy.reached,
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            purpose="training",
        ),
        Metric(
            name="time_to_accuracy",
            unit="s",
            better="lower",
            kind="ratio",
            value=time_to_accuracy.seconds,
            run_sd=0.05,
            purpose="training",
        ),
        Metric(
            name="epochs_to_accuracy",
            unit="epochs",
            better="lower",
            kind="ratio",
            value=time_to_accuracy.epochs,
            run_sd=0.05,
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            purpose="training",
        ),
        Metric(
            name="training_time",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.training_time,
            purpose="training",
        ),
        Metric(
            name="top5_accuracy",
            unit="share",
            better="higher",
            kind="points",
            value=readings.top5_accuracy,
            run_sd=0.28,
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            purpose="training",
        ),
        Metric(
            # As if it were so many tokens that each were as likely as the others.
            name="perplexity",
            unit="tokens",
            better="lower",
            kind="ratio",
            value=readings.perplexity,
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            purpose="training",
        ),
        Metric(
            name="peak_rss",
            unit="bytes",
            better="lower",
            kind="ratio",
            value=readings.peak_rss,
            tolerance=0.02,
            # PyTorch's runs differ by 0.1 to 1 %, JAX's by 1 to 4 %, and by 11 % where they have but twenty steps.
            run_sd=0.015,
            session_sd=0.0025,
            is_robust=False,
            is_exact=True,
        ),
        Metric(
            # Of the resident set, over all steps behind the warm-up.
            name="leak",
            unit="share",
            better="lower",
            kind="points",
            value=readings.leak,
            tolerance=2.0,
            run_sd=0.5,
            session_sd=0.0,
            is_robust=False,
            is_absolute=True,
            purpose="training",
        ),
        Metric(name="cpu_use", unit="cores", better="lower", kind="ratio", value=readings.cpu_use),
        Metric(name="load_time", unit="s", better="lower", kind="ratio", value=readings.load_time, purpose="training"),
        Metric(
            name="input_wait",
            unit="s",
            better="lower",
            kind="ratio",
            value=readings.input_wait,
            purpose="training",
        ),
        Metric(
            name="page_faults",
            unit="faults/step",
            better="lower",
            kind="ratio",
            value=readings.page_faults,
            purpose="training",
        ),
        Metric(
            name="flop_utilisation",
            unit="share",
            better="higher",
            kind="ratio",
            value=lambda run: run.flop_utilisation,
        ),
        Metric(name="machine_speed", unit="GFLOP/s", better="higher", kind="ratio", value=readings.machine_speed),
        Metric(name="energy", unit="J", better="lower", kind="ratio", value=readings.energy),
        Metric(
            name="gpu_energy", unit="J", better="lower", kind="ratio", value=readings.of_cards("energy_joules", sum)
        ),
        Metric(
            name="gpu_memory",
            unit="bytes",
            better="lower",
            kind="ratio",
            value=readings.of_cards("memory_peak_bytes", max),
        ),
        Metric(
            name="gpu_allocated",
            unit="bytes",
            better="lower",
            kind="ratio",
            value=readings.allocated_on_card,
            purpose="training",
        ),
        Metric(
            name="gpu_utilisation",
            unit="share",
            better="higher",
            kind="ratio",
            value=readings.of_cards("utilisation", fmean),
        ),
    )
}

BUILT_IN = frozenset(METRICS)


def of_purpose(tolerances: Mapping[str, float], purpose: Purpose) -> dict[str, float]:
    """Those whose metrics such runs have."""
    return {name: amount for name, amount in tolerances.items() if METRICS[name].purpose in (None, purpose)}


def add_metrics(metrics: Iterable[Metric]) -> None:
    """Know these metrics beside the built-in ones, until they are removed. Raises OptionError for a known name."""
    for metric in metrics:
        if metric.name in METRICS:
            raise OptionError(
                f"pytest_dlbench_record: there is a metric {metric.name!r} already; give yours another name"
            )
        METRICS[metric.name] = metric


def remove_metrics(metrics: Iterable[Metric]) -> None:
    """Forget metrics that were added."""
    for metric in metrics:
        METRICS.pop(metric.name, None)


def hooked(run: Run) -> dict[str, float]:
    """What the metrics that hooks have added say of a finished run: to be kept with it."""
    found = {name: metric.read(run) for name, metric in METRICS.items() if name not in BUILT_IN}
    return {name: value for name, value in found.items() if value is not None}


def read_all(runs: Sequence[Run]) -> dict[str, tuple[float, ...]]:
    """Every metric that all runs have, of each of them; the runs must have finished.

    Of a session with hooks that are not here, their metrics are those that were kept with the runs.
    """
    found = {name: [metric.read(run) for run in runs] for name, metric in METRICS.items()}
    kept = dict.fromkeys(name for run in runs for name in run.hooked if name not in METRICS)
    found |= {name: [run.hooked.get(name) for run in runs] for name in kept}
    return {
        name: tuple(value for value in values if value is not None)
        for name, values in found.items()
        if None not in values
    }


def summarise(runs: Sequence[Run]) -> dict[str, float]:
    """The median over the runs of each metric; of a case that did not finish, what is there."""
    finished = [run for run in runs if run.inference or (run.training and run.evaluation)]
    return {name: median(values) for name, values in read_all(finished).items()} if finished else {}
