"""PyTorch's own profiler: the exclusive time of each operator."""

import re

import torch

from dlworker.profiling import own_times, summed

# PyTorch before 1.8.1 demangles its operator t as a C++ type.
MISREAD = {"unsigned short": "t"}


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does: kernels on a GPU, operators on a CPU."""
    is_on_gpu = not device.startswith("cpu")
    # torch.profiler came with 1.8.1.
    found = _profile(run, is_on_gpu) if hasattr(torch, "profiler") else _autograd_profile(run, is_on_gpu)
    return {name: taken / 1e6 for name, taken in found.items() if taken > 0}


def _profile(run, is_on_gpu):
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU, kinds.CUDA] if is_on_gpu else [kinds.CPU]
    with torch.profiler.profile(activities=activities) as found:
        run()
    # The name of a compiled graph contains a hash, which differs between versions.
    names = [(re.sub(r"## Call (\w+) \w+ ##", r"\1", event.key), event) for event in found.key_averages()]
    return summed({name: _microseconds(event, is_on_gpu)} for name, event in names)


def _microseconds(event, is_on_gpu):
    if not is_on_gpu:
        return event.self_cpu_time_total
    # The attribute's name since 2.4, and the one before.
    return getattr(event, "self_device_time_total", None) or getattr(event, "self_cuda_time_total", 0)


def _autograd_profile(run, is_on_gpu):
    """For PyTorch before 1.8.1, which reports every call including nested ones, and its thread."""
    with torch.autograd.profiler.profile(use_cuda=is_on_gpu) as found:
        run()
    calls = [(MISREAD.get(event.name, event.name), event) for event in found.function_events]
    if is_on_gpu:
        return summed({name: event.cuda_time_total} for name, event in calls)
    threads = {}
    for name, event in calls:
        threads.setdefault(event.thread, []).append((name, event.cpu_interval.start, event.cpu_interval.end))
    return summed(own_times(events) for events in threads.values())
