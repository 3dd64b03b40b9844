"""What a network is trained for: the loss with its lower bound, and what counts as a correct answer."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import require_positive
from pytest_dlbench.model.shapes import Shape

Task = Literal["class", "tokens", "flags", "boxes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxCrossEntropy:
    """Softmax over ``classes`` logits; the loss is the batch mean of the negative log-probability of the label.

    The predicted class is the one with the largest logit.
    """

    loss: ClassVar[str] = "softmax_cross_entropy"
    lowest_loss: ClassVar[float] = 0.0
    task: ClassVar[Task] = "class"
    is_trained: ClassVar[bool] = True
    classes: int

    def __post_init__(self) -> None:
        require_positive((self.classes,), "classes")

    @property
    def ending(self) -> str:
        """The last layer that fits."""
        return f"Dense({self.classes})"

    def fits(self, last: Shape) -> bool:
        """Whether the last layer's output has the shape of one sample's logits."""
        return last == (self.classes,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceCrossEntropy:
    """Softmax over ``classes`` logits at each step; loss and accuracy are taken over all steps of the batch.

    Steps whose label is ``ignored`` count for neither: the loss is the mean over the other steps. The perplexity is
    ``exp(loss)``.
    """

    loss: ClassVar[str] = "sequence_cross_entropy"
    lowest_loss: ClassVar[float] = 0.0
    task: ClassVar[Task] = "tokens"
    is_trained: ClassVar[bool] = True
    classes: int
    ignored: int | None = None

    def __post_init__(self) -> None:
        require_positive((self.classes,), "classes")
        if self.ignored is not None and not 0 <= self.ignored < self.classes:
            raise ModelError(f"the ignored label must be a class below {self.classes}, got {self.ignored}")

    @property
    def ending(self) -> str:
        """The last layer that fits."""
        return f"Dense({self.classes})"

    def fits(self, last: Shape) -> bool:
        """Whether the last layer's output has the shape of logits at each step."""
        return len(last) == 2 and last[1] == self.classes


@dataclass(frozen=True, slots=True, kw_only=True)
class SigmoidCrossEntropy:
    """A sigmoid for each of ``flags`` logits; the loss is the mean negative log-probability over the batch and flags.

    A flag is predicted as 1 if its logit is above 0, else as 0. One flag stands for two classes, 0 and 1.
    """

    loss: ClassVar[str] = "sigmoid_cross_entropy"
    lowest_loss: ClassVar[float] = 0.0
    is_trained: ClassVar[bool] = True
    flags: int

    def __post_init__(self) -> None:
        require_positive((self.flags,), "flags")

    @property
    def ending(self) -> str:
        """The last layer that fits."""
        return f"Dense({self.flags})"

    @property
    def task(self) -> Task:
        """``"flags"``; with a single flag, ``"class"``."""
        return "flags" if self.flags > 1 else "class"

    @property
    def classes(self) -> int:
        """The number of flags; 2 for a single flag."""
        return max(2, self.flags)

    def fits(self, last: Shape) -> bool:
        """Whether the last layer's output has the shape of one sample's logits."""
        return last == (self.flags,)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionLoss:
    """Objects of ``classes`` kinds, at most ``objects`` in an image: the sum of four losses (Ren et al. 2015).

    Binary cross-entropy of the sampled anchors and smooth L1 of the boxes of those on objects; softmax cross-entropy of
    the regions, class 0 being the background, and smooth L1 of the boxes of those on objects. Each is a sum over its
    samples, divided by their number: boxes on the background count in the divisor only.
    """

    loss: ClassVar[str] = "detection"
    lowest_loss: ClassVar[float] = 0.0
    task: ClassVar[Task] = "boxes"
    is_trained: ClassVar[bool] = True
    classes: int
    objects: int

    def __post_init__(self) -> None:
        require_positive((self.classes, self.objects), "classes and objects")

    @property
    def ending(self) -> str:
        """The last layer that fits."""
        return f"Detections({self.classes})"

    def fits(self, last: Shape) -> bool:
        """Whether the last layer's output is a row."""
        return len(last) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The outputs of the last layer are the result: the network is only applied, never trained.

    Builders still get a loss, which is never computed.
    """

    loss: ClassVar[str] = "softmax_cross_entropy"
    lowest_loss: ClassVar[float] = 0.0
    task: ClassVar[Task] = "class"
    is_trained: ClassVar[bool] = False
    width: int

    def __post_init__(self) -> None:
        require_positive((self.width,), "width")

    @property
    def ending(self) -> str:
        """The last layer that fits."""
        return f"Dense({self.width})"

    @property
    def classes(self) -> int:
        """The number of features."""
        return self.width

    def fits(self, last: Shape) -> bool:
        """Whether the last layer's output has the shape of one sample's features."""
        return last == (self.width,)


Head = SoftmaxCrossEntropy | SequenceCrossEntropy | SigmoidCrossEntropy | DetectionLoss | Features
