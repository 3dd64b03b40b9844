"""What a worker tells of its training, or of a network that it applied."""

from dataclasses import dataclass
from typing import Literal


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
    step before it. Losses are of that batch, before and after all of these steps, to the last digit; ``loss_again`` is
    that of the same weights in three more evaluations, where it is farthest; empty in files older than it.
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
class Inference:
    """A network applied and not trained: every batch's seconds, and the shape of what comes of one example.

    The first batch's are also those of putting the examples on the device, and of compiling.
    """

    batch_seconds: tuple[float, ...]
    examples: int
    batch_size: int
    output: tuple[int, ...]
