"""Caffe2's own benchmark of a net, which times every operator."""

from caffe2.python import workspace

from dlworker.profiling import summed


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does.

    Every step runs twice: Caffe2 runs the net as a whole before it times one operator after the other.
    """
    found, usual = [], workspace.RunNet

    def benched(net):
        # The first entry is the net as a whole.
        found.extend(zip(net.Proto().op, workspace.BenchmarkNet(net.Name(), 0, 1, True)[1:]))

    workspace.RunNet = benched
    try:
        run()
    finally:
        workspace.RunNet = usual
    return summed({operator.type: milliseconds / 1e3} for operator, milliseconds in found if milliseconds > 0)
