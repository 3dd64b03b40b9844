"""TensorFlow 2's own profiler: a graph's operators by type, those of a compiled program by XLA's names."""

import os
import re
import shutil
import tempfile
from glob import glob

import tensorflow as tf

from dlworker.profiling import own_times, processor_only, summed

try:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
except ImportError:  # Before 2.12.
    from tensorflow.core.profiler.protobuf import xplane_pb2


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does, excluding nested operators.

    A node gradients/conv1/Conv2D:Conv2D is a Conv2D; XLA's fusion.12 is a fusion.
    """
    processor_only("TensorFlow", device)
    folder = tempfile.mkdtemp()
    try:
        with tf.profiler.experimental.Profile(folder):
            run()
        files = glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        threads = [_operators(plane, line) for path in files for plane in _planes(path) for line in plane.lines]
    finally:
        shutil.rmtree(folder)
    picoseconds = summed(own_times(events) for events in threads)
    return {name: taken / 1e12 for name, taken in picoseconds.items() if taken > 0}


def _planes(path):
    space = xplane_pb2.XSpace()
    with open(path, "rb") as file:
        space.ParseFromString(file.read())
    return space.planes


def _operators(plane, line):
    """(operator, begin, end) of one thread, in picoseconds; the profiler reports many other events."""
    for event in line.events:
        name = _operator(plane, event)
        if name:
            yield name, event.offset_ps, event.offset_ps + event.duration_ps


def _operator(plane, event):
    if any(plane.stat_metadata[stat.metadata_id].name == "hlo_op" for stat in event.stats):
        return re.sub(r"(\.\d+)+$", "", plane.event_metadata[event.metadata_id].name)
    # A node's name and type. Functions, whose names begin with two underscores, consist of operators.
    node = re.match(r"[\w/.>-]+:(?!__)(\w+)$", plane.event_metadata[event.metadata_id].name)
    return node and node.group(1)
