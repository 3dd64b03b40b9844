"""What the two policies of memory allocation do to a training: ``python -m tests.perf.allocator --pairs 10``.

The same training in fresh processes of the same seed, once under each policy, in pairs of alternating order. It prints
step times, page faults a step and the kernel's share of processor time, and the ratio of default over tuned.
"""

import argparse
from dataclasses import replace
from statistics import median

from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.judging import METRICS
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running import devices
from pytest_dlbench.running.launch import ALLOCATORS
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.zoo import MODELS
from tests.perf.pairs import median_ratio

METRIC = {name: METRICS[name].figure for name in ("step_time", "step_time_median", "page_faults")}


def cpu_seconds(run: Run) -> float:
    """Processor time of training, which neighbours stretch less than the clock's."""
    phase = run.usage["train"]
    return phase.user_seconds + phase.system_seconds


def read(spec: RunSpec) -> dict[str, float]:
    """The figures of one run."""
    run = train_once(spec, 0)
    if run.outcome is not RunOutcome.FINISHED:
        raise SystemExit(f"{spec.case.id}: {run.outcome}: {run.message}")
    return {
        **{name: value(run) for name, value in METRIC.items()},
        "cpu_step": cpu_seconds(run) / len(run.training.step_seconds) if run.training else 0.0,
        "kernel": run.usage["train"].system_seconds / cpu_seconds(run),
        "foreign": run.usage["train"].foreign_cpus,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", default="pytorch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=10)
    asked = parser.parse_args()
    settings = RunSettings(machine=this_machine(), scale="full", threads=asked.threads, seed=1, timeout_seconds=600.0)
    model = MODELS["tartu-mnist-cnn"].for_input(DATASETS["digits28"].shape)
    spec = settings.spec(
        FRAMEWORKS[asked.framework], model, DATASETS["digits28"], DEVICES["cpu"], label="allocator", steps=asked.steps
    )
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ALLOCATORS}
    with devices.held("cpu", lambda: print("waiting: another session measures on this machine", flush=True)):
        for pair in range(asked.pairs):
            for name in list(ALLOCATORS)[:: 1 if pair % 2 else -1]:
                found[name].append(read(replace(spec, allocator=name)))
                shown = ", ".join(f"{key} {value:.4g}" for key, value in found[name][-1].items())
                print(f"pair {pair + 1}, {name}: {shown}", flush=True)
    for name, figures in found.items():
        print(name, {key: f"{median(figure[key] for figure in figures):.4g}" for key in figures[0]})
    for key in ("step_time", "step_time_median", "cpu_step"):
        sides = ([figure[key] for figure in found[name]] for name in ("default", "tuned"))
        print(f"{key}, default / tuned: {median_ratio(*sides)}")


if __name__ == "__main__":
    main()
