"""Which kernels compute the recurrent layers of a network, found out after the measurement from what really ran.

A builder does so by a function ``recurrent_kernels``, which may be in the module ``kernels`` of its folder
(``dlworker.frameworks``). A kernel is named as the framework names it, and is of one of these kinds.
"""

from dlworker.profiling import name_of, part_of

# One call of a library for all steps of a sequence, or of an operator of the framework itself.
CUDNN, ONEDNN, FUSED = "cudnn", "onednn", "fused"
# A loop within a graph or compiled program; one whose steps are each in it; calls step by step from outside.
SCAN, UNROLLED, LOOP = "scan", "unrolled", "loop"


def found(builder, trainer, device, run, is_training):
    """({kernel: kind}, "") of what ``run()`` does, or ({}, the reason why the kernels are unknown)."""
    find = part_of(builder, "kernels", "recurrent_kernels")
    if find is None:
        reason = "the builder %s has no function recurrent_kernels(run, trainer, device, is_training)"
        return {}, reason % name_of(builder)
    try:
        kernels = find(run, trainer, device, is_training)
    except Exception as error:  # The boundary: a profiler can raise anything, and the run has its figures already.
        kernels = "%s: %s" % (type(error).__name__, error)
    return ({}, kernels) if isinstance(kernels, str) else (kernels, "")


def steps_of(network):
    """The numbers of steps of a network's recurrent layers."""
    return {layer["input"][0] for layer in network["layers"] if layer["kind"] in ("lstm", "gru")}


def step_by_step(network, counts, products, kind):
    """{operator: kind} of the first of these products that is there at least once per step; otherwise the reason.

    ``counts`` are how often each operator was called, or is in a graph.
    """
    least = min(steps_of(network))
    repeated = [name for name in products if counts.get(name, 0) >= least]
    if repeated:
        return {repeated[0]: kind}
    names = ", ".join(products)
    return "no operator for a whole sequence is there, and none of %s once for each of %d steps" % (names, least)
