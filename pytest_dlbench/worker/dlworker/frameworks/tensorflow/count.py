"""The nodes of the graphs that TensorFlow traced for a step, and how often it traced."""


def compiled(trainer):
    """{name: number} of the traces of the step; TensorFlow traces, optimises and compiles it again for new shapes."""
    return traces(trainer._update)


def count(run, trainer, device):
    """{name: number} of the step's graphs; nothing has to run for it."""
    return nodes(trainer._update)


def traces(function):
    """How often a tf.function was traced."""
    return {"compilations": function.experimental_get_tracing_count()}


def nodes(function):
    """The nodes of all graphs of a tf.function, and of the functions that they call, before they are optimised."""
    graphs = [concrete.graph.as_graph_def() for concrete in function._list_all_concrete_functions()]
    called = sum(len(one.node_def) for graph in graphs for one in graph.library.function)
    return {
        "operations": sum(len(graph.node) for graph in graphs) + called,
        "allocated_bytes": "TensorFlow reports no allocations on a CPU",
    }
