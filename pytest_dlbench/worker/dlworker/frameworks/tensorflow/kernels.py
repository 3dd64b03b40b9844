"""The recurrent layers in the graphs that TensorFlow traced."""

from dlworker.graph_kernels import kernels_of


def recurrent_kernels(run, trainer, device, is_training):
    """{type of a node: kind} of the step, or of inference; nothing has to run for it. XLA compiles the same graphs."""
    return kernels_of(types([trainer._update if is_training else trainer._apply]))


def types(functions):
    """The types of the nodes in all graphs of some tf.functions, and in the functions that these call."""
    traced = [concrete.graph for function in functions for concrete in function._list_all_concrete_functions()]
    graphs = [graph.as_graph_def() for graph in traced]
    nodes = [node for graph in graphs for node in graph.node]
    nodes += [node for graph in graphs for called in graph.library.function for node in called.node_def]
    return {node.op for node in nodes}
