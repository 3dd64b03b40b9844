"""What a worker may answer: the driver's own description of the protocol (the worker's is dlworker/protocol.py)."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from pytest_dlbench.records import codec

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The framework is imported; ``threads`` are those in force, None where the framework cannot tell."""

    seconds: float
    versions: dict[str, str]
    executable: str
    threads: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The network stands.

    ``parameters`` are the canonical shapes of its trainable arrays, ``description`` is the native model as text.
    """

    seconds: float
    parameters: dict[str, tuple[int, ...]]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn:
    """Seconds and loss of every step; a loss that is not finite is text, and the last.

    ``began`` is when the first of them did, on the monotonic clock that worker and driver share. ``device_peak_bytes``
    are the most that the framework's own allocator has had on its card, None where it does not count.
    """

    began: float
    step_seconds: tuple[float, ...]
    losses: tuple[float | str, ...]
    examples: int
    device_peak_bytes: int | None = None
    input_seconds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.input_seconds and len(self.input_seconds) != len(self.step_seconds):
            raise ValueError(f"{len(self.input_seconds)} waits for input in {len(self.step_seconds)} steps")
        if not all(seconds > 0 for seconds in self.step_seconds):
            raise ValueError("the seconds of every step must be above 0")
        if any(isinstance(loss, float) and not isfinite(loss) for loss in self.losses):
            raise ValueError("a loss that is not finite must be text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained(TrainedOn):
    """The same of the first steps, before which the data were handed to the framework."""

    load_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Correct answers among ``examples`` (or the steps or flags of all examples), and the mean loss as text.

    ``top5_correct`` are those among the five likeliest classes, None where there are no more than ten.
    """

    seconds: float
    examples: int
    correct: int
    loss: str
    top5_correct: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.examples:
            raise ValueError(f"{self.correct} correct answers of {self.examples} examples")
        if self.top5_correct is not None and not self.correct <= self.top5_correct <= self.examples:
            raise ValueError(f"{self.top5_correct} correct answers among five, {self.correct} of {self.examples} first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Steps that were taken again, then twice as many, and evaluations of one batch; losses are text.

    Seconds are a pair: of the clock, and of the worker's process on processors.
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
class Inferred:
    """Seconds of every batch, the shape of what comes of one example, and whether all of it are finite numbers."""

    batch_seconds: tuple[float, ...]
    examples: int
    output: tuple[int, ...]
    is_finite: bool

    def __post_init__(self) -> None:
        if not all(seconds > 0 for seconds in self.batch_seconds):
            raise ValueError("the seconds of every batch must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """Seconds of a step by operator, as the framework's own profiler has them."""

    operator_seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The worker is about to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The operation was not done; ``kind`` is what to act on."""

    kind: str
    message: str
    traceback: str


ANSWERS: dict[str, type] = {
    "hello": Hello,
    "build": Built,
    "train": Trained,
    "train_on": TrainedOn,
    "evaluate": Evaluated,
    "check_steps": Checked,
    "infer": Inferred,
    "profile": Profiled,
    "close": Closed,
}


def parse(op: str, answer: dict[str, Any]) -> Any:
    """The typed answer to an operation, or Failed; FileFormatError names the field that is wrong."""
    return codec.convert(answer, Failed if answer["status"] == "failed" else ANSWERS[op], f"the answer to {op!r}")
