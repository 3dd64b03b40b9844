"""Caffe2's losses: each adds the operators that compute "loss" from the logits and "label"."""


def softmax_cross_entropy(model, logits):
    model.net.SoftmaxWithLoss([logits, "label"], ["softmax", "loss"])


def sigmoid_cross_entropy(model, logits):
    model.net.AveragedLoss(model.net.SigmoidCrossEntropyWithLogits([logits, "label"], "losses"), "loss")


LOSSES = {"softmax_cross_entropy": softmax_cross_entropy, "sigmoid_cross_entropy": sigmoid_cross_entropy}
