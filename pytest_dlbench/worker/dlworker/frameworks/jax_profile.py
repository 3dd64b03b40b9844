"""JAX's own profiler: the operators of compiled programs, by the names that XLA gives them."""

import gzip
import json
import os
import re
import shutil
import tempfile
from glob import glob

import jax


def profile(run, device):
    """{operator: seconds} of what ``run`` does. What XLA numbers, such as fusion.12, is added up: fusion."""
    folder = tempfile.mkdtemp()
    try:
        with jax.profiler.trace(folder):
            run()
        files = glob(os.path.join(folder, "**", "*.trace.json.gz"), recursive=True)
        return _sums(event for path in files for event in _events(path))
    finally:
        shutil.rmtree(folder)


def _events(path):
    with gzip.open(path, "rt") as file:
        return json.load(file)["traceEvents"]


def _sums(events):
    found = {}
    for event in events:
        operator = event.get("args", {}).get("hlo_op")
        if event.get("ph") == "X" and operator:
            name = re.sub(r"(\.\d+)+$", "", operator)
            found[name] = found.get(name, 0.0) + event["dur"] / 1e6
    return found
