"""MXNet's own profiler: its statistics by operator, forward, backward and of the update."""

import json
import os
import shutil
import tempfile

import mxnet as mx


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does, one operator after the other, also where the graph is compiled."""
    if trainer.hybrid:
        _divide(trainer)
    folder = tempfile.mkdtemp()
    try:
        # Written when the process ends, or where it is told to.
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
    """Run every operator of the graph by itself: else many are told as one, under the names of all."""
    trainer.net.hybridize(static_alloc=True, static_shape=True, forward_bulk_size=1, backward_bulk_size=1)
    trainer.loss.hybridize(forward_bulk_size=1, backward_bulk_size=1)
    # Both are compiled by their next call, which is not to be in the profile.
    trainer.step(0)
