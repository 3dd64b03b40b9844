"""What a user can do wrong, one class for each thing that can be done about it."""

from collections.abc import Iterable
from difflib import get_close_matches


class DlbenchError(Exception):
    """The base of every error that is a user's to mend; its text says what, where and what to do."""


class OptionError(DlbenchError):
    """An option or ini key with a value that means nothing."""


class ModelError(DlbenchError):
    """A model that cannot be built: a layer that does not fit its input, or settings that contradict each other."""


class DataError(DlbenchError):
    """A data set that cannot be prepared or read."""


class DataMissingError(DataError):
    """A data set whose files are not here; the text ends with the commands that bring them."""


class EnvironmentMissingError(DlbenchError):
    """A framework whose environment is not here: not built, or without a Python to build it with."""


class EnvironmentBuildError(DlbenchError):
    """An environment that could not be built; the text ends with the end of the installer's log."""


class FileFormatError(DlbenchError):
    """A baseline or a journal that is damaged, or was written by a version that this one cannot read."""


def unknown_name(kind: str, value: str, where: str, known: Iterable[str]) -> str:
    """The message for a name that nobody knows: what was given, where, what there is, and the nearest match."""
    names = sorted(known)
    lines = [f"{where}: unknown {kind} {value!r}", f"  known: {', '.join(names) or 'none'}"]
    if nearest := get_close_matches(value, names, n=1, cutoff=0.4):
        lines.append(f"  did you mean {nearest[0]!r}?")
    return "\n".join(lines)
