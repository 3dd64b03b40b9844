"""What a network is trained for: the loss, and what counts as a right answer."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import require_positive
from pytest_dlbench.model.shapes import Shape

Task = Literal["class", "tokens", "flags"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxCrossEntropy:
    """Softmax over ``classes`` logits, the mean over the batch of minus the log-probability of the label.

    Right is the class with the largest logit.
    """

    loss: ClassVar[str] = "softmax_cross_entropy"
    task: ClassVar[Task] = "class"
    is_trained: ClassVar[bool] = True
    classes: int

    def __post_init__(self) -> None:
        require_positive((self.classes,), "classes")

    @property
    def logits(self) -> int:
        """How many the last layer gives."""
        return self.classes

    def fits(self, last: Shape) -> bool:
        """Whether the last layer gives the logits of one sample."""
        return last == (self.classes,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceCrossEntropy:
    """Softmax over ``classes`` logits at each step; loss and right answers are those of all steps of the batch.

    Steps whose label is ``ignored`` count for neither: the loss is the mean over the others. The perplexity is
    ``exp(loss)``.
    """

    loss: ClassVar[str] = "sequence_cross_entropy"
    task: ClassVar[Task] = "tokens"
    is_trained: ClassVar[bool] = True
    classes: int
    ignored: int | None = None

    def __post_init__(self) -> None:
        require_positive((self.classes,), "classes")
        if self.ignored is not None and not 0 <= self.ignored < self.classes:
            raise ModelError(f"the ignored label must be a class below {self.classes}, got {self.ignored}")

    @property
    def logits(self) -> int:
        """How many the last layer gives for each step."""
        return self.classes

    def fits(self, last: Shape) -> bool:
        """Whether the last layer gives logits for each step."""
        return len(last) == 2 and last[1] == self.classes


@dataclass(frozen=True, slots=True, kw_only=True)
class SigmoidCrossEntropy:
    """A sigmoid for each of ``flags`` logits, the mean over batch and flags of minus the log-probability of the label.

    Right is each flag whose logit has the label's side of 0. One flag serves for two classes, 0 and 1.
    """

    loss: ClassVar[str] = "sigmoid_cross_entropy"
    is_trained: ClassVar[bool] = True
    flags: int

    def __post_init__(self) -> None:
        require_positive((self.flags,), "flags")

    @property
    def logits(self) -> int:
        """How many the last layer gives."""
        return self.flags

    @property
    def task(self) -> Task:
        """Flags; or, for one flag, two classes."""
        return "flags" if self.flags > 1 else "class"

    @property
    def classes(self) -> int:
        """As many as flags; two for one flag."""
        return max(2, self.flags)

    def fits(self, last: Shape) -> bool:
        """Whether the last layer gives the logits of one sample."""
        return last == (self.flags,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the last layer gives is what the network is for: it is applied, and never trained.

    Builders get a loss all the same, which nothing computes.
    """

    loss: ClassVar[str] = "softmax_cross_entropy"
    task: ClassVar[Task] = "class"
    is_trained: ClassVar[bool] = False
    width: int

    def __post_init__(self) -> None:
        require_positive((self.width,), "width")

    @property
    def logits(self) -> int:
        """How many numbers the last layer gives."""
        return self.width

    @property
    def classes(self) -> int:
        """As many as features."""
        return self.width

    def fits(self, last: Shape) -> bool:
        """Whether the last layer gives the features of one sample."""
        return last == (self.width,)


Head = SoftmaxCrossEntropy | SequenceCrossEntropy | SigmoidCrossEntropy | Features
