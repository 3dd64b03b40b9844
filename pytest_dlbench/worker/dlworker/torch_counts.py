"""PyTorch's operators and the bytes that they allocate, by its profiler; graphs and graph breaks of torch.compile."""

import sys

# Imported before this module, by a builder or by a user's program.
torch = sys.modules["torch"]


def compiled(trainer):
    """{name: number} of what torch.compile has compiled so far in this process; empty if it is not even imported.

    A recompilation is one more graph for the same code, because a guard failed.
    """
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return {}
    found = {
        "compilations": utils.counters.get("stats", {}).get("unique_graphs", 0),
        "graph_breaks": sum(utils.counters.get("graph_break", {}).values()),
    }
    # Since 2.5; an identifier is FRAME/COMPILATION, the first of which is 0.
    metrics = getattr(utils, "get_compilation_metrics", list)()
    identifiers = {str(getattr(one, "compile_id", None)) for one in metrics}
    if not metrics or "None" not in identifiers:
        found["recompilations"] = sum(not identifier.endswith("/0") for identifier in identifiers)
    return found


def count(run, trainer, device):
    """{name: number} of what ``run`` does: calls of operators, nested ones too, and bytes from PyTorch's allocator."""
    if not hasattr(torch, "profiler"):
        # torch.profiler came with 1.8.1.
        with torch.autograd.profiler.profile() as found:
            run()
        reason = "PyTorch %s does not report allocations" % torch.__version__
        return {"operations": len(found.function_events), "allocated_bytes": reason}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as found:
        run()
    results = getattr(found.profiler, "kineto_results", None)
    if results is None:
        return {"operations": "PyTorch %s has no list of its profiler's events" % torch.__version__}
    events = [(event.name(), event.nbytes()) for event in results.events()]
    return {
        "operations": sum(name != "[memory]" for name, _ in events),
        "allocated_bytes": sum(size for name, size in events if name == "[memory]" and size > 0),
    }
