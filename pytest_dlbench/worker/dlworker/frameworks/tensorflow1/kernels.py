"""The recurrent layers in TensorFlow 1's graph."""

from dlworker.graph_kernels import kernels_of


def recurrent_kernels(run, trainer, device, is_training):
    """{type of a node: kind} of the graph, which has both networks, of the same layers; nothing has to run for it."""
    return kernels_of(operation.type for operation in trainer.session.graph.get_operations())
