"""The kernels of recurrent layers in a graph of TensorFlow, by the types of its nodes."""

from dlworker.recurrent_kernels import CUDNN, FUSED, SCAN

KINDS = {
    "CudnnRNN": CUDNN,
    "CudnnRNNV2": CUDNN,
    "CudnnRNNV3": CUDNN,
    "BlockLSTM": FUSED,
    "BlockLSTMV2": FUSED,
    # The loop of a graph in TensorFlow 2, and in TensorFlow 1; neither builder has other loops.
    "While": SCAN,
    "StatelessWhile": SCAN,
    "LoopCond": SCAN,
}


def kernels_of(types):
    """{type of a node: kind}, or the reason if no node is of a known type."""
    found = {name: KINDS[name] for name in sorted(set(types)) if name in KINDS}
    return found or "the graph has neither a loop nor an operator for a whole sequence"
