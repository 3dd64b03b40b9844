"""Which operators a step is made of, by the framework's own profiler: asked for after a regression, never measured."""

import importlib

from dlworker.protocol import RequestError

# By builder: the module whose ``profile(run, trainer, device)`` gives {operator: seconds}. A builder may have one of
# its own; a variant, whose Trainer is another builder's, has that one's.
PROFILERS = {
    "dlworker.frameworks.%s" % name: "dlworker.frameworks.%s_profile" % name
    for name in (
        "caffe2",
        "chainer",
        "cntk",
        "jax",
        "keras",
        "keras2",
        "mxnet",
        "paddle",
        "pytorch",
        "tensorflow",
        "tensorflow1",
        "theano",
        "tinygrad",
    )
}
# Frameworks with nothing to ask.
WITHOUT = {
    "dlworker.frameworks.mlx": "MLX has no profiler: it traces a Mac's GPU for Xcode, and no CPU",
}


def profiler_of(builder):
    """The function that profiles what a builder has built; a RequestError with the reason where there is none."""
    own = getattr(builder, "profile", None)
    if own is not None:
        return own
    for module in [kind.__module__ for kind in builder.Trainer.__mro__]:
        if module in WITHOUT:
            raise RequestError("unsupported", WITHOUT[module])
        if module in PROFILERS:
            return importlib.import_module(PROFILERS[module]).profile
    name = builder.__name__.rpartition(".")[2]
    raise RequestError("unsupported", "the builder %s has no function profile(run, trainer, device)" % name)


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
