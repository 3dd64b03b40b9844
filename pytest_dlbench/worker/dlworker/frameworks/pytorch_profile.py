"""PyTorch's own profiler: time in each operator itself, without those that it calls."""

import re

import torch

from dlworker.protocol import RequestError


def profile(run, device):
    """{operator: seconds} of what ``run`` does; of kernels on a graphics card, of operators on the processor."""
    if not hasattr(torch, "profiler"):
        raise RequestError("unsupported", "torch %s has no torch.profiler; 1.8.1 is the first" % torch.__version__)
    kinds, on_card = torch.profiler.ProfilerActivity, not device.startswith("cpu")
    activities = [kinds.CPU, kinds.CUDA] if on_card else [kinds.CPU]
    with torch.profiler.profile(activities=activities) as found:
        run()
    seconds = {}
    for event in found.key_averages():
        # The name of a compiled graph has its hash, which no other version has.
        name = re.sub(r"## Call (\w+) \w+ ##", r"\1", event.key)
        seconds[name] = seconds.get(name, 0.0) + _microseconds(event, on_card) / 1e6
    return {name: taken for name, taken in seconds.items() if taken > 0}


def _microseconds(event, on_card):
    if not on_card:
        return event.self_cpu_time_total
    # The name that it has had since 2.4, and the one before.
    return getattr(event, "self_device_time_total", None) or getattr(event, "self_cuda_time_total", 0)
