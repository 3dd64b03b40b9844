"""Losses for MXNet: Gluon's own, and one for sequences with ignored labels."""

from mxnet import gluon

from dlworker.frameworks.mxnet.detection import DetectionLoss


class SequenceCrossEntropy(gluon.loss.SoftmaxCrossEntropyLoss):
    """The loss of every step of every sequence, 0 where the label is ignored."""

    def __init__(self, classes, ignored, dtype):
        super().__init__()
        self.classes, self.ignored, self.dtype = classes, ignored, dtype

    def hybrid_forward(self, F, pred, label):  # noqa: N803
        rows, label = F.reshape(pred, (-1, self.classes)), F.reshape(label, (-1,))
        weight = None
        if self.ignored is not None:
            weight = F.cast(F.expand_dims(label != self.ignored, axis=1), self.dtype)
        return super().hybrid_forward(F, rows, label, weight)


# Functions (network, dtype) -> block (logits, labels) -> vector of losses, or the loss of a detector.
LOSSES = {
    "softmax_cross_entropy": lambda network, dtype: gluon.loss.SoftmaxCrossEntropyLoss(),
    "sequence_cross_entropy": lambda network, dtype: SequenceCrossEntropy(
        network["classes"], network["ignored"], dtype
    ),
    # The mean over the flags of each example.
    "sigmoid_cross_entropy": lambda network, dtype: gluon.loss.SigmoidBinaryCrossEntropyLoss(),
    "detection": DetectionLoss,
}
