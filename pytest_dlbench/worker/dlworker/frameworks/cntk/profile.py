"""CNTK's own timing of the nodes of a graph, which does not include a learner's work."""

import os
import re
import tempfile

import cntk as C  # noqa: N812 - the name it has in CNTK's own documentation

from dlworker.profiling import summed

NODE = r"^(\S+?)\d*\s+forward avg (\S+)s, backward avg (\S+)s \(fwd# (\d+)\|bwd# (\d+)\)"


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does, forward and backward separately, to the microsecond per node."""
    return node_seconds(run, trainer.trainer)


def node_seconds(run, trainer):
    """The same for CNTK's own trainer, which appends a number to each node's name: Convolution24."""
    C.debugging.set_node_timing(True)
    try:
        run()
    finally:
        # set_node_timing(False) calls a function by a name that does not exist.
        C.cntk_py.disable_node_timeing()
    nodes = re.findall(NODE, _captured_standard_error(trainer.print_node_timing), re.MULTILINE)
    forward = summed({name: float(mean) * int(times)} for name, mean, _, times, _ in nodes)
    backward = summed({name + " backward": float(mean) * int(times)} for name, _, mean, _, times in nodes)
    return {name: taken for name, taken in summed([forward, backward]).items() if taken > 0}


def _captured_standard_error(call):
    """What C++ code writes to standard error during a call."""
    usual = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            call()
        finally:
            os.dup2(usual, 2)
            os.close(usual)
        file.seek(0)
        return file.read().decode()
