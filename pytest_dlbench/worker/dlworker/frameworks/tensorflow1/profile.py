"""TensorFlow 1's own trace of what a session runs: operators by type."""

import re

import tensorflow as tf

from dlworker.profiling import summed

TRACED = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


class TracedSession:
    """A session that keeps the trace of everything it runs."""

    def __init__(self, session):
        self.session, self.traces = session, []

    def run(self, fetches, fed):
        metadata = tf.RunMetadata()
        found = self.session.run(fetches, fed, options=TRACED, run_metadata=metadata)
        self.traces.append(metadata.step_stats)
        return found


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does."""
    return operator_seconds(traced(run, trainer))


def traced(run, trainer):
    """The traces of what ``run`` does."""
    usual = trainer.session
    trainer.session = keeping = TracedSession(usual)
    try:
        run()
    finally:
        trainer.session = usual
    return keeping.traces


def operator_seconds(traces):
    """{operator: seconds} of the traces of some runs; an operator's time is that of its kernel."""
    return summed({name: taken / 1e6} for name, taken in kernels(traces) if taken > 0)


def kernels(traces):
    """[(operator, microseconds)] of the kernels in the traces of some runs."""
    nodes = [node for trace in traces for on_device in trace.dev_stats for node in on_device.node_stats]
    found = [(_type(node), node.op_end_rel_micros - node.op_start_rel_micros) for node in nodes]
    return [(name, taken) for name, taken in found if name]


def _type(node):
    """Conv2D from the label "conv1/Conv2D = Conv2D(inputs, conv1/kernel)"; nodes without a kernel have other labels."""
    found = re.search(r" = (\w+)\(", node.timeline_label)
    return found and found.group(1)
