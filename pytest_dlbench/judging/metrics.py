"""The built-in metrics, one entry each, and functions that compute them for runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from statistics import fmean, median
from types import MappingProxyType
from typing import cast, get_args

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import readings, time_to_accuracy
from pytest_dlbench.judging.breakdowns import METRIC_OF
from pytest_dlbench.judging.metric import Metric, View
from pytest_dlbench.model import Purpose
from pytest_dlbench.model.operators import Pass
from pytest_dlbench.records import MetricFacts, Record, Run

Metrics = Mapping[str, Metric]
"""Metrics by name, in display order: the built-in ones, or all metrics of a session."""


def _counted(name: str, *, label: str, unit: str, is_exact: bool = True) -> Metric:
    """What is counted of a step; ``is_exact`` where every run of the same code has the same number."""
    return Metric(
        name=name,
        label=label,
        unit=unit,
        better="lower",
        kind="ratio",
        value=readings.counted(name),
        purpose="training",
        is_optional=True,
        is_counted=is_exact,
    )


def _of_loaders() -> tuple[Metric, ...]:
    """The parts of what loaders of JPEG files do: the seconds of all their processes and threads together."""
    of_training = partial(
        Metric, unit="s", better="lower", kind="ratio", purpose="training", is_optional=True, is_of_steps=True
    )
    return (
        of_training(name="read_time", label="reading", value=readings.loading("read_seconds")),
        of_training(
            name="decode_time",
            label="decoding",
            value=readings.loading("decode_seconds"),
            default_views=("page",),
        ),
        of_training(name="collate_time", label="collating", value=readings.loading("collate_seconds")),
    )


def _of_applied() -> tuple[Metric, ...]:
    """How good outputs of an inference are: with given weights, and compared with those of another framework."""
    of_inference = partial(Metric, unit="share", purpose="inference", is_optional=True, default_views=("table", "page"))
    right = partial(of_inference, better="higher", kind="points", is_robust=False, is_exact=True)
    return (
        right(name="applied_accuracy", label="accuracy, applied", value=readings.applied_accuracy),
        right(name="applied_top5_accuracy", label="top-5, applied", value=readings.applied_top5_accuracy),
        of_inference(
            name="output_deviation",
            label="outputs differ",
            better="lower",
            kind="points",
            value=readings.output_deviation,
            is_absolute=True,
            is_exact=True,
        ),
    )


def _of_pass(name: Pass, label: str) -> tuple[Metric, ...]:
    """The figures of one pass of an operator."""
    # As many frameworks compute both gradients at once as compute them apart.
    is_optional = name != "forward"
    of_pass = partial(Metric, kind="ratio", purpose="operator", is_optional=is_optional)
    rate = partial(of_pass, better="higher")
    return (
        of_pass(
            name=f"{name}_time",
            label=f"{label} 10 %",
            timed="" if is_optional else "forward pass",
            unit="s",
            better="lower",
            value=readings.call_time(name),
            tolerance=0.05,
            default_views=("table", "page", "statement", "baseline"),
        ),
        rate(
            name=f"{name}_arithmetic",
            label=f"{label} arithmetic",
            unit="GFLOP/s",
            value=readings.call_rate(name, "flops"),
            default_views=("page",) if is_optional else ("table", "page", "progress"),
        ),
        rate(
            name=f"{name}_traffic",
            label=f"{label} traffic",
            unit="GB/s",
            value=readings.call_rate(name, "least_bytes"),
            default_views=("page",),
        ),
        rate(
            name=f"{name}_share",
            label=f"{label} of probes",
            unit="share",
            value=readings.probe_share(name),
            default_views=("page",) if is_optional else ("table", "page"),
        ),
    )


def _of_breakdowns() -> tuple[Metric, ...]:
    """The phases of a step, where somebody asked for them; they are reported, and not judged."""
    of_training = partial(Metric, kind="ratio", better="lower", purpose="training", is_optional=True)
    return (
        *(
            of_training(
                name=name,
                label=f"phase {phase.replace('_', ' + ')}",
                unit="s",
                value=readings.step_phase(phase),
                default_views=("page",),
            )
            for phase, name in METRIC_OF.items()
        ),
        of_training(
            name="phase_sum",
            label="phases / step",
            unit="share",
            value=readings.step_phase_sum,
            default_views=("page",),
        ),
    )


def _of_searches() -> tuple[Metric, ...]:
    """The figures of searches for a network; they are reported, and not judged."""
    of_search = partial(Metric, purpose="search", default_views=("table", "page"))
    accuracy = partial(of_search, unit="share", better="higher", kind="points")
    duration = partial(of_search, unit="s", better="lower")
    count = partial(of_search, cell="g")
    trials = readings.of_search(lambda search: len(search.trials))
    return (
        # Of the best trial's network, trained again on all of the training part.
        accuracy(
            name="winner_accuracy",
            label="test accuracy",
            value=readings.winner_accuracy,
            default_views=("table", "page", "progress"),
        ),
        accuracy(
            name="validation_accuracy",
            label="best validation",
            value=readings.of_search(lambda search: search.curve[-1].accuracy),
        ),
        count(name="trials", label="trials", unit="trials", better="higher", value=trials),
        count(
            name="failed_trials",
            label="failed trials",
            unit="failed trials",
            better="lower",
            value=readings.failed_trials,
        ),
        duration(
            name="search_cpu_time",
            label="search CPU",
            value=readings.of_search(lambda search: search.trials[-1].cpu_total),
        ),
        duration(
            name="search_time", label="search", value=readings.of_search(lambda search: search.trials[-1].wall_total)
        ),
    )


def _of_checkpoints() -> tuple[Metric, ...]:
    """The figures of checkpoints; they are reported, and not judged."""
    figure = partial(Metric, better="lower", purpose="training", is_optional=True, default_views=("table", "page"))
    seconds = partial(figure, unit="s", run_sd=0.1)
    return (
        seconds(
            name="checkpoint_write_time",
            label="checkpoint write",
            value=readings.of_checkpoint("write_seconds"),
        ),
        seconds(name="checkpoint_read_time", label="checkpoint read", value=readings.of_checkpoint("read_seconds")),
        figure(
            name="checkpoint_bytes",
            label="checkpoint",
            unit="bytes",
            value=readings.of_checkpoint("size_bytes"),
            session_sd=0.0,
            is_robust=False,
            is_exact=True,
            is_portable=True,
        ),
    )


def _of_validation() -> tuple[Metric, ...]:
    """The figures of a validation split; they are reported, and not judged."""
    of_validation = partial(
        Metric,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page", "side_by_side"),
        is_optional=True,
    )
    epochs = partial(of_validation, unit="epochs", better="lower", kind="ratio", run_sd=0.05)
    return (
        epochs(name="trained_epochs", label="epochs trained", value=readings.trained_epochs),
        epochs(name="best_epoch", label="best epoch", value=readings.best_epoch),
        of_validation(
            name="held_out_accuracy",
            label="validation accuracy",
            unit="share",
            better="higher",
            kind="points",
            run_sd=0.28,
            value=readings.held_out_accuracy,
        ),
    )


BUILT_IN = (
    Metric(
        name="throughput",
        label="samples/s",
        cell=",.0f",
        unit="samples/s",
        better="higher",
        kind="ratio",
        value=readings.throughput,
        default_views=("table", "page", "summary", "history", "baseline", "progress", "sweeps"),
        is_of_steps=True,
    ),
    Metric(
        name="step_time_median",
        label="step median",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.step_time_median,
        purpose="training",
        default_views=("table", "page", "progress"),
        is_of_steps=True,
    ),
    # The 10 % quantile is the cost of the computation; other processes move the median far more
    # (measured between sessions: -3 % and +91 %), which is therefore reported but not judged alone.
    Metric(
        name="step_time",
        label="step 10 %",
        timed="step",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.step_time,
        tolerance=0.05,
        purpose="training",
        default_views=("table", "page", "statement", "summary", "history", "baseline"),
        is_of_steps=True,
    ),
    # Judged by ``pairs``, where it is a witness of the step time.
    Metric(
        name="step_cpu_time",
        label="step CPU",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.step_cpu_time,
        purpose="training",
        is_optional=True,
        is_of_steps=True,
    ),
    Metric(
        name="latency_median",
        label="latency median",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.latency_quantile(5),
        purpose="inference",
        default_views=("table", "page", "progress"),
        is_of_steps=True,
    ),
    # Of batches, as the step times are of steps.
    Metric(
        name="latency",
        label="latency 10 %",
        timed="batch",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.latency_quantile(1),
        tolerance=0.05,
        purpose="inference",
        default_views=("table", "page", "statement", "baseline"),
        is_of_steps=True,
    ),
    *_of_applied(),
    Metric(
        name="latency_p90",
        label="latency 90 %",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.latency_quantile(9),
        purpose="inference",
        default_views=("table", "page"),
        is_of_steps=True,
    ),
    *_of_pass("forward", "forward"),
    Metric(
        name="bus_bandwidth",
        label="bus bandwidth",
        unit="GB/s",
        better="higher",
        value=readings.call_rate("forward", "bus_bytes"),
        default_views=("table", "page", "statement"),
        purpose="operator",
        is_optional=True,
    ),
    *_of_pass("backward_data", "by data"),
    *_of_pass("backward_weights", "by weights"),
    *_of_pass("backward", "backward"),
    *_of_pass("forward_backward", "both"),
    *_of_searches(),
    *_of_checkpoints(),
    Metric(
        name="import_time",
        label="import",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.import_time,
        run_sd=0.05,
        default_views=("table", "side_by_side"),
    ),
    Metric(
        name="build_time",
        label="build",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.build_time,
        run_sd=0.05,
        default_views=("table", "side_by_side"),
    ),
    Metric(
        name="first_step",
        label="first step",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.first_step,
        run_sd=0.05,
        purpose="training",
        default_views=("table", "page", "summary", "side_by_side", "history"),
    ),
    Metric(
        name="accuracy",
        label="accuracy",
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
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=(
            "table",
            "page",
            "statement",
            "summary",
            "side_by_side",
            "history",
            "baseline",
            "progress",
            "sweeps",
            "study",
            "gatech",
            "tartu",
        ),
    ),
    *_of_validation(),
    Metric(
        name="map50",
        is_optional=True,
        label="mAP@0.5",
        unit="share",
        better="higher",
        kind="points",
        value=readings.map50,
        run_sd=1.0,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page", "side_by_side"),
    ),
    Metric(
        name="auroc",
        is_optional=True,
        label="AUROC",
        unit="share",
        better="higher",
        kind="points",
        value=readings.auroc,
        run_sd=1.0,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page", "side_by_side"),
    ),
    Metric(
        name="lowest_class_accuracy",
        is_optional=True,
        label="accuracy of the worst class",
        unit="share",
        better="higher",
        kind="points",
        value=readings.lowest_class_accuracy,
        run_sd=2.0,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("page", "side_by_side"),
    ),
    Metric(
        name="top5_accuracy",
        label="top-5 accuracy",
        unit="share",
        better="higher",
        kind="points",
        value=readings.top5_accuracy,
        run_sd=0.28,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page", "side_by_side"),
        is_optional=True,
    ),
    Metric(
        # The number of equally likely tokens.
        name="perplexity",
        label="perplexity",
        unit="tokens",
        better="lower",
        kind="ratio",
        value=readings.perplexity,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page", "side_by_side"),
        is_optional=True,
    ),
    Metric(
        name="time_to_accuracy",
        label="time to accuracy",
        unit="s",
        better="lower",
        kind="ratio",
        value=time_to_accuracy.seconds,
        run_sd=0.05,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page"),
        is_optional=True,
    ),
    Metric(
        name="epochs_to_accuracy",
        label="epochs to accuracy",
        unit="epochs",
        better="lower",
        kind="ratio",
        value=time_to_accuracy.epochs,
        run_sd=0.05,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page"),
        is_optional=True,
    ),
    Metric(
        name="reached_accuracy",
        label="reached accuracy",
        unit="share",
        better="higher",
        kind="points",
        value=time_to_accuracy.reached,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page"),
        is_optional=True,
    ),
    Metric(
        # As in DAWNBench: what the machine costs while the network trains, without evaluations.
        name="cost_to_accuracy",
        label="cost to accuracy",
        unit="currency",
        better="lower",
        kind="ratio",
        value=readings.cost_to_accuracy,
        run_sd=0.05,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("table", "page"),
        is_optional=True,
    ),
    Metric(
        name="cost",
        label="cost",
        unit="currency",
        better="lower",
        kind="ratio",
        value=readings.cost,
        default_views=("table", "page", "side_by_side"),
        is_optional=True,
    ),
    Metric(
        name="peak_rss",
        label="peak RSS",
        unit="bytes",
        better="lower",
        kind="ratio",
        value=readings.peak_rss,
        tolerance=0.02,
        # Where the kernel happens to place the heap decides whether glibc reuses memory or asks for more: PyTorch's
        # peak then differs by 10 to 17 MiB.
        least_change=16 * 2**20,
        # PyTorch's runs differ by 0.1 to 1 %, JAX's by 1 to 4 %, and by 11 % if they have only twenty steps.
        run_sd=0.015,
        session_sd=0.0025,
        # It is nearly deterministic.
        smallest_spread=0.002,
        is_robust=False,
        is_exact=True,
        default_views=("table", "page", "summary", "side_by_side", "history", "baseline", "scaling", "study", "gatech"),
    ),
    Metric(
        # Growth of the resident set over all steps after the warm-up.
        name="leak",
        label="leak",
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
        default_views=("table", "page"),
        is_optional=True,
    ),
    Metric(
        name="cpu_use",
        label="CPUs",
        cell=".2f",
        unit="cores",
        better="lower",
        kind="ratio",
        value=readings.cpu_use,
        default_views=("table", "page", "scaling", "gatech", "tartu"),
    ),
    Metric(
        name="peak_cpu_use",
        label="CPUs, peak",
        unit="cores",
        better="lower",
        kind="ratio",
        value=readings.peak_cpu_use,
        is_optional=True,
    ),
    Metric(
        name="user_share",
        label="user share",
        unit="share",
        better="lower",
        kind="points",
        value=readings.processors_share(lambda usage: usage.user_seconds),
        resolution=readings.tick_share,
        is_optional=True,
        default_views=("gatech",),
    ),
    Metric(
        name="system_share",
        label="system share",
        unit="share",
        better="lower",
        kind="points",
        value=readings.processors_share(lambda usage: usage.system_seconds),
        resolution=readings.tick_share,
        is_optional=True,
        default_views=("gatech",),
    ),
    Metric(
        name="iowait_share",
        label="I/O wait share",
        unit="share",
        better="lower",
        kind="points",
        value=readings.processors_share(readings.iowait_seconds),
        resolution=readings.tick_share,
        is_optional=True,
        default_views=("gatech",),
    ),
    Metric(
        name="mean_rss",
        label="mean RSS",
        unit="bytes",
        better="lower",
        kind="ratio",
        value=lambda run: float(readings.phase(run).rss_mean_bytes),
        default_views=("gatech", "tartu"),
    ),
    Metric(
        name="evaluation_time",
        label="evaluation",
        unit="s",
        better="lower",
        kind="ratio",
        value=lambda run: readings.evaluation_time(run) or None,
        purpose="training",
        is_optional=True,
        default_views=("gatech",),
    ),
    Metric(
        name="token_throughput",
        label="tokens/s",
        cell=",.0f",
        unit="tokens/s",
        better="higher",
        kind="ratio",
        value=readings.token_throughput,
        purpose="training",
        is_optional=True,
        is_of_steps=True,
    ),
    Metric(
        name="best_accuracy",
        label="best accuracy",
        unit="share",
        better="higher",
        kind="points",
        value=readings.best_accuracy,
        run_sd=0.28,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        is_portable=True,
        purpose="training",
        needs_whole_recipe=True,
    ),
    Metric(
        name="epochs_to_best",
        label="epoch of the best",
        unit="epochs",
        better="lower",
        kind="ratio",
        value=readings.epochs_to_best,
        run_sd=0.2,
        session_sd=0.0,
        is_robust=False,
        is_exact=True,
        purpose="training",
        needs_whole_recipe=True,
        is_optional=True,
    ),
    Metric(
        name="time_to_best",
        label="time of the best",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.time_to_best,
        run_sd=0.2,
        purpose="training",
        needs_whole_recipe=True,
        is_optional=True,
    ),
    Metric(
        name="training_time",
        label="training time",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.training_time,
        purpose="training",
        needs_whole_recipe=True,
        default_views=("study", "gatech", "tartu"),
    ),
    Metric(
        name="load_time",
        label="data loading",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.load_time,
        purpose="training",
        is_optional=True,
    ),
    Metric(
        name="input_wait",
        label="input wait",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.input_wait,
        purpose="training",
        is_optional=True,
        is_of_steps=True,
    ),
    *_of_loaders(),
    Metric(
        name="page_faults",
        label="page faults/step",
        unit="faults/step",
        better="lower",
        kind="ratio",
        value=readings.page_faults,
        purpose="training",
        is_optional=True,
    ),
    # Of data-parallel workers.
    Metric(
        name="exchange_share",
        label="exchange",
        unit="share",
        better="lower",
        kind="points",
        value=readings.exchange_share,
        is_absolute=True,
        purpose="training",
        default_views=("page", "scaling"),
        is_optional=True,
    ),
    Metric(
        name="exchanged",
        label="exchanged/step",
        unit="bytes",
        better="lower",
        kind="ratio",
        value=readings.exchanged,
        purpose="training",
        default_views=("page", "scaling"),
        is_optional=True,
    ),
    Metric(
        name="parameters",
        label="trained values",
        unit="values",
        better="lower",
        kind="ratio",
        value=readings.parameters,
        is_optional=True,
        is_exact=True,
        is_portable=True,
        deviation=0.0,
    ),
    # Rounding differs between machines by about 1e-5, in ten steps.
    Metric(
        name="first_loss",
        label="loss of the first 10 steps",
        unit="nats",
        better="lower",
        kind="ratio",
        value=readings.first_loss,
        run_sd=0.02,
        session_sd=0.0,
        is_robust=False,
        is_optional=True,
        is_exact=True,
        is_portable=True,
        deviation=1e-3,
        purpose="training",
    ),
    *_of_breakdowns(),
    _counted("operations", label="operations per step", unit="operations"),
    _counted("allocated_bytes", label="bytes allocated per step", unit="bytes"),
    _counted("compilations", label="compilations", unit="compilations"),
    _counted("recompilations", label="recompilations", unit="recompilations"),
    _counted("graph_breaks", label="graph breaks", unit="graph breaks"),
    _counted("instructions", label="instructions per step", unit="instructions", is_exact=False),
    Metric(
        name="flop_utilisation",
        label="FLOP utilisation",
        unit="share",
        better="higher",
        kind="ratio",
        value=lambda run: run.flop_utilisation,
        is_optional=True,
    ),
    Metric(
        name="machine_speed",
        label="machine speed",
        unit="GFLOP/s",
        better="higher",
        kind="ratio",
        value=readings.machine_speed,
        is_optional=True,
    ),
    Metric(
        name="energy",
        label="energy",
        unit="J",
        better="lower",
        kind="ratio",
        value=readings.energy,
        is_optional=True,
    ),
    Metric(
        name="gpu_energy",
        label="GPU energy",
        unit="J",
        better="lower",
        kind="ratio",
        value=readings.of_gpus("energy_joules", sum),
        is_optional=True,
    ),
    Metric(
        name="gpu_memory",
        label="GPU memory",
        unit="bytes",
        better="lower",
        kind="ratio",
        value=readings.of_gpus("memory_peak_bytes", max),
        is_optional=True,
        default_views=("tartu",),
    ),
    Metric(
        name="gpu_step_time",
        label="step on GPU",
        unit="s",
        better="lower",
        kind="ratio",
        value=readings.gpu_step_time,
        purpose="training",
        is_optional=True,
        is_of_steps=True,
    ),
    Metric(
        name="gpu_allocated",
        label="GPU allocated",
        unit="bytes",
        better="lower",
        kind="ratio",
        value=readings.allocated_on_gpu,
        purpose="training",
        is_optional=True,
    ),
    Metric(
        name="gpu_utilisation",
        label="GPU utilisation",
        unit="share",
        better="higher",
        kind="ratio",
        value=readings.of_gpus("utilisation", fmean),
        is_optional=True,
        default_views=("tartu",),
    ),
    Metric(
        name="peak_gpu_utilisation",
        label="GPU utilisation, peak",
        unit="share",
        better="higher",
        kind="ratio",
        value=readings.of_gpus("utilisation_peak", max),
        is_optional=True,
    ),
    Metric(
        name="gpu_power",
        label="GPU power",
        unit="W",
        better="lower",
        kind="ratio",
        value=readings.of_gpus("power_mean_watts", sum),
        is_optional=True,
    ),
    Metric(
        name="gpu_clock",
        label="GPU clock",
        unit="MHz",
        better="higher",
        kind="ratio",
        value=readings.of_gpus("sm_clock_mean_mhz", fmean),
        is_optional=True,
    ),
    Metric(
        name="gpu_temperature",
        label="GPU temperature",
        unit="°C",
        better="lower",
        kind="ratio",
        value=readings.of_gpus("temperature_peak_celsius", max),
        is_optional=True,
    ),
    Metric(
        name="gpu_throttled",
        label="GPU throttled",
        unit="share",
        better="lower",
        kind="points",
        value=readings.throttled,
        is_optional=True,
        is_absolute=True,
    ),
    Metric(
        name="samples_per_joule",
        label="samples/J",
        unit="samples/J",
        better="higher",
        kind="ratio",
        value=readings.samples_per_joule,
        is_optional=True,
    ),
)

HOOK = "pytest_dlbench_record"
"""Where most metrics that are not built in come from, as errors name it."""

METRICS: Metrics = MappingProxyType({metric.name: metric for metric in BUILT_IN})


def extended(metrics: Metrics, added: Iterable[Metric], where: str = HOOK) -> Metrics:
    """The metrics with those that hooks or marks add.

    Raises OptionError for a name that is taken, and for a metric whose right value, 0, is no figure of its kind.
    """
    found = dict(metrics)
    for metric in added:
        if metric.name in found:
            raise OptionError(f"{where}: there is a metric {metric.name!r} already; give yours another name")
        if metric.is_absolute and metric.kind == "ratio":
            raise OptionError(
                f"{where}: of the absolute metric {metric.name!r}, 0 is right, which is no ratio to anything: give it"
                ' kind="points"'
            )
        found[metric.name] = replace(metric, value=partial(_finite, metric.value)) if metric.value else metric
    return MappingProxyType(found)


def _finite(value: Callable[[Run], float | None], run: Run) -> float | None:
    """A hook's figure; a run has none where the hook returns NaN or infinity, which no journal can hold."""
    found = value(run)
    return found if found is None or isfinite(found) else None


