"""What a worker reports about its training or inference."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternation:
    """Steps that alternated with those of the other side's worker, which waited meanwhile.

    ``first`` is the number of the first of them, from 0; ``cpu_seconds`` has the processor time of this worker's
    process in each of them. ``idle_cpus`` is the mean number of processors that its threads used while it waited for
    its next step; 0 if they sleep. ``computing`` has, of some of the steps, the processor time per second that the
    process did not wait for a processor: 1 if one thread computed all the time. It is empty where the kernel does not
    count these waits. ``started_together`` says that both workers imported, built and took their first steps at the
    same time, on cores of their own.
    """

    first: int
    cpu_seconds: tuple[float, ...]
    idle_cpus: float
    computing: tuple[float, ...] = ()
    started_together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How a data loader made the batches of a training from JPEG files.

    ``loader`` is its name as its framework has it, ``decoder`` what decodes. ``workers`` are the processes or threads
    that load ahead of the training, 0 if each step loads its own batch. Of each step's batch, ``read_seconds`` and
    ``decode_seconds`` are sums over its files, and ``collate_seconds`` is how long it took to make one batch of them;
    empty where the loader does not report it. Of several workers, these seconds can exceed those of a step.
    ``deviation`` is the largest difference between a level of the first batch and that of the prepared data, of 255.
    """

    loader: str
    decoder: str
    workers: int
    deviation: float
    read_seconds: tuple[float, ...]
    decode_seconds: tuple[float, ...]
    collate_seconds: tuple[float, ...] = ()

    def followed_by(self, later: Self) -> Self:
        """The same for the steps of both."""
        return self._with(
            later,
            read_seconds=self.read_seconds + later.read_seconds,
            decode_seconds=self.decode_seconds + later.decode_seconds,
            collate_seconds=self.collate_seconds + later.collate_seconds,
        )

    def beside(self, other: Self) -> Self:
        """The same for steps of which two workers of a data-parallel training each load a part."""
        return self._with(
            other,
            read_seconds=_sums(self.read_seconds, other.read_seconds),
            decode_seconds=_sums(self.decode_seconds, other.decode_seconds),
            collate_seconds=_sums(self.collate_seconds, other.collate_seconds),
        )

    def up_to(self, steps: int) -> Self:
        """The same for the first steps only."""
        return self._with(
            self,
            read_seconds=self.read_seconds[:steps],
            decode_seconds=self.decode_seconds[:steps],
            collate_seconds=self.collate_seconds[:steps],
        )

    def _with(self, other: Self, **seconds: tuple[float, ...]) -> Self:
        return replace(self, deviation=max(self.deviation, other.deviation), **cast("Any", seconds))


