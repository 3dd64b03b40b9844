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
    milliseconds = {name: of["Total"] for name, of in found["Time"].get("operator", {}).items()}
    return {name: taken / 1e3 for name, taken in milliseconds.items() if taken > 0}


def _divide(trainer):
    """Run every operator of the graph separately: otherwise many are reported as one, under all their names."""
    trainer.net.hybridize(static_alloc=True, static_shape=True, forward_bulk_size=1, backward_bulk_size=1)
    trainer.loss.hybridize(forward_bulk_size=1, backward_bulk_size=1)
    # Both are compiled by their next call, which should not be in the profile.
    trainer.step(0)
