"""Checkpoints: what a framework writes of a training, and reads in another process, by its own means."""

import os
import sys
from time import monotonic

from dlworker.profiling import name_of, part_of
from dlworker.protocol import RequestError
from dlworker.serving import kind_of

PART = "checkpoint"


def require(builder):
    """Raise RequestError with the reason if a builder has no checkpoints."""
    if part_of(builder, PART, "save") is None:
        message = "the builder %s has no module checkpoint, which saves and restores a training" % name_of(builder)
        raise RequestError("unsupported", message)


def write(builder, trainer, folder):
    """Save a training into a folder: the seconds, the bytes of its files, by what means, and what was not kept."""
    save = part_of(builder, PART, "save")
    began = monotonic()
    save(trainer, folder)
    seconds = monotonic() - began
    module = sys.modules[save.__module__]
    return {
        "seconds": seconds,
        "size_bytes": _size(folder),
        "mechanism": module.MECHANISM,
        "not_kept": list(getattr(module, "NOT_KEPT", ())),
    }


def read(builder, trainer, folder):
    """Restore a training from a folder into a new Trainer; returns the seconds.

    Raises RequestError if the framework cannot read it.
    """
    restore = part_of(builder, PART, "restore")
    began = monotonic()
    try:
        restore(trainer, folder)
    except (MemoryError, RequestError):
        raise
    except Exception as error:  # The framework's words alone would not say what it was about to do.
        mechanism, kind = sys.modules[restore.__module__].MECHANISM, type(error).__name__
        message = "the checkpoint (%s) cannot be read in a fresh process: %s: %s" % (mechanism, kind, error)
        raise RequestError(kind_of(error), message)
    return monotonic() - began


def _size(folder):
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)
