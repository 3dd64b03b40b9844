"""Judged cases to draw, in addition to ``records``: their journal entries, and journals of many."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_dlbench.judging import summarise
from pytest_dlbench.records import (
    Breakdown,
    CaseOutcome,
    CurvePoint,
    GpuUsage,
    LayerSeconds,
    MachineSpeed,
    Pairing,
    RunOutcome,
    StepWork,
    Timeline,
)
from pytest_dlbench.records.reasons import Unfinished
from pytest_dlbench.reporting.charts.measured import Judged, Measured, named
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records

SESSION = "20261121T114113-7501"


def judged(
    framework: str = "pytorch",
    model: str = "tartu-mnist-cnn",
    *,
    step: float = 0.01,
    spread: float = 0.0,
    runs: int = 3,
    session: str = SESSION,
    steps: int = 50,
    accuracy: float = 0.95,
    settings: Mapping[str, Any] | None = None,
    name: str = "",
    result: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    **case: Any,
) -> Judged:
    """A finished case whose runs take about ``step`` seconds per step, and ten times as long for the first."""
    changes = {"framework": framework, "model": model, "settings": settings or {}, **case}
    parts = [f"{key}{value}" for key, value in (settings or {}).items()]
    parts += [f"threads{case['threads']}"] if "threads" in case else []
    parts += [f"workers{case['workers']}"] if "workers" in case else []
    of = records.case(name or "-".join(("training", framework, model, "digits28-cpu", *parts)), **changes)
    found = tuple(_run(of.id, index, step * (1 + spread * index), steps, accuracy) for index in range(runs))
    return Judged(
        session=session,
        result=records.case_result(case=of, runs=runs, figures=summarise(found), **(result or {})),
        runs=found,
        context=records.context(**(context or {})),
    )


def _run(case: str, index: int, step: float, steps: int, accuracy: float) -> Any:
    seconds = (10 * step, *(step,) * (steps - 1))
    names = ("hello", "build", "train", "evaluate", "close")
    usage = {name: records.usage(began_seconds=3.0 * place) for place, name in enumerate(names)}
    usage["train"] = replace(usage["train"], gpus=(GpuUsage(name="Acme G1", uuid="1", utilisation=0.5),))
    whole = records.run(index + 1, accuracy=accuracy, case=case, usage=usage)
    curve = tuple(
        CurvePoint(step=share * steps // 2, epoch=share / 2, seconds=share * steps * step / 2, accuracy=value, loss=0.3)
        for share, value in ((1, accuracy / 2), (2, accuracy))
    )
    return replace(
        whole,
        curve=curve,
        training=records.training(seconds),
        timeline=Timeline(
            seconds=(1.0, 2.5, 7.0),
            rss_bytes=(records.MIB, 2 * records.MIB, 3 * records.MIB),
            cpu_seconds=(0.5, 0.5, 9.5),
        ),
        speed=MachineSpeed(threads=2, precision="float32", flops_per_second=2e11, copied_bytes_per_second=1e10),
        flop_utilisation=0.25,
        work=StepWork(flops=5e8, least_bytes=1e7),
    )


def inferred(framework: str = "pytorch", model: str = "thesis-resnet-50", *, batch: float = 0.1) -> Judged:
    """A case of inference in three runs."""
    of = records.case(f"inference-{framework}-{model}-synthetic-cpu", framework=framework, model=model)
    found = tuple(
        replace(records.inferred((0.5, batch, 1.1 * batch)), case=of.id, index=index, seed=index + 1)
        for index in range(3)
    )
    result = records.case_result(case=of, figures=summarise(found))
    return Judged(session=SESSION, result=result, runs=found, context=records.context())


def searched(framework: str = "pytorch", *, gain: float = 0.1) -> Judged:
    """Two searches, each with three trials, of which the second one failed."""
    found = judged(framework, "planted", runs=2, name=f"search-random-30s-{framework}-planted-digits-cpu")
    runs = tuple(replace(run, search=records.search(8.0 + run.index, gain)) for run in found.runs)
    return replace(found, runs=runs, result=replace(found.result, figures=summarise(runs)))


def divided(framework: str = "pytorch") -> Judged:
    """A case whose steps were divided into their phases after training."""
    found = judged(framework, "divided", name=f"training-{framework}-divided-digits28-cpu")
    phases = {"forward": (0.003, 0.003), "backward": (0.006, 0.006), "update": (0.001, 0.001)}
    layers = (("conv1", "conv2d", 0.002, 0.005), ("fc1", "dense", 0.0005, 0.001), ("loss", "loss", 0.0005, 0.001))
    breakdown = Breakdown(
        step_seconds=(0.01, 0.01),
        phase_seconds=phases,
        layers=tuple(
            LayerSeconds(name=name, kind=kind, forward_seconds=(forward,) * 2, backward_seconds=(backward,) * 2)
            for name, kind, forward, backward in layers
        ),
    )
    runs = tuple(replace(run, breakdown=breakdown) for run in found.runs)
    return replace(found, runs=runs, result=replace(found.result, figures=summarise(runs)))


def workloads(count: int, frameworks: Iterable[str] = ("jax", "mxnet", "pytorch")) -> list[Judged]:
    """A number of networks on which each framework is slower than the previous one."""
    return [
        judged(framework, f"net-{number}", step=0.01 * (1 + place), runs=1, steps=12)
        for number in range(count)
        for place, framework in enumerate(frameworks)
    ]


def session(number: int, step: float = 0.01, *, versions: Mapping[str, str] | None = None) -> Judged:
    """The same case, measured on another day."""
    found = judged(session=f"session-{number}", step=step)
    began = f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T02:00:00+00:00"
    runs = tuple(replace(run, began=began, versions=versions or run.versions) for run in found.runs)
    return replace(found, runs=runs)


def unfinished(framework: str = "jax", model: str = "tartu-mnist-cnn", message: str = "the loss became nan") -> Judged:
    """A case whose first run diverged."""
    of = records.case(f"training-{framework}-{model}-digits28-cpu", framework=framework, model=model)
    run = records.unfinished(RunOutcome.DIVERGED, message, case=of.id)
    reason = Unfinished(index=run.index, seed=run.seed, outcome=run.outcome, message=message)
    result = records.case_result(case=of, outcome=CaseOutcome.DIVERGED, reasons=(reason,), runs=1, figures={})
    return Judged(session=SESSION, result=result, runs=(run,), context=records.context())


def measured(*cases: Judged) -> tuple[Measured, ...]:
    """The cases of a report."""
    return named(cases)


def write(journal: Journal, cases: Iterable[Judged]) -> None:
    """A journal as written by a session."""
    for case in cases:
        for run in case.runs:
            journal.append(Entry(run=run, context=case.context))
        journal.append(Entry(result=case.result))


def both_sides(
    old: str = "pytorch==2.12.0",
    new: str = "pytorch==2.13.0",
    *,
    model: str = "tartu-mnist-cnn",
    step: float = 0.01,
    settings: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
    **result: Any,
) -> tuple[Judged, Judged]:
    """A case that ran in pairs: its baseline side, whose steps take 0.01 s, and its candidate."""
    baseline = judged(old, model, settings=settings[0], result={"outcome": CaseOutcome.NO_BASELINE})
    candidate = judged(new, model, settings=settings[1], step=step)
    pairing = Pairing(
        old=baseline.result.case, screened=3, confirmed=0, alpha=0.01, new_first=(True, False, True), reasons={}
    )
    return (
        replace(baseline, result=replace(baseline.result, pairing=pairing), is_baseline=True),
        replace(candidate, result=replace(candidate.result, pairing=pairing, **result)),
    )


def write_pairs(journal: Journal, sides: tuple[Judged, Judged]) -> None:
    """The journal of a case that ran in pairs."""
    for pair in zip(*(side.runs for side in sides), strict=True):
        for run in pair:
            journal.append(Entry(run=run, context=sides[1].context))
    journal.append(Entry(result=sides[1].result))
