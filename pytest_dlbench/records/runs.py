"""One run in a fresh process, and all runs of a case."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_dlbench.records.breakdowns import Breakdown
from pytest_dlbench.records.cases import Case, Context
from pytest_dlbench.records.equivalence import Certificate
from pytest_dlbench.records.kernels import RecurrentKernel
from pytest_dlbench.records.metrics import MetricFacts
from pytest_dlbench.records.operations import Operation
from pytest_dlbench.records.outcomes import RunOutcome
from pytest_dlbench.records.problems import Problem
from pytest_dlbench.records.programs import Program, Reported
from pytest_dlbench.records.reasons import Trouble
from pytest_dlbench.records.searches import Search
from pytest_dlbench.records.trainings import (
    Checkpoint,
    Contention,
    CurvePoint,
    Evaluation,
    Inference,
    Length,
    StepCheck,
    Training,
    UpdateCheck,
    Validation,
    WarmUp,
)
from pytest_dlbench.records.usages import Timeline, Usage

# A larger ``core_variation`` shows that the speed of a core changes: observed on one that guests of a virtual machine's
# host share are 1.4 to 2.3, because work takes 1 or 2 times its shortest time there.
STEADY_CORES = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpeed:
    """The speed of this machine in a fresh process: the best of a few repetitions.

    Of processors it is NumPy's. ``launch_seconds`` is the time of the smallest operation; None in files older than this
    field. Of a GPU it is that of a large product in the framework of the run, with its precision and settings, and only
    ``flops_per_second`` is measured; ``published_flops_per_second`` is that of its data sheet, None for processors and
    for GPUs that are not in the table.
    """

    threads: int
    precision: str
    flops_per_second: float
    copied_bytes_per_second: float | None = None
    launch_seconds: float | None = None
    published_flops_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """The work of one training step, computed from the network rather than measured.

    ``flops`` are floating-point operations. ``least_bytes`` is the minimum that a step moves if nothing stays in a
    cache (``model.traffic``).
    """

    flops: float
    least_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeDevice:
    """What a framework reports to have computed on: "gpu" or "cpu", and its name, which not every framework knows."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerShare:
    """What one of several data-parallel workers had and used: its processors, and its part of the training phase.

    ``cores`` are those that the kernel lets its process use. ``cpu_seconds`` is processor time, and ``rss_peak_bytes``
    resident memory, both of its process and its children.
    """

    cores: tuple[int, ...]
    cpu_seconds: float
    rss_peak_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What data-parallel workers did together. ``join_seconds`` is how long they took to meet.

    ``alone_seconds`` are those of steps after training without any exchange, on all workers at once; empty if the
    framework cannot take them.
    """

    join_seconds: float | None = None
    alone_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training, inference or single operator in a fresh process: the unit of every statistic.

    ``problem`` is what went wrong; ``message`` is what others said instead (a framework, a program, an operating
    system), in documents the sentence about the problem, and in files older than ``problem`` any sentence.
    ``device`` is what the framework computed on, None if it cannot use GPUs, or in files older than this field.
    ``threads`` is the number of CPU threads that the framework reports, None if it reports none; ``cores`` are the
    processors that the kernel lets its process use, read after the framework is imported. ``compiled`` is "cold" for a
    run that left compiled code in its environment's folder, "warm" for one that found some there and left none.
    ``survivors`` are the names of processes that outlived the worker; they were ended. ``absent`` says what could not
    be read on this machine, and why. ``flop_utilisation`` is the model's arithmetic per second over the machine's
    ``speed``, of one host where several trained; ``work`` is that arithmetic, of all hosts, None in files older than
    this field. ``invalid`` says why the figures are not the framework's, in formats 1 and 2 in sentences. ``curve`` has
    all evaluations of the test split, of which the last is ``evaluation`` unless ``validation`` chose another one; that
    is None without a validation split; ``target_accuracy`` is the requested one, if any, and ``hourly_price`` what an
    hour of the machine costs in the user's currency, None if nobody said. ``reported`` is what a program reported, None
    for a network.
    ``hooked`` are metrics that hooks added to the session, by name, because later readers do not have the hooks.
    ``counts`` is what a step does and what was compiled for training, by the names of the metrics, counted after the
    measurement; None if nothing was counted, or in files older than this field. ``library_calls`` are what oneDNN and
    MKL report of the build and a step, by library and kind of call: of the first run of a case with a ``library``, in a
    process of its own; None if they were not asked. ``recurrent_kernels`` are what computed the recurrent layers, by
    the framework's names, found out after the measurement; None without such layers, or if ``absent`` says why they are
    unknown. ``operator_seconds`` are per step, in a run under the framework's own profiler. ``workers`` and
    ``exchange`` are of runs of several data-parallel workers; all other figures are those of all workers together.
    ``host`` is the leased host; empty for the driver's own
    machine. ``search`` is what led to the network that this run trained: a search has one run per seed.
    ``length`` says how its number of steps was decided, None if it is that of the recipe, the scale or the test.
    ``checkpoint`` is None unless one was asked for. ``breakdown`` has the phases of a step, measured after training;
    None if nobody asked for them. ``core_variation`` is measured after a run of a minute or more: the 90 % quantile of
    the processor time of equal work, relative to the 10 % quantile, on the core where it is largest.
    """

    case: str
    index: int
    seed: int
    outcome: RunOutcome
    began: str
    wall_seconds: float
    message: str = ""
    problem: Problem | None = None
    log: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    device: ComputeDevice | None = None
    threads: int | None = None
    cores: tuple[int, ...] = ()
    compiled: Literal["", "cold", "warm"] = ""
    import_seconds: float | None = None
    build_seconds: float | None = None
    training: Training | None = None
    evaluation: Evaluation | None = None
    curve: tuple[CurvePoint, ...] = ()
    validation: Validation | None = None
    target_accuracy: float | None = None
    hourly_price: float | None = None
    inference: Inference | None = None
    operation: Operation | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    survivors: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    on_battery: bool = False
    step_checks: tuple[StepCheck, ...] = ()
    update_check: UpdateCheck | None = None
    speed: MachineSpeed | None = None
    flop_utilisation: float | None = None
    work: StepWork | None = None
    warm_up: WarmUp | None = None
    contention: Contention | None = None
    invalid: tuple[Trouble | str, ...] = ()
    reported: Reported | None = None
    hooked: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] | None = None
    library_calls: Mapping[str, Mapping[str, int]] | None = None
    recurrent_kernels: Mapping[str, RecurrentKernel] | None = None
    operator_seconds: Mapping[str, float] = field(default_factory=dict)
    workers: tuple[WorkerShare, ...] = ()
    exchange: Exchange | None = None
    host: str = ""
    search: Search | None = None
    length: Length | None = None
    checkpoint: Checkpoint | None = None
    breakdown: Breakdown | None = None
    core_variation: float | None = None

    @property
    def has_figures(self) -> bool:
        """Whether it came to its end, so that its metrics can be read."""
        return bool(self.inference or self.operation or (self.training and (self.evaluation or self.reported)))

    @property
    def purpose(self) -> Literal["training", "inference", "operator", "search"]:
        """What it measures; of a run without figures, training."""
        if self.search is not None:
            return "search"
        if self.operation is not None:
            return "operator"
        return "training" if self.inference is None else "inference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All runs of one case in one session, and the certificate for the versions they ran with.

    ``metrics`` are the facts of metrics that hooks added, because later readers do not have the hooks. ``program`` is
    None for a network of the vocabulary; a program has no recipe.
    """

    case: Case
    context: Context
    recipe: Mapping[str, Any]
    runs: tuple[Run, ...]
    certificate: Certificate | None = None
    metrics: tuple[MetricFacts, ...] = ()
    program: Program | None = None