def _sums(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(map(sum, zip(one, other, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The timed region: each step's seconds and its loss before the update.

    ``load_seconds`` is the time of handing the data to the framework, before the first step; ``began_seconds`` is when
    that step began, since the start of the run. Both are None in files older than these fields. ``resumed`` has each
    step with which training continued after an interruption, such as an evaluation or a step of the other side's
    worker: its number, from 0, and when it began. ``alternation`` is None unless steps alternated. ``input_seconds`` is
    the part of each step that was spent waiting for its batch, empty if all data was handed over before. ``tokens`` is
    the number of input tokens, None if the input is not text; ``device_peak_bytes`` is the peak of the framework's own
    allocator on its GPU, None if the framework does not report it. ``chunks`` are the numbers of steps that were timed
    together, and have the same ``step_seconds``; empty if each was timed. ``device_seconds`` are those of each step by
    the clock of the GPU itself, empty where the framework does not offer it. ``loading`` is None unless a loader made
    batches from JPEG files.
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
    alternation: Alternation | None = None
    chunks: tuple[int, ...] = ()
    device_seconds: tuple[float, ...] = ()
    loading: Loading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Where the number of steps is from, with which the timed steps of a case last at least ``least_seconds``.

    That of a "baseline" or a "journal" is the one of earlier runs of the case, which would not be comparable otherwise.
    Without any, a "probe" trained ``probed_steps`` steps before the first run, and ``step_seconds`` are those of one.
    """

    least_seconds: float
    source: Literal["baseline", "journal", "probe"]
    probed_steps: int | None = None
    step_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """The number of warm-up steps, which are in no step time, and whether the other steps are steady.

    ``is_steady`` is None if there are too few steps.
    """

    steps: int
    is_steady: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """How many steps after the warm-up ran while other processes left no processor free.

    ``is_cut`` says whether they are excluded from step times: they are unless they are more than half.
    """

    steps: int
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One evaluation of the test split, outside the training time.

    ``seconds`` are the framework's own, without counting correct outputs. ``examples`` is the number of ``answers``
    that count: classes, tokens at each step except ignored ones, flags, or objects that are not difficult.
    ``top5_correct`` counts those whose label is among the five most likely, None if there are ten classes or fewer.
    ``map50`` is the mean average precision at an overlap of 0.5, None for all but detectors. ``auroc`` is the area
    under the ROC curve, the mean over all flags with positive and negative examples; None for all but flags.
    ``class_accuracies`` are the shares of each class's examples that are correct, None for a class without any.
    """

    seconds: float
    examples: int
    correct: int
    loss: float
    top5_correct: int | None = None
    map50: float | None = None
    auroc: float | None = None
    class_accuracies: tuple[float | None, ...] = ()
    answers: Literal["class", "tokens", "flags", "boxes"] = "class"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One evaluation of the test split after ``step`` steps, or ``epoch`` passes over the data.

    ``seconds`` is the time of all steps until then, including the first one but not evaluations.
    """

    step: int
    epoch: float
    seconds: float
    accuracy: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Evaluations of a validation split, which is a part of the training split that is not trained on.

    ``curve`` has all of them, whose ``epoch`` counts the examples that are trained on; all other epochs count whole
    batches, as patience does. ``seconds`` are the framework's own. Training ended after ``trained_epochs``;
    ``is_early`` says that the patience ran out. ``best_epoch`` is the first with the lowest loss, or the highest
    accuracy if ``monitor`` is that, and ``tested_epoch`` the one whose weights the run's ``evaluation`` is of.
    """

    examples: int
    seconds: float
    curve: tuple[CurvePoint, ...]
    monitor: Literal["loss", "accuracy"]
    trained_epochs: float
    is_early: bool
    best_epoch: float
    tested_epoch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint that was written after training, by the framework's ``mechanism``, and read in a fresh process.

    ``losses`` are what followed in the process that wrote it, to the last digit: that of a batch of the test split,
    then those of the steps ``numbers``. ``resumed_losses`` are the same of the process that read it, ``deviation`` is
    their largest relative difference, and ``bound`` the largest that is allowed; None where the network draws random
    numbers, whose state is ``not_kept``. The last three fields are empty or None until it was read; ``deviation`` is
    None, too, if a loss is not finite.
    """

    mechanism: str
    size_bytes: int
    write_seconds: float
    numbers: tuple[int, ...]
    losses: tuple[str, ...]
    not_kept: tuple[str, ...] = ()
    bound: float | None = None
    read_seconds: float | None = None
    resumed_losses: tuple[str, ...] = ()
    deviation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCheck:
    """A check after a run: some further steps, then twice as many, each followed by an evaluation of one batch.

    Times are pairs of seconds: wall-clock time, and processor time of the worker's process. ``behind_single`` and
    ``behind_double`` are the evaluations after the steps, ``alone`` is one without steps before it. Losses are of that
    batch, before and after all of these steps, to the last digit; ``loss_again`` is the one that differs most in three
    more evaluations of the same weights, empty in files older than this field.
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
class UpdateCheck:
    """A check after a run: the steps ``numbers`` of its order once more, one by one.

    ``changed`` says for each whether some of the parameters changed, ``losses`` has its loss, to the last digit. Both
    end at a loss that is not finite.
    """

    numbers: tuple[int, ...]
    changed: tuple[bool, ...]
    losses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Inference: each batch's seconds, and the shape of the output for one example.

    The first batch includes the time of moving the examples to the device, and of compiling.

    ``sketch`` stands for the outputs of the first batch: sums of all of them with random signs; empty where frameworks
    have weights of their own. ``deviation`` is the largest difference from the sketch of ``reference``, the first
    framework of the session with the same weights and examples, relative to the root mean square of that sketch; None
    if there was none.
    """

    batch_seconds: tuple[float, ...]
    examples: int
    batch_size: int
    output: tuple[int, ...]
    sketch: tuple[float, ...] = ()
    reference: str = ""
    deviation: float | None = None
