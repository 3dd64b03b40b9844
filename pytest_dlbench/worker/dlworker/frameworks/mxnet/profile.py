"""MXNet's own profiler: statistics by operator for forward, backward and update."""

import json
import os
import shutil
import tempfile

import mxnet as mx

from dlworker.profiling import processor_only


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does, operator by operator even if the graph is compiled."""
    processor_only("MXNet", device)
    if trainer.hybrid:
        _divide(trainer)
    milliseconds = {name: of["Total"] for name, of in _statistics(run).items()}
    return {name: taken / 1e3 for name, taken in milliseconds.items() if taken > 0}


def calls(run):
    """{operator: number of calls} of what ``run`` does; a compiled graph is a single operator."""
    return {name: of["Count"] for name, of in _statistics(run).items()}


def _statistics(run):
    folder = tempfile.mkdtemp()
    try:
        # By default the profile is written when the process ends.
        mx.profiler.set_config(filename=os.path.join(folder, "profile.json"), aggregate_stats=True, profile_all=False)
        mx.profiler.set_state("run")
        run()
        mx.profiler.set_state("stop")
        found = json.loads(mx.profiler.dumps(reset=True, format="json"))
    finally:
        shutil.rmtree(folder)
    return found["Time"].get("operator", {})


def _divide(trainer):
    """Run every operator of the graph separately: otherwise many are reported as one, under all their names."""
    trainer.net.hybridize(static_alloc=True, static_shape=True, forward_bulk_size=1, backward_bulk_size=1)
    trainer.loss.hybridize(forward_bulk_size=1, backward_bulk_size=1)
    # Both are compiled by their next call, which should not be in the profile.
    trainer.step(0)
