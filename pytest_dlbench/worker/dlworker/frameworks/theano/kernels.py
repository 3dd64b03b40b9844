"""The recurrent layers in the functions that Theano compiled."""

from dlworker.recurrent_kernels import SCAN


def recurrent_kernels(run, trainer, device, is_training):
    """{operator: kind} of the step, or of inference; nothing has to run for it."""
    return kernels_of(trainer._step if is_training else trainer._apply)


def kernels_of(function):
    """The same of a compiled function."""
    operators = {type(node.op).__name__ for node in function.maker.fgraph.apply_nodes}
    return {"Scan": SCAN} if "Scan" in operators else "the compiled function has no loop"
