"""Valid records to start from: each function returns one, with the given changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from pytest_dlbench.judging import METRICS, stored_baseline
from pytest_dlbench.model.operators import PASSES
from pytest_dlbench.records import (
    Baseline,
    BaselineSession,
    Case,
    CaseOutcome,
    CaseResult,
    Context,
    Evaluation,
    Inference,
    Machine,
    MachineSpeed,
    Operation,
    OperatorPass,
    Record,
    Run,
    RunOutcome,
    Search,
    Training,
    Trial,
    Usage,
    Verdict,
    VerdictOutcome,
)
from pytest_dlbench.records.reasons import Compared, InPairs, MoveReference, Reference, Repeat
from pytest_dlbench.records.searches import curve_of

MIB = 2**20
TEST_EXAMPLES = 10_000
STEPS = 50
RECIPE: Mapping[str, Any] = {
    "batch_size": 64,
    "epochs": 15,
    "init": "glorot",
    "optimizer": {"kind": "sgd", "learning_rate": 0.01, "momentum": 0.9},
    "precision": "float32",
}
VERSIONS = {"python": "3.11.7", "numpy": "2.4.6", "torch": "2.12.0"}


def machine(**changes: Any) -> Machine:
    usual = Machine(name="linux-acme-2cores-8gib", cpu_model="Acme 9000", cores=2, memory_gib=8.0, os_family="linux")
    return replace(usual, **changes)


def case(name: str = "training-pytorch-mnist-cnn-digits28-cpu-quick", **changes: Any) -> Case:
    usual = Case(
        id=name, framework="pytorch", model="mnist-cnn", dataset="digits28", device="cpu", scale="quick", threads=2
    )
    return replace(usual, **changes)


def context(**changes: Any) -> Context:
    usual = Context(
        machine=machine(),
        network_digest="5d806ee3711cedb8",
        dataset_digest="63bf5a2fc100bc0f",
        batch_size=64,
        steps=STEPS,
        precision="float32",
        init="glorot",
    )
    return replace(usual, **changes)


def training(step_seconds: Sequence[float] = (0.01,) * STEPS, batch_size: int = 64) -> Training:
    return Training(
        step_seconds=tuple(step_seconds),
        losses=(2.3,) * len(step_seconds),
        examples=batch_size * len(step_seconds),
        batch_size=batch_size,
        load_seconds=0.02,
    )


def evaluation(accuracy: float = 0.95) -> Evaluation:
    return Evaluation(seconds=0.5, examples=TEST_EXAMPLES, correct=round(accuracy * TEST_EXAMPLES), loss=0.2)


def inferred(batch_seconds: Sequence[float] = (0.5, 0.1, 0.1), batch_size: int = 8) -> Run:
    """A finished run of inference."""
    inference = Inference(
        batch_seconds=tuple(batch_seconds),
        examples=batch_size * len(batch_seconds),
        batch_size=batch_size,
        output=(2048,),
    )
    phases = {"hello": usage(), "build": usage(), "infer": usage()}
    return run(training=None, evaluation=None, inference=inference, usage=phases)


def operated(seconds: Sequence[float] = (0.5, 0.1, 0.1), passes: Sequence[str] = PASSES) -> Run:
    """A finished run of a single operator."""
    one = OperatorPass(seconds=tuple(seconds), flops=2e9, least_bytes=1e8, deviation=1e-7)
    operation = Operation(passes=dict.fromkeys(passes, one), probes={"gemm": 0.04}, probe_flops={"gemm": 1e9})
    phases = {"hello": usage(), "prepare": usage(), "operate": usage()}
    return run(training=None, evaluation=None, operation=operation, usage=phases)


def usage(**changes: Any) -> Usage:
    usual = Usage(
        wall_seconds=2.0,
        user_seconds=3.0,
        system_seconds=0.5,
        rss_mean_bytes=400 * MIB,
        rss_peak_bytes=500 * MIB,
        samples=10,
        minor_faults=5000,
    )
    return replace(usual, **changes)


def run(seed: int = 1, *, step: float = 0.01, accuracy: float = 0.95, peak_mib: float = 500, **changes: Any) -> Run:
    """A finished run whose every step takes the same time."""
    usual = Run(
        case=case().id,
        index=seed - 1,
        seed=seed,
        outcome=RunOutcome.FINISHED,
        began="2026-11-21T02:14:05+00:00",
        wall_seconds=4.0,
        versions=VERSIONS,
        parameters={"fc1.weight": (800, 500), "fc1.bias": (500,)},
        import_seconds=0.8,
        build_seconds=0.1,
        training=training((step,) * STEPS),
        evaluation=evaluation(accuracy),
        usage={"train": usage(rss_peak_bytes=round(peak_mib * MIB))},
        speed=MachineSpeed(threads=2, precision="float32", flops_per_second=9e10, copied_bytes_per_second=8e9),
        flop_utilisation=0.25,
    )
    return replace(usual, **changes)


def unfinished(outcome: RunOutcome, message: str = "it went wrong", **changes: Any) -> Run:
    return run(outcome=outcome, message=message, training=None, evaluation=None, **changes)


def runs(
    *,
    steps: Sequence[float] = (0.01, 0.01, 0.01),
    accuracies: Sequence[float] = (0.95, 0.95, 0.95),
    peaks_mib: Sequence[float] = (500, 500, 500),
) -> tuple[Run, ...]:
    """Finished runs with the seeds 1, 2, 3 …"""
    rows = zip(steps, accuracies, peaks_mib, strict=True)
    return tuple(run(seed, step=s, accuracy=a, peak_mib=p) for seed, (s, a, p) in enumerate(rows, start=1))


def record(of: Sequence[Run] = (), **changes: Any) -> Record:
    return replace(Record(case=case(), context=context(), recipe=RECIPE, runs=tuple(of) or runs()), **changes)


def baseline_session(of: Sequence[Run] = (), name: str = "20261120T100000", **changes: Any) -> BaselineSession:
    usual = stored_baseline.session_of(
        record(of), name=name, saved="2026-11-20T10:00:00+00:00", reason="first baseline", metrics=METRICS
    )
    return replace(usual, **changes)


def baseline(of: Sequence[Run] = (), **changes: Any) -> Baseline:
    """A baseline of one session, which is its own reference session."""
    return replace(stored_baseline.appended(None, record(of), baseline_session(of)), **changes)


def baseline_of(*sessions: Sequence[Run], **changes: Any) -> Baseline:
    """A baseline of several sessions, the first of which is the reference session."""
    named = tuple(baseline_session(of, name=f"202611{day:02}T100000") for day, of in enumerate(sessions, start=1))
    return replace(baseline(sessions[-1]), **{"sessions": named, "anchor": named[0].id, **changes})


def verdict(**changes: Any) -> Verdict:
    usual = Verdict(
        metric="step_time",
        outcome=VerdictOutcome.REGRESSED,
        old=0.010,
        new=0.012,
        change=1.2,
        lower=1.15,
        upper=1.25,
        tolerance=0.05,
    )
    return replace(usual, **changes)


def again(**changes: Any) -> Repeat:
    node = "bench/test_training.py::test_training[pytorch-mnist-cnn-digits28-cpu]"
    return structs.replace(Repeat(node=node, flags=("--dlbench-scale=smoke",)), **changes)


def in_pairs(**changes: Any) -> InPairs:
    return structs.replace(InPairs(framework="pytorch", versions=("2.12.0", "2.13.0")), **changes)


def reference(**changes: Any) -> Reference:
    move = MoveReference(baselines="baselines")
    return structs.replace(Reference(saved="2026-11-01T10:00:00+00:00", why="the start", move=move), **changes)


def compared(**changes: Any) -> Compared:
    usual = Compared(
        saved="2026-11-20T10:00:00+00:00", why="first baseline", sessions=1, reference=reference(), again=again()
    )
    return structs.replace(usual, **changes)


def case_result(**changes: Any) -> CaseResult:
    usual = CaseResult(
        case=case(),
        outcome=CaseOutcome.PASSED,
        runs=3,
        figures={
            "step_time": 0.010,
            "step_time_median": 0.011,
            "throughput": 5800.0,
            "first_step": 0.05,
            "accuracy": 0.95,
            "peak_rss": 500.0 * MIB,
            "cpu_use": 1.75,
        },
    )
    return replace(usual, **changes)


def search(seconds: float = 8.0, gain: float = 0.1) -> Search:
    """Three trials that take as many seconds each, of which the second one failed."""
    outcomes = (RunOutcome.FINISHED, RunOutcome.OUT_OF_MEMORY, RunOutcome.FINISHED)
    trials = tuple(
        Trial(
            case=f"trial{number}",
            settings={"width": 8},
            outcome="finished" if outcome is RunOutcome.FINISHED else "failed",
            run_outcome=outcome,
            cpu_seconds=seconds,
            wall_seconds=seconds / 2,
            cpu_total=seconds * (1 + number),
            wall_total=seconds * (1 + number) / 2,
            accuracy=0.5 + gain * number if outcome is RunOutcome.FINISHED else None,
        )
        for number, outcome in enumerate(outcomes)
    )
    curve = tuple(curve_of(trials))
    return Search(
        engine="random", space="planted", budget_seconds=30.0, trials=trials, winner=2, ended="budget", curve=curve
    )


def searched() -> Run:
    """A run of the winner of such a search."""
    return replace(run(), search=search())
