"""pytest-benchmark's JSON: the step time of each case, or the latency of inference, one round per run."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean, median, quantiles, stdev
from typing import Any

from pytest_dlbench import judging
from pytest_dlbench.records import Machine
from pytest_dlbench.reporting import foreign
from pytest_dlbench.storing.recorded import Recorded

# The version of pytest-benchmark whose files these imitate; it reads any version whose fields it knows.
VERSION = "5.1.0"


def write(recorded: Sequence[Recorded]) -> bytes:
    """A session as pytest-benchmark stores one. Cases without a finished run are omitted: it has no field for them."""
    document = {
        "machine_info": _machine_info(recorded[0].record.context.machine) if recorded else {},
        "commit_info": {"id": "unknown", "dirty": False, "branch": "(unknown)"},
        "benchmarks": [found for case in recorded if (found := _benchmark(case))],
        "datetime": datetime.now(UTC).isoformat(),
        "version": VERSION,
    }
    return foreign.json_file(document)


def _machine_info(machine: Machine) -> dict[str, Any]:
    """What pytest-benchmark compares machines by, and what else its own sessions have."""
    return {
        "node": machine.name,
        "system": platform.system(),
        "machine": platform.machine(),
        "python_implementation": platform.python_implementation(),
        "python_version": platform.python_version(),
        "cpu": {"brand_raw": machine.cpu_model, "count": machine.cores},
    }


def _benchmark(recorded: Recorded) -> dict[str, Any] | None:
    case = recorded.record.case
    summaries = [judging.summarise([run]) for run in recorded.record.runs]
    timed = "step_time" if any("step_time" in found for found in summaries) else "latency"
    by_run = [found for found in summaries if found.get(timed)]
    if not by_run:
        return None
    params = {
        "framework": case.framework,
        "model": case.model,
        "dataset": case.dataset,
        "device": case.device,
        "threads": case.threads,
        **case.settings,
    }
    return {
        "group": f"{case.model}-{case.dataset}-{case.device}",
        "name": case.id,
        "fullname": case.id,
        "params": params,
        "param": case.id,
        "extra_info": {
            "outcome": recorded.result.outcome.value,
            "invalid_runs": sum(bool(run.invalid) for run in recorded.record.runs),
            "metric": timed,
            **{name: [found[name] for found in by_run if name in found] for name in recorded.result.figures},
        },
        "options": {"disable_gc": False, "timer": "monotonic", "min_rounds": len(by_run), "warmup": False},
        "stats": _stats([found[timed] for found in by_run]),
    }


def _stats(seconds: Sequence[float]) -> dict[str, Any]:
    """All fields that pytest-benchmark knows, in seconds; a single round has no spread."""
    q1, _, q3 = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else (seconds[0],) * 3
    middle, spread = fmean(seconds), stdev(seconds) if len(seconds) > 1 else 0.0
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    near = [value for value in seconds if low <= value <= high]
    far_from_mean = sum(abs(value - middle) > spread for value in seconds)
    return {
        "min": min(seconds),
        "max": max(seconds),
        "mean": middle,
        "stddev": spread,
        "rounds": len(seconds),
        "median": median(seconds),
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": len(seconds) - len(near),
        "stddev_outliers": far_from_mean,
        "outliers": f"{far_from_mean};{len(seconds) - len(near)}",
        "ld15iqr": min(near),
        "hd15iqr": max(near),
        "ops": 1 / middle,
        "total": sum(seconds),
        "data": list(seconds),
        "iterations": 1,
    }
