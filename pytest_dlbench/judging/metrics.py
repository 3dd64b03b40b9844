"""What is read off a run, and how it is compared."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean, median, quantiles
from typing import Literal

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging.warm_up import warm_up
from pytest_dlbench.records import Evaluation, Run, Training


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a run.

    ``kind`` says how two of them are compared: as a ratio, or as a difference in percentage points. ``run_sd`` and
    ``session_sd`` are what is assumed of the spread of fresh processes and of sessions (log units, or points) until it
    is measured: the run's has four degrees of freedom beside the data, the session's is added for either side.
    ``is_robust`` pulls single runs in that are far from the others: right for time, which neighbours disturb, and wrong
    where a single bad run is the finding. Without a ``tolerance`` a metric is reported and not judged. ``value`` gives
    None for a run that has no such figure: then no run of its case has. ``is_shown`` gives it a column in the table.
    """

    name: str
    unit: str
    better: Literal["lower", "higher"]
    kind: Literal["ratio", "points"]
    value: Callable[[Run], float | None]
    tolerance: float | None = None
    run_sd: float = 0.015
    # Two sessions of the same code in a row, on a shared machine of two cores: eight cases differed by 2.7 % (root mean
    # square), which is √2 of this.
    session_sd: float = 0.02
    is_robust: bool = True
    is_shown: bool = False

    def figure(self, run: Run) -> float:
        """What the run has, NaN for one that has none."""
        found = self.value(run)
        return nan if found is None else found


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
    training = _training(run)
    timed = training.step_seconds[1:] or training.step_seconds
    return training.batch_size * len(timed) / sum(timed)


def _first_step(run: Run) -> float:
    return _training(run).step_seconds[0]


def _import_time(run: Run) -> float:
    return run.import_seconds or 0.0


def _build_time(run: Run) -> float:
    return run.build_seconds or 0.0


def _accuracy(run: Run) -> float:
    evaluation = _evaluation(run)
    return evaluation.correct / evaluation.examples


def _peak_rss(run: Run) -> float:
    return float(max(usage.rss_peak_bytes for usage in run.usage.values()))


def _cpu_use(run: Run) -> float:
    usage = run.usage["train"]
    return (usage.user_seconds + usage.system_seconds) / usage.wall_seconds


def _load_time(run: Run) -> float | None:
    return _training(run).load_seconds


def _page_faults(run: Run) -> float | None:
    faults = run.usage["train"].minor_faults
    return None if faults is None else faults / len(_training(run).step_seconds)


def _machine_speed(run: Run) -> float | None:
    return run.speed.flops_per_second / 1e9 if run.speed else None


def _energy(run: Run) -> float | None:
    readings = run.usage["train"].readings
    found = [readings[name] for name in ("package_joules", "dram_joules") if name in readings]
    return sum(found) if found else None


def _of_cards(field: str, together: Callable[[Iterable[float]], float]) -> Callable[[Run], float | None]:
    def value(run: Run) -> float | None:
        found = [getattr(gpu, field) for gpu in run.usage["train"].gpus]
        return together(found) if found and None not in found else None

    return value


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        # The 10 % quantile is what the computation costs; neighbours on the machine move the median far more
        # (measured between sessions: -3 % against +91 %), which therefore is reported and not judged alone.
        Metric(name="step_time", unit="s", better="lower", kind="ratio", value=_step_time, tolerance=0.05),
        Metric(name="step_time_median", unit="s", better="lower", kind="ratio", value=_step_time_median),
        Metric(name="throughput", unit="samples/s", better="higher", kind="ratio", value=_throughput),
        Metric(name="first_step", unit="s", better="lower", kind="ratio", value=_first_step, run_sd=0.05),
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
        Metric(name="load_time", unit="s", better="lower", kind="ratio", value=_load_time),
        Metric(name="page_faults", unit="faults/step", better="lower", kind="ratio", value=_page_faults),
        Metric(
            name="flop_utilisation",
            unit="share",
            better="higher",
            kind="ratio",
            value=lambda run: run.flop_utilisation,
        ),
        Metric(name="machine_speed", unit="GFLOP/s", better="higher", kind="ratio", value=_machine_speed),
        Metric(name="energy", unit="J", better="lower", kind="ratio", value=_energy),
        Metric(name="gpu_energy", unit="J", better="lower", kind="ratio", value=_of_cards("energy_joules", sum)),
        Metric(
            name="gpu_memory", unit="bytes", better="lower", kind="ratio", value=_of_cards("memory_peak_bytes", max)
        ),
        Metric(
            name="gpu_utilisation", unit="share", better="higher", kind="ratio", value=_of_cards("utilisation", fmean)
        ),
    )
}


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


def read_all(runs: Sequence[Run]) -> dict[str, tuple[float, ...]]:
    """Every metric that all runs have, of each of them; the runs must have finished."""
    found = {name: [metric.value(run) for run in runs] for name, metric in METRICS.items()}
    return {
        name: tuple(value for value in values if value is not None)
        for name, values in found.items()
        if None not in values
    }


def summarise(runs: Sequence[Run]) -> dict[str, float]:
    """The median over the runs of each metric; of a case that did not finish, what is there."""
    finished = [run for run in runs if run.training and run.evaluation]
    return {name: median(values) for name, values in read_all(finished).items()} if finished else {}
