"""The data: what was run, what was measured, and what was concluded. Frozen, without behaviour.

Seconds are of the monotonic clock that worker and sampler share; bytes are bytes; accuracies are shares of 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

# Version 1 (0.1.0): the first. Fields that came later have a default, so that older files can be read.
FORMAT_VERSION = 1
# Of baselines: version 1 had one session and no name for it; version 2 has several, and an anchor.
BASELINE_FORMAT = 2

# Among the reasons why a card is slowed, the one that is no trouble.
POWER_LIMIT = "power limit"


class RunOutcome(StrEnum):
    """How one run in a fresh process ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BROKEN_PROTOCOL = "broken_protocol"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    MISSING_FRAMEWORK = "missing_framework"
    MISSING_DATA = "missing_data"


class VerdictOutcome(StrEnum):
    """What a comparison says about one metric.

    ``suspect`` is what a stored baseline with little history may say at most: it looks worse, and pairs would tell.
    """

    REGRESSED = "regressed"
    SUSPECT = "suspect"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class CaseOutcome(StrEnum):
    """What becomes of a case; distinct in the terminal, in JUnit and in JSON."""

    PASSED = "passed"
    REGRESSED = "regressed"
    SUSPECT = "suspect"
    IMPROVED = "improved"
    INCONCLUSIVE = "inconclusive"
    NO_BASELINE = "no_baseline"
    INCOMPARABLE = "incomparable"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BROKEN_PROTOCOL = "broken_protocol"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    INVALID = "invalid"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine class: what keys a baseline. Versions of anything are not in it, they are what is tested.

    ``memory_gib`` is rounded (1, 1.5, 2, 3, 4, 6, 8 …), for the figure that a kernel reports changes with its version.
    """

    name: str
    cpu_model: str
    cores: int
    memory_gib: float
    os_family: str
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the matrix at one scale.

    ``settings`` are those of the recipe that were set on the command line; they are part of the id.
    """

    id: str
    framework: str
    model: str
    dataset: str
    device: str
    scale: str
    threads: int
    settings: Mapping[str, int | float | bool | str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """One graphics card during one phase; None is what it does not tell, and ``absent`` says why.

    ``energy_source`` is "counter", or "integrated power" where the card has no counter.
    """

    name: str
    uuid: str
    utilisation: float | None = None
    memory_peak_bytes: int | None = None
    process_memory_peak_bytes: int | None = None
    power_mean_watts: float | None = None
    energy_joules: float | None = None
    energy_source: str = ""
    temperature_peak_celsius: float | None = None
    sm_clock_mean_mhz: float | None = None
    slowed_by: tuple[str, ...] = ()
    foreign_processes: int | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the worker's process tree used during one phase.

    All but memory is a difference of cumulative counters at the phase's ends; docs/measurement.md has the meaning, the
    source and the error of every field. A phase that others interrupt, as evaluations do training, is all its parts.
    Means of CPUs are processors: 1.0 is one of them, all the time. ``readings`` are what further samplers tell, by
    name. None is what this kernel does not tell, or a file older than the field.
    """

    wall_seconds: float
    user_seconds: float
    system_seconds: float
    rss_mean_bytes: int
    rss_peak_bytes: int
    samples: int
    foreign_cpus: float = 0.0
    began_seconds: float | None = None
    waited_seconds: float | None = None
    iowait_cpus: float | None = None
    steal_cpus: float | None = None
    core_use: tuple[float, ...] = ()
    load: float | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    swapped_in_bytes: int | None = None
    throttlings: int | None = None
    pss_mean_bytes: int | None = None
    pss_peak_bytes: int | None = None
    group_peak_bytes: int | None = None
    gpus: tuple[GpuUsage, ...] = ()
    readings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was seen of the worker's process tree during a run, thinned: one value of each at every moment.

    ``seconds`` are since the start of the run, ``cpu_seconds`` all that the tree has used by then, ``machine_seconds``
    all that the machine's processors have worked since that start, for whomever; none in files older than this field.
    """

    seconds: tuple[float, ...] = ()
    rss_bytes: tuple[int, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    machine_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The timed region: every step's seconds and its loss before the update.

    ``load_seconds`` is handing the data to the framework, before the first step; ``began_seconds``, when that step
    began, is since the start of the run. None in files older than these fields. Behind an evaluation training goes on:
    ``resumed`` has the number of each step that did so, from 0, and when it began. ``input_seconds`` are the part of
    each step that was waiting for its batch, empty where all data were handed over before. ``tokens`` are those that
    went in, None of what is no text; ``device_peak_bytes`` the most that the framework's own allocator has had on its
    card, None where it does not count them.
    """

    step_seconds: tuple[float, ...]
    losses: tuple[float, ...]
    examples: int
    batch_size: int
    load_seconds: float | None = None
    began_seconds: float | None = None
    resumed: tuple[tuple[int, float], ...] = ()
    tokens: int | None = None
    device_peak_bytes: int | None = None
    input_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """How many steps of a training count for no step time, and whether the others are steady.

    Of too few steps that is not known: None.
    """

    steps: int
    is_steady: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """How many of the steps behind the warm-up were taken while others left the machine no processor free.

    ``is_cut`` says whether they count for no step time: they do where they are more than half.
    """

    steps: int
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The test split, after training and outside its time.

    ``seconds`` are the framework's own, what is counted of its outputs is not in them. ``examples`` are all ``answers``
    that count: classes, tokens at each step but those that are ignored, or flags. ``top5_correct`` are those whose
    label is among the five likeliest, None where there are no more than ten classes.
    """

    seconds: float
    examples: int
    correct: int
    loss: float
    top5_correct: int | None = None
    answers: Literal["class", "tokens", "flags"] = "class"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One evaluation of the test split: behind so many steps, or passes over the data.

    ``seconds`` are of all steps until then, the first included and evaluations not.
    """

    step: int
    epoch: float
    seconds: float
    accuracy: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCheck:
    """Steps that were taken again behind a run, then twice as many, each with an evaluation of one batch behind it.

    Seconds are a pair: of the clock, and of the worker's process on processors. ``alone`` is that evaluation with no
    step before it. Losses are of that batch, before and after all of these steps, to the last digit, and once more:
    ``loss_again`` is that of the same weights, empty in files older than it.
    """

    steps: int
    loss_before: str
    loss_after: str
    single: tuple[float, float]
    double: tuple[float, float]
    behind_single: tuple[float, float]
    behind_double: tuple[float, float]
    alone: tuple[float, float]
    loss_again: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpeed:
    """What this machine reached in a fresh process with NumPy alone: the best of a few repetitions.

    ``launch_seconds`` is what the smallest operation takes; None in files older than it.
    """

    threads: int
    precision: str
    flops_per_second: float
    copied_bytes_per_second: float
    launch_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """What one step of training has to do, by the network's own count and not measured.

    ``flops`` are floating-point operations. ``least_bytes`` are those that a step moves at the least where nothing
    stays in a cache (``model.traffic``).
    """

    flops: float
    least_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """A network applied and not trained: every batch's seconds, and the shape of what comes of one example.

    The first batch's are also those of putting the examples on the device, and of compiling.
    """

    batch_seconds: tuple[float, ...]
    examples: int
    batch_size: int
    output: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """What a network must give that starts from seeded weights and takes seeded batches: computed in float64.

    ``losses`` are each before its step's update, ``evaluation_loss`` is of the test split after the last one.
    ``difference`` is the largest relative difference between the two frameworks that computed them.
    """

    network_digest: str
    dataset_digest: str
    difference: float
    losses: tuple[float, ...]
    evaluation_loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A framework was seen to train a network as the oracle does.

    ``deviation`` is the largest relative difference of its losses from the golden ones, ``evaluation_deviation`` that
    of the loss on the test split after training; the first was within ``bound``, the second within five times of it. It
    holds for these versions.
    """

    format: int = FORMAT_VERSION
    framework: str
    model: str
    dataset: str
    device: str
    network_digest: str
    precision: str
    steps: int
    deviation: float
    evaluation_deviation: float
    bound: float
    versions: Mapping[str, str]
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training, or inference, in one fresh process: the unit of every statistic.

    ``threads`` is how many CPU threads the framework says are in force, None where it cannot tell; ``cores`` are the
    processors that the kernel lets its process use, read back once the framework is imported. ``compiled`` is "cold"
    for a run that left compiled code in its environment's folder, "warm" for one that found some there and left none.
    ``survivors`` are processes that the worker left behind, by name; they were ended. ``absent`` are things that cannot
    be read on this machine, or were not, and why. ``flop_utilisation`` is the model's arithmetic a second over the
    machine's ``speed``; ``work`` is that arithmetic, and is None in files older than it. ``invalid`` says why the
    figures are not the framework's. ``curve`` are all evaluations, of which the last is ``evaluation``;
    ``target_accuracy`` is what was to be reached, if that was asked. ``hooked`` are the metrics that hooks added to a
    session, by name: later readers do not have the hooks. ``operator_seconds`` are of a step, in a run under the
    framework's own profiler.
    """

    case: str
    index: int
    seed: int
    outcome: RunOutcome
    began: str
    wall_seconds: float
    message: str = ""
    log: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    threads: int | None = None
    cores: tuple[int, ...] = ()
    compiled: Literal["", "cold", "warm"] = ""
    import_seconds: float | None = None
    build_seconds: float | None = None
    training: Training | None = None
    evaluation: Evaluation | None = None
    curve: tuple[CurvePoint, ...] = ()
    target_accuracy: float | None = None
    inference: Inference | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    survivors: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    on_battery: bool = False
    step_checks: tuple[StepCheck, ...] = ()
    speed: MachineSpeed | None = None
    flop_utilisation: float | None = None
    work: StepWork | None = None
    warm_up: WarmUp | None = None
    contention: Contention | None = None
    invalid: tuple[str, ...] = ()
    hooked: Mapping[str, float] = field(default_factory=dict)
    operator_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What must be the same on both sides before figures are compared.

    ``allocator`` is how all workers got their memory, by its name for --dlbench-allocator.

    All but ``recipe_steps``, the steps of the recipe's own epochs: where ``steps`` are fewer, the scale ended the
    training before the recipe does, and its accuracy is not the recipe's. None in files older than this field.
    """

    machine: Machine
    network_digest: str
    dataset_digest: str
    batch_size: int
    steps: int
    precision: str
    init: str
    recipe_steps: int | None = None
    input: str = "memory"
    allocator: str = "tuned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All runs of one case in one session, and the certificate that holds for the versions they ran with."""

    case: Case
    context: Context
    recipe: Mapping[str, Any]
    runs: tuple[Run, ...]
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSession:
    """What is kept of one session of a case.

    ``id`` is the time it was saved, in UTC and unique among the case's sessions. ``medians`` are over the runs, of
    every metric; ``values`` have every run's, in the order of the ``seeds``, of metrics that are judged run by run.
    ``accepted`` are metrics that had changed and were saved all the same: a new level begins here. ``commit`` is that
    of the repository that the benchmark lies in, empty where it is in none.
    """

    id: str
    saved: str
    reason: str
    commit: str = ""
    versions: Mapping[str, str]
    seeds: tuple[int, ...]
    medians: Mapping[str, float]
    values: Mapping[str, tuple[float, ...]]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Accepted sessions of one case, oldest first; ``context`` holds for all of them, ``recipe`` is the newest one's.

    ``anchor`` is the session that later ones are also held against, and is never dropped.
    """

    format: int = BASELINE_FORMAT
    case: Case
    context: Context
    recipe: Mapping[str, Any]
    anchor: str
    sessions: tuple[BaselineSession, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One metric against its baseline.

    ``change`` with its interval ``lower`` to ``upper`` is a ratio new / old for ratio metrics (1.0 is no change) and a
    difference new - old in percentage points for accuracy (0.0 is no change), each None where there is no such figure:
    too few pairs set no bounds. ``tolerance`` is 0.05 for 5 % and 1.0 for 1 pp. ``sessions`` are the stored ones that
    it was judged against as such, 0 where runs were compared with runs. ``is_corrected`` says that the machine's own
    speed in each session was taken out; ``old`` is then what it would be on the machine as it is now.
    """

    metric: str
    outcome: VerdictOutcome
    old: float
    new: float
    change: float | None
    lower: float | None
    upper: float | None
    tolerance: float
    sessions: int = 0
    is_corrected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How a case was run on two sides, one pair of runs after the other.

    ``old`` is the case of the other side. The first ``screened`` pairs were judged on all metrics, the ``confirmed``
    ones behind them on those that were not cleared; ``alpha`` is what this second pass may err with, its part of the
    session's budget of false alarms. ``new_first`` says of each pair which side ran first, ``reasons`` why each metric
    was decided when it was. ``spreads`` are how far two runs in a row were expected to lie apart (log units, or
    points), measured in ``reference_runs`` of an earlier session, or assumed or calibrated where these are 0.
    """

    old: Case
    screened: int
    confirmed: int
    alpha: float
    new_first: tuple[bool, ...]
    reasons: Mapping[str, str]
    spreads: Mapping[str, float] = field(default_factory=dict)
    reference_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTime:
    """Seconds a step in one operator, on the old and the new side, under the framework's own profiler."""

    name: str
    old: float
    new: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A case as it is reported.

    ``message`` says why the outcome is what it is, in full; ``warnings`` why its figures may mislead. ``steps`` and
    ``recipe_steps`` are those of its context. With a ``pairing`` it was judged against another side of this session,
    and ``runs`` are its own only. ``since_anchor`` holds it against the anchor of its baseline; ``drifting`` are
    metrics that have crept, with the sessions since it began. ``settled_by`` is the command that would settle what is
    suspect. ``operators`` are those that changed most, where a regression was profiled.
    """

    case: Case
    outcome: CaseOutcome
    message: str
    runs: int
    figures: Mapping[str, float]
    verdicts: tuple[Verdict, ...] = ()
    since_anchor: tuple[Verdict, ...] = ()
    drifting: Mapping[str, int] = field(default_factory=dict)
    settled_by: str = ""
    warnings: tuple[str, ...] = ()
    saved: bool = False
    certificate: Certificate | None = None
    steps: int | None = None
    recipe_steps: int | None = None
    pairing: Pairing | None = None
    operators: tuple[OperatorTime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that was planted on the new side of a case, and what the gate said of it.

    ``verdict`` is of the metric that it was planted in, None where the gate said nothing; ``pairs`` are all that
    the gate ran until every metric was decided. ``reason`` says why it ended there, or why it was not run, or could not
    be; ``outcome`` is None then.
    """

    name: str
    outcome: VerdictOutcome | None = None
    pairs: int = 0
    verdict: Verdict | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the gate can tell of one case on one machine class: the case run against itself, then with planted faults.

    ``spreads`` are the standard deviations that a pair's difference is expected to have, in the unit the rule works in:
    log units of times and bytes, percentage points of accuracy. ``smallest`` are the tolerances from which the gate can
    decide at the level ``alpha`` with ``max_pairs`` pairs, as a tolerance is written: 0.03 for 3 %, 1.0 for 1 pp.
    ``verdicts`` are those of the case against itself that have bounds: any that says changed is a false alarm.
    ``exchanged`` is their share where the sides of these pairs are exchanged at random.
    """

    format: int = FORMAT_VERSION
    case: Case
    context: Context
    versions: Mapping[str, str]
    date: str
    alpha: float
    max_pairs: int
    pairs: int
    spreads: Mapping[str, float]
    smallest: Mapping[str, float]
    verdicts: tuple[Verdict, ...]
    exchanged: Mapping[str, float]
    faults: tuple[Fault, ...] = ()
