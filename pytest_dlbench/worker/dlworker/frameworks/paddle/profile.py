"""Paddle's own profiler: time in the kernels of forward, backward and update."""

from paddle.profiler import Profiler, ProfilerTarget

from dlworker.profiling import own_times, processor_only, summed

LAUNCH = " kernel launch"


def profile(run, trainer, device):
    """{kernel: seconds} of what ``run`` does."""
    processor_only("Paddle", device)
    nanoseconds = summed(own_times(thread) for thread in launches(run))
    return {name: taken / 1e9 for name, taken in nanoseconds.items() if taken > 0}


def launches(run):
    """The kernels that ``run`` launches, as (kernel, begin, end) in nanoseconds, thread by thread.

    On a GPU a launch ends before its kernel.
    """
    # Without a handler the profiler writes a folder of files into the working directory.
    with Profiler(targets=[ProfilerTarget.CPU], on_trace_ready=lambda found: None) as found:
        run()
    return [list(_launches(tree)) for tree in found.profiler_result.get_data().values()]


def _launches(tree):
    """(kernel, begin, end) of one thread, in nanoseconds. On a CPU a launch ends with its kernel."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children_node)
        if node.name.endswith(LAUNCH):
            yield node.name[: -len(LAUNCH)], node.start_ns, node.end_ns
