"""JAX's profile of programs that XLA compiled: operators, by XLA's names."""

import gzip
import json
import os
import re
import shutil
import tempfile
from glob import glob

from dlworker.profiling import own_times, summed


def operator_seconds(run, trace):
    """{operator: seconds} of what ``run`` does, loops without their bodies. All fusion.N are summed as fusion.

    ``trace`` is ``jax.profiler.trace``.
    """
    folder = tempfile.mkdtemp()
    try:
        with trace(folder):
            run()
        files = glob(os.path.join(folder, "**", "*.trace.json.gz"), recursive=True)
        return _sums(event for path in files for event in _events(path))
    finally:
        shutil.rmtree(folder)


def _events(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def _sums(events):
    threads = {}
    for event in events:
        operator = event.get("args", {}).get("hlo_op")
        if event.get("ph") == "X" and operator:
            begin, name = event["ts"], re.sub(r"(\.\d+)+$", "", operator)
            threads.setdefault((event["pid"], event["tid"]), []).append((name, begin, begin + event["dur"]))
    microseconds = summed(own_times(found) for found in threads.values())
    return {name: taken / 1e6 for name, taken in microseconds.items() if taken > 0}
