"""Which operators a step is made of, by the framework's own profiler: asked for after a regression, never measured."""

import importlib

from dlworker.protocol import RequestError

# By builder: the module whose ``profile(run, device)`` gives {operator: seconds}. A builder may have one of its own.
PROFILERS = {
    "dlworker.frameworks.pytorch": "dlworker.frameworks.pytorch_profile",
    "dlworker.frameworks.pytorch_compile": "dlworker.frameworks.pytorch_profile",
    "dlworker.frameworks.jax": "dlworker.frameworks.jax_profile",
}


def profiler_of(builder):
    """The function that profiles what a builder has built; a RequestError where none is wired."""
    own = getattr(builder, "profile", None)
    if own is not None:
        return own
    if builder.__name__ not in PROFILERS:
        name = builder.__name__.rpartition(".")[2]
        raise RequestError("unsupported", "no profiler is wired for the builder %s" % name)
    return importlib.import_module(PROFILERS[builder.__name__]).profile