def facts(metrics: Metrics) -> tuple[MetricFacts, ...]:
    """The facts of metrics that are not built in, which are stored with every record."""
    return tuple(
        MetricFacts(
            name=metric.name,
            unit=metric.unit,
            better=metric.better,
            kind=metric.kind,
            tolerance=metric.tolerance,
            least_change=metric.least_change,
            label=metric.label,
            views=metric.default_views,
            purpose=metric.purpose,
            run_sd=metric.run_sd,
            session_sd=metric.session_sd,
            smallest_spread=metric.smallest_spread,
            is_robust=metric.is_robust,
            is_absolute=metric.is_absolute,
            is_exact=metric.is_exact,
            is_counted=metric.is_counted,
            is_portable=metric.is_portable,
        )
        for metric in metrics.values()
        if metric.name not in METRICS
    )


def stored(records: Iterable[Record], known: Metrics | None = None) -> Metrics:
    """The known metrics, by default the built-in ones, and those whose facts are stored with these records.

    For metrics in several records the last one counts.
    """
    return described((one for record in records for one in record.metrics), known)


def described(given: Iterable[MetricFacts], known: Metrics | None = None) -> Metrics:
    """The known metrics, by default the built-in ones, and those that these facts describe."""
    # No file may redefine a metric of this version, nor one of this session's hooks.
    found = {one.name: _restored(one) for one in given if one.name not in METRICS}
    return MappingProxyType({**METRICS, **found, **(known or {})})


