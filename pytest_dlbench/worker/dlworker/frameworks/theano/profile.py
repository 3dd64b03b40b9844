"""Theano's own profile of a compiled function by operator, for which the function is compiled again."""

from theano.compile.profiling import ProfileStats

from dlworker.profiling import summed


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does."""
    stats, usual = ProfileStats(atexit_print=False), trainer._step
    # Function.copy(profile=...) would be faster, but returns functions that mix up their arrays.
    trainer._step = trainer.compile_step(profile=stats)
    try:
        run()
    finally:
        trainer._step = usual
    return operator_seconds(stats)


def operator_seconds(stats):
    """{operator: seconds} of a profile. Theano-PyMC's keys are a graph and a node, Theano's a node."""
    nodes = [(node[1] if isinstance(node, tuple) else node, taken) for node, taken in stats.apply_time.items()]
    return summed({str(node.op): taken} for node, taken in nodes if taken > 0)
