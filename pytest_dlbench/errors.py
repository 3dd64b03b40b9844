"""Errors that a user can fix: one class for each remedy."""

from collections.abc import Iterable
from difflib import get_close_matches

# What packages, imports and habit call things that have another name here. Nearness alone would make torch7 of torch.
OTHER_NAMES = {
    "torch": "pytorch",
    "torch.compile": "pytorch-compile",
    "tf": "tensorflow",
    "tf2": "tensorflow",
    "tf1": "tensorflow1",
    "tensorflow-cpu": "tensorflow",
    "keras": "keras-tensorflow",
    "keras2": "keras2-tensorflow",
    "paddlepaddle": "paddle",
    "cuda": "gpu",
    "sklearn": "digits",
    "scikit-learn": "digits",
}


class DlbenchError(Exception):
    """Base of all errors that a user can fix; the message says what is wrong, where, and what to do."""


class OptionError(DlbenchError):
    """An option or ini key has an invalid value."""


class ModelError(DlbenchError):
    """A model cannot be built: a layer does not fit its input, or settings contradict each other."""


class DataError(DlbenchError):
    """A data set cannot be prepared or read."""


class DataMissingError(DataError):
    """The files of a data set are missing; the message ends with the commands that fetch them."""


class EnvironmentMissingError(DlbenchError):
    """A framework's environment is not available: not built, or a Python or a program for it is missing."""


class EnvironmentBuildError(DlbenchError):
    """An environment could not be built; the message ends with the last lines of the installer's log."""


class FileFormatError(DlbenchError):
    """A baseline or journal is damaged, or was written by a version whose format this one cannot read."""


class StorageError(DlbenchError):
    """A file cannot be written, because the disk is full or read-only; the message names it and what to do."""


def unknown_name(kind: str, value: str, where: str, known: Iterable[str]) -> str:
    """The message for an unknown name: the name, where it was given, the known names, and the nearest."""
    names = sorted(known)
    lines = [f"{where}: unknown {kind} {value!r}", f"  known: {', '.join(names) or 'none'}"]
    if close := nearest(value, names):
        lines.append(f"  did you mean {close!r}?")
    return "\n".join(lines)


def nearest(value: str, known: Iterable[str]) -> str:
    """The known name that is meant by another of its names, else the one spelled most like it; empty if none is."""
    names = list(known)
    if (meant := OTHER_NAMES.get(value.lower())) in names:
        return str(meant)
    return next(iter(get_close_matches(value, names, n=1, cutoff=0.4)), "")
