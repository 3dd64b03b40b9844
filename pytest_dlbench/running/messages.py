"""The answers of a worker, as the driver expects them (the worker's side of the protocol is dlworker/protocol.py)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Literal

from pytest_dlbench.model.operators import Pass
from pytest_dlbench.records import CallCheck, ComputeDevice, LayerSeconds, Loading, RecurrentKernel, codec
from pytest_dlbench.records.breakdowns import StepPhase

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The framework is imported. ``threads`` is the number in force, None if the framework does not report it.

    ``versions`` are those that the builder reports, ``distributions`` those that are installed, by canonical name.
    ``sources`` are, for a reported name, the installed distributions that it comes from. ``elsewhere`` are modules that
    come from the user's own files, although those of a revision were requested. ``join_seconds`` is how long it took to
    meet the other workers of a data-parallel run, None for a single worker.
    """

    seconds: float
    versions: dict[str, str]
    executable: str
    threads: int | None
    distributions: dict[str, str]
    sources: dict[str, dict[str, str]]
    elsewhere: tuple[str, ...] = ()
    join_seconds: float | None = None

    def __post_init__(self) -> None:
        if not re.match(r"\d+\.\d+", self.versions.get("python", "")):
            raise ValueError("the versions lack that of Python")
        if unknown := self.sources.keys() - self.versions.keys():
            raise ValueError(f"no version of {', '.join(sorted(unknown))}, whose distributions are given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The network is built.

    ``parameters`` are the canonical shapes of its trainable arrays, ``description`` is the native model as text.
    ``device`` is what it will compute on, None if the builder does not report it.
    """

    seconds: float
    parameters: dict[str, tuple[int, ...]]
    description: str
    device: ComputeDevice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn:
    """Seconds and loss of every step. A loss that is not finite is text, and ends the list.

    ``chunks`` are the numbers of steps between which the device was waited for, empty if after each;
    ``device_seconds`` are those of each step by the clock of the GPU itself, if the framework offers it.

    ``began`` is when the first step began, on the monotonic clock that worker and driver share. ``device_peak_bytes``
    is the peak of the framework's own allocator on the GPU; if it is None, ``device_peak_absent`` says why, or is empty
    on a processor.
    """

    began: float
    step_seconds: tuple[float, ...]
    losses: tuple[float | str, ...]
    examples: int
    device_peak_bytes: int | None = None
    device_peak_absent: str = ""
    input_seconds: tuple[float, ...] = ()
    chunks: tuple[int, ...] = ()
    device_seconds: tuple[float, ...] = ()
    loading: Loading | None = None

    def __post_init__(self) -> None:
        if self.loading and {*map(len, _of_steps(self.loading))} != {len(self.step_seconds)}:
            raise ValueError(f"the loader's seconds are not those of {len(self.step_seconds)} steps")
        if self.chunks and sum(self.chunks) != len(self.step_seconds):
            raise ValueError(f"the chunks have {sum(self.chunks)} steps, of {len(self.step_seconds)}")
        if self.device_seconds and len(self.device_seconds) != len(self.step_seconds):
            raise ValueError(f"{len(self.device_seconds)} times of the device for {len(self.step_seconds)} steps")
        if self.input_seconds and len(self.input_seconds) != len(self.step_seconds):
            raise ValueError(f"{len(self.input_seconds)} input waits for {len(self.step_seconds)} steps")
        if not all(seconds > 0 for seconds in self.step_seconds):
            raise ValueError("the seconds of every step must be above 0")
        if any(isinstance(loss, float) and not isfinite(loss) for loss in self.losses):
            raise ValueError("a loss that is not finite must be text")


def _of_steps(loading: Loading) -> tuple[tuple[float, ...], ...]:
    """The seconds of each step that are known."""
    collating = (loading.collate_seconds,) if loading.collate_seconds else ()
    return (loading.read_seconds, loading.decode_seconds, *collating)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained(TrainedOn):
    """The same for the first steps. ``load_seconds`` is how long it took to hand the data to the framework."""

    load_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """One step of a worker whose steps alternate with those of another one.

    ``cpu_seconds`` is the processor time of its process in the step. Its threads used ``idle_cpu_seconds`` in the
    ``idle_seconds`` since the step before. In some steps ``queued_seconds`` is how long its threads were ready to run,
    but had no processor. A loss that is not finite is text.
    """

    began: float
    seconds: float
    loss: float | str
    cpu_seconds: float
    idle_seconds: float
    idle_cpu_seconds: float
    queued_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError("the seconds of a step must be above 0")
        if isinstance(self.loss, float) and not isfinite(self.loss):
            raise ValueError("a loss that is not finite must be text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Correct answers among ``examples`` (or among the steps or flags of all examples), and the mean loss as text.

    ``top5_correct`` counts answers among the five likeliest classes, None if there are at most ten classes. ``map50``
    is the mean average precision of a detector, ``auroc`` the mean over flags of the area under the ROC curve.
    ``class_accuracies`` are those of each class, None for a class without examples.
    """

    seconds: float
    examples: int
    correct: int
    loss: str
    top5_correct: int | None = None
    map50: float | None = None
    auroc: float | None = None
    class_accuracies: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        if any(share is not None and not 0 <= share <= 1 for share in (self.auroc, *self.class_accuracies)):
            raise ValueError("the area under a ROC curve and the accuracy of a class must be 0 to 1")
        if not 0 <= self.correct <= self.examples:
            raise ValueError(f"{self.correct} correct answers of {self.examples} examples")
        if self.map50 is not None and not 0 <= self.map50 <= 1:
            raise ValueError(f"a mean average precision of {self.map50}, not 0 to 1")
        if self.top5_correct is not None and not self.correct <= self.top5_correct <= self.examples:
            raise ValueError(
                f"{self.top5_correct} correct in the top 5, {self.correct} of {self.examples} in the top 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Steps that were repeated, then twice as many, and evaluations of one batch. Losses are text.

    Times are pairs of seconds: wall time, and CPU time of the worker's process.
    """

    loss_before: str
    loss_after: str
    loss_again: str
    single: tuple[float, float]
    double: tuple[float, float]
    behind_single: tuple[float, float]
    behind_double: tuple[float, float]
    alone: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """Whether each of some single steps changed the parameters, and their losses, which are text."""

    changed: tuple[bool, ...]
    losses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The seconds of reading a checkpoint, and the losses of the steps after it, which are text."""

    seconds: float
    losses: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError("the seconds of a checkpoint must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Resumed):
    """The same of writing it. ``mechanism`` is by what it was written, ``not_kept`` what of the state was not."""

    size_bytes: int
    mechanism: str
    not_kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """A digest of all parameters of a worker; of several devices of it, one each."""

    weights: int
    of_devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """Seconds of steps without exchange between the workers, empty if the framework cannot take them."""

    step_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """Seconds of every batch, the output shape of one example, and whether all outputs are finite."""

    batch_seconds: tuple[float, ...]
    examples: int
    output: tuple[int, ...]
    is_finite: bool

    def __post_init__(self) -> None:
        if not all(seconds > 0 for seconds in self.batch_seconds):
            raise ValueError("the seconds of every batch must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An operator and its probes are built. ``passes`` are those that the framework computes apart from each other."""

    seconds: float
    passes: tuple[Pass, ...]
    device: ComputeDevice | None = None

    def __post_init__(self) -> None:
        if "forward" not in self.passes or len(set(self.passes)) != len(self.passes):
            raise ValueError(f"expected the pass 'forward' and each pass once, got {', '.join(self.passes)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operated:
    """Seconds of every call of each pass, and the fewest of each probe."""

    seconds: dict[str, tuple[float, ...]]
    probes: dict[str, float]

    def __post_init__(self) -> None:
        every = [second for seconds in self.seconds.values() for second in seconds]
        if not all(seconds > 0 for seconds in (*every, *self.probes.values())):
            raise ValueError("the seconds of every call must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """Seconds per step by operator, from the framework's own profiler."""

    operator_seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenDown:
    """Seconds of whole steps, of the phases of others, and of copying a phase's results twice; or why there are none.

    ``cause`` and ``what`` are those of ``records.reasons.Undivided``.
    """

    step_seconds: tuple[float, ...] = ()
    phase_seconds: dict[StepPhase, tuple[float, ...]] = field(default_factory=dict)
    copy_seconds: dict[StepPhase, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    cause: Literal["one_program", "one_call", "setting", "no_function"] | None = None
    what: str = ""
    layers: tuple[LayerSeconds, ...] = ()
    layers_cause: Literal["one_program", "setting", "network", "no_layers"] | None = None
    layers_what: str = ""

    def __post_init__(self) -> None:
        if self.cause is not None:
            return
        for layer in self.layers:
            if {len(layer.forward_seconds), len(layer.backward_seconds)} != {len(self.step_seconds)}:
                raise ValueError(f"expected {len(self.step_seconds)} times of the layer {layer.name}")
        if not self.step_seconds or not all(seconds > 0 for seconds in self.step_seconds):
            raise ValueError("the seconds of every step must be above 0, and there must be some")
        if not self.phase_seconds:
            raise ValueError("a step that is divided has phases")
        for phase, seconds in self.phase_seconds.items():
            if len(seconds) != len(self.step_seconds) or min(seconds) < 0:
                raise ValueError(f"expected {len(self.step_seconds)} times of the phase {phase}, none below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a step does and what was compiled for training, by name; ``absent`` says of others why they are unknown."""

    counts: dict[str, int]
    absent: dict[str, str]

    def __post_init__(self) -> None:
        if negative := [name for name, number in self.counts.items() if number < 0]:
            raise ValueError(f"a count is negative: {', '.join(negative)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryCalls:
    """The calls that libraries report of the build and a step, by library and kind of call."""

    calls: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """The kernels of the recurrent layers and their kinds, or in ``absent`` why they are unknown."""

    kernels: dict[str, RecurrentKernel]
    absent: str

    def __post_init__(self) -> None:
        if bool(self.kernels) == bool(self.absent):
            raise ValueError("expected kernels, or else the reason why they are unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The worker is about to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The operation failed; ``kind`` is the machine-readable cause."""

    kind: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramHello(Hello):
    """The program is imported. ``files`` are those of its repository that were, with digests of their content."""

    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramBuilt:
    """What the program's ``build`` returned; a loop of its own has built nothing yet."""

    seconds: float
    samples_per_step: int
    evaluates: bool
    flops_per_step: float | None = None

    def __post_init__(self) -> None:
        if self.samples_per_step < 1 or not 0 < (self.flops_per_step or 1.0) < inf:
            raise ValueError("the samples and the arithmetic of a step must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTrained(Trained):
    """The same of a program. ``build_seconds`` are those of its own loop before its first step."""

    build_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEvaluated:
    """What the program reported, as text by name; ``seconds`` is None if it has no evaluation of its own."""

    values: dict[str, str]
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramClosed:
    """The worker is about to end; versions and files include what was imported late."""

    versions: dict[str, str]
    files: dict[str, str]


ANSWERS: dict[str, type] = {
    "hello": Hello,
    "build": Built,
    "train": Trained,
    "train_on": TrainedOn,
    "step": Stepped,
    "evaluate": Evaluated,
    "check_steps": Checked,
    "check_updates": Updated,
    "save": Saved,
    "resume": Resumed,
    "fingerprint": Fingerprint,
    "steps_alone": Alone,
    "infer": Inferred,
    "profile": Profiled,
    "break_down": BrokenDown,
    "count": Counted,
    "library_calls": LibraryCalls,
    "recurrent_kernels": Kernels,
    "close": Closed,
}
OPERATOR_ANSWERS: dict[str, type] = {
    "hello": Hello,
    "prepare": Prepared,
    "operate": Operated,
    "check_calls": CallCheck,
    "close": Closed,
}
PROGRAM_ANSWERS: dict[str, type] = {
    "hello": ProgramHello,
    "build": ProgramBuilt,
    "train": ProgramTrained,
    "train_on": TrainedOn,
    "step": Stepped,
    "evaluate": ProgramEvaluated,
    "check_steps": Checked,
    "count": Counted,
    "close": ProgramClosed,
}


def parse(op: str, answer: dict[str, Any], answers: Mapping[str, type] = ANSWERS) -> Any:
    """The typed answer to an operation, or Failed. Raises FileFormatError, which names the wrong field."""
    return codec.convert(answer, Failed if answer["status"] == "failed" else answers[op], f"the answer to {op!r}")
