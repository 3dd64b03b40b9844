"""Which operators a step is made of, by the framework's own profiler: asked for after a regression, never measured."""

import importlib
import importlib.util
import sys

from dlworker.protocol import RequestError


def profiler_of(builder):
    """The function that profiles what a builder has built; a RequestError with the reason where there is none.

    It is the builder's own ``profile``, or that of the module ``profile`` in its folder. A variant, whose Trainer is
    another builder's, has that one's.
    """
    own = getattr(builder, "profile", None)
    if callable(own):
        return own
    for name in [builder.__name__] + [kind.__module__ for kind in builder.Trainer.__mro__]:
        is_folder = hasattr(sys.modules.get(name), "__path__")
        if is_folder and importlib.util.find_spec(name + ".profile"):
            return importlib.import_module(name + ".profile").profile
    message = "the builder %s has no function profile(run, trainer, device)" % name_of(builder)
    raise RequestError("unsupported", message)


def name_of(builder):
    """What messages call a builder: pytorch, pytorch.compile, or a module of a user's own."""
    return builder.__name__.replace("dlworker.frameworks.", "")


def processor_only(framework, device):
    """Raise RequestError for a graphics card, of which no profile of this framework has been looked at."""
    if not device.startswith("cpu"):
        raise RequestError("unsupported", "of %s a profile is read on the CPU only, not on %r" % (framework, device))


def own_times(events):
    """{name: time in it, without the events within it} of one thread's events (name, begin, end).

    Of events that lie apart or one within the other these add up to the time in which there was any.
    """
    found, around = {}, []
    for name, begin, end in sorted(events, key=lambda event: (event[1], -event[2])):
        # One that ends later is not within: clocks are rounded, and two in a row may overlap by a hair.
        while around and (around[-1][1] <= begin or around[-1][1] < end):
            around.pop()
        if around:
            found[around[-1][0]] -= end - begin
        found[name] = found.get(name, 0) + end - begin
        around.append((name, end))
    return found


def summed(parts):
    """One {name: seconds} of several."""
    found = {}
    for part in parts:
        for name, seconds in part.items():
            found[name] = found.get(name, 0) + seconds
    return found
