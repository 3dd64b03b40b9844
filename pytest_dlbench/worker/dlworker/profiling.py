"""The operators of a step, by the framework's own profiler: run after a regression, never while measuring."""

import importlib
import importlib.util
import sys

from dlworker.protocol import RequestError


def profiler_of(builder):
    """The function that profiles a builder's trainer; raises RequestError with the reason if there is none."""
    found = part_of(builder, "profile", "profile")
    if found:
        return found
    message = "the builder %s has no function profile(run, trainer, device)" % name_of(builder)
    raise RequestError("unsupported", message)


def part_of(builder, module, function):
    """A function that a builder need not have: its own, or that of this module in its folder; None if it has none.

    A variant, whose Trainer derives from another builder's, uses that builder's.
    """
    own = getattr(builder, function, None)
    if callable(own):
        return own
    for name in [builder.__name__] + [kind.__module__ for kind in builder.Trainer.__mro__]:
        is_folder = hasattr(sys.modules.get(name), "__path__")
        if is_folder and importlib.util.find_spec("%s.%s" % (name, module)):
            return getattr(importlib.import_module("%s.%s" % (name, module)), function, None)
    return None


def name_of(builder):
    """A builder's name in messages: pytorch, pytorch.compile, or a user's module."""
    return builder.__name__.replace("dlworker.frameworks.", "")


def processor_only(framework, device):
    """Raise RequestError for a GPU: this framework's profiles of GPUs have not been checked."""
    if not device.startswith("cpu"):
        raise RequestError(
            "unsupported", "profiles of %s are supported only on the CPU, not on %r" % (framework, device)
        )


def own_times(events):
    """{name: exclusive time, without nested events} of one thread's events (name, begin, end).

    For disjoint or nested events these add up to the time in which any event was active.
    """
    found, around = {}, []
    for name, begin, end in sorted(events, key=lambda event: (event[1], -event[2])):
        # An event that ends later is not nested: clocks are rounded, and consecutive events may overlap slightly.
        while around and (around[-1][1] <= begin or around[-1][1] < end):
            around.pop()
        if around:
            found[around[-1][0]] -= end - begin
        found[name] = found.get(name, 0) + end - begin
        around.append((name, end))
    return found


def summed(parts):
    """The sum of several {name: seconds}."""
    found = {}
    for part in parts:
        for name, seconds in part.items():
            found[name] = found.get(name, 0) + seconds
    return found
