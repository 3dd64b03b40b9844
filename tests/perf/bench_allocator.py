"""The effect of the two memory allocation policies on training (docs/explanation/measurement.md)."""

from dataclasses import replace
from functools import partial
from statistics import median

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import METRICS
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.launch import ALLOCATORS
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import REPLAYED, interleaved, median_ratio, replay

MODEL, DATASET = "tartu-mnist-cnn", "digits28"
ROUNDS, STEPS = 10, 60
DEFAULT_FRAMEWORKS = ("pytorch",)
METRIC = {name: METRICS[name].figure for name in ("step_time", "step_time_median", "page_faults")}

pytestmark = [
    pytest.mark.benchmark(group="a step: memory allocation", timer=REPLAYED.now),
    pytest.mark.usefixtures("processors"),
]


def cpu_seconds(run: Run) -> float:
    """Processor time of training, which other load affects less than wall time."""
    phase = run.usage["train"]
    return phase.user_seconds + phase.system_seconds


def read(spec: NetworkSpec) -> dict[str, float]:
    """The measurements of one run."""
    run = train_once(spec, 0)
    if run.outcome is not RunOutcome.FINISHED or run.training is None:
        raise DlbenchError(f"{spec.case.id}: {run.outcome}: {problems.of_run(run)}")
    return {
        **{name: value(run) for name, value in METRIC.items()},
        "cpu_step": cpu_seconds(run) / len(run.training.step_seconds),
        "kernel": run.usage["train"].system_seconds / cpu_seconds(run),
        "foreign": run.usage["train"].foreign_cpus,
    }


@pytest.fixture(scope="module")
def figures(pytestconfig, framework, progress, conclude):
    """The measurements of every run, by policy."""
    threads, steps = pytestconfig.getoption("threads"), pytestconfig.getoption("steps") or STEPS
    settings = RunSettings(machine=this_machine(), scale="full", threads=threads, seed=1, timeout_seconds=600.0)
    model, dataset = MODELS[MODEL].for_input(DATASETS[DATASET].shape), DATASETS[DATASET]
    spec = settings.spec(FRAMEWORKS[framework], model, dataset, DEVICES["cpu"], label="allocator", steps=steps)
    if isinstance(spec.place, Absent):
        pytest.skip(spec.place.reason)

    def run(policy):
        found = read(replace(spec, allocator=policy))
        progress(f"{policy}: {', '.join(f'{key} {value:.4g}' for key, value in found.items())}")
        return found

    sides = {policy: partial(run, policy) for policy in ALLOCATORS}
    found = interleaved(sides, pytestconfig.getoption("rounds") or ROUNDS)
    of = {policy: {key: [run[key] for run in runs] for key in runs[0]} for policy, runs in found.items()}
    for key in ("step_time", "step_time_median", "cpu_step"):
        conclude(f"{framework}, {key}, default / tuned: {median_ratio(of['default'][key], of['tuned'][key])}")
    return of


@pytest.mark.parametrize("policy", sorted(ALLOCATORS))
def bench_allocator(benchmark, figures, framework, policy):
    """Seconds per step (10 % quantile): one round is a run of 60 steps of tartu-mnist-cnn with its own recipe.

    All runs have the same seed and one policy of ``--dlbench-allocator`` each, 10 rounds interleaved. Page faults per
    step, the kernel's share of processor time and the load of other processes are in the conclusions and
    ``extra_info``.
    """
    replay(benchmark, figures[policy]["step_time"])
    medians = {key: median(values) for key, values in figures[policy].items()}
    benchmark.extra_info.update(medians)