def _restored(known: MetricFacts) -> Metric:
    return Metric(
        name=known.name,
        unit=known.unit,
        better=known.better,
        kind=known.kind,
        value=lambda run: run.hooked.get(known.name),
        tolerance=known.tolerance,
        least_change=known.least_change,
        label=known.label,
        # A later version may have views that this one does not know.
        default_views=cast("tuple[View, ...]", tuple(view for view in known.views if view in get_args(View))),
        purpose=known.purpose,
        run_sd=known.run_sd,
        session_sd=known.session_sd,
        smallest_spread=known.smallest_spread,
        is_robust=known.is_robust,
        is_absolute=known.is_absolute,
        is_exact=known.is_exact,
        is_counted=known.is_counted,
        is_portable=known.is_portable,
        is_optional=True,
    )


def shown_in(view: View, metrics: Metrics) -> tuple[Metric, ...]:
    """The metrics that a view shows by default, in their order."""
    return tuple(metric for metric in metrics.values() if view in metric.default_views)


def of_purpose(tolerances: Mapping[str, float], purpose: Purpose, metrics: Metrics) -> dict[str, float]:
    """The tolerances of metrics that runs of this purpose have."""
    return {name: amount for name, amount in tolerances.items() if metrics[name].purpose in (None, purpose)}


def hooked(run: Run, metrics: Metrics) -> dict[str, float]:
    """The values of hooks' metrics for a finished run, which are stored with it."""
    found = {name: metric.read(run) for name, metric in metrics.items() if name not in METRICS}
    return {name: value for name, value in found.items() if value is not None}


def read_all(runs: Sequence[Run]) -> dict[str, tuple[float, ...]]:
    """The values of every metric that all runs have; the runs must have finished.

    Built-in metrics are computed from the runs, those of hooks were stored with them.
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
    """The median of each metric over the runs; for an unfinished case, over the finished runs."""
    finished = [run for run in runs if run.has_figures]
    return {name: median(values) for name, values in read_all(finished).items()} if finished else {}
