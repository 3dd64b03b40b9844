"""The distributions installed in this Python, read from the files that installers leave next to packages.

Python 3.6 and 3.7 have no importlib.metadata, and pkg_resources may be missing; the files are the same everywhere.
"""

import io
import os
import re
import sys

# Builders also report compilers and libraries of the system; distributions of these names are something else.
NOT_PYTHON = frozenset({"clang", "cuda", "cuda-driver", "cudnn", "g++", "gcc", "openblas", "python"})
# The metadata in a folder of a wheel, of an egg, and in a single file, as distutils wrote it.
FILES = ("METADATA", "PKG-INFO", "")


def canonical(name):
    """A distribution's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(path=None):
    """{canonical name: (version, names of its modules)}; the first on the path wins, as it does for imports."""
    found = {}
    for folder in sys.path if path is None else path:
        for entry in _entries(folder):
            name, version = _name_and_version(entry)
            if name and version:
                found.setdefault(canonical(name), (version, _modules(entry)))
    return found


def sources(claimed, distributions):
    """{claimed name: {distribution: version}}: the distributions that contain what a builder reports a version of."""
    found = {}
    for name in claimed:
        if name not in NOT_PYTHON:
            found[name] = {
                distribution: version
                for distribution, (version, modules) in distributions.items()
                if distribution == canonical(name) or name in modules
            }
    return {name: versions for name, versions in found.items() if versions}


def _entries(folder):
    try:
        names = sorted(os.listdir(folder or os.curdir))
    except OSError:
        # Python's own library as a zip file, or a folder that does not exist.
        return []
    endings = (".dist-info", ".egg-info", "EGG-INFO")
    return [os.path.join(folder, name) for name in names if name.endswith(endings)]


def _name_and_version(entry):
    for file in FILES:
        lines = _lines(os.path.join(entry, file) if file else entry)
        if lines:
            fields = dict(line.partition(": ")[::2] for line in reversed(_head(lines)))
            return fields.get("Name", "").strip(), fields.get("Version", "").strip()
    return "", ""


def _head(lines):
    """The lines before the first empty one, after which the description begins."""
    return lines[: lines.index("")] if "" in lines else lines


def _modules(entry):
    return frozenset(_lines(os.path.join(entry, "top_level.txt")))


def _lines(file):
    try:
        with io.open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read().splitlines()
    except OSError:
        return []


def imported_from(folder, checkout):
    """The modules that come from a folder, apart from dlworker; none without a folder.

    Environments and the checkout may be in it, and do not count. Nor does the environment of the driver, which has
    dlworker: with it, the worker's main module is there, whatever its own environment.
    """
    if folder is None:
        return []
    here = os.path.dirname(__file__)
    inside, *others = [os.path.join(os.path.realpath(path), "") for path in (folder, sys.prefix, checkout, here)]
    found = []
    for name, module in sorted(sys.modules.items()):
        # Not by getattr, which may load a lazy module.
        path = getattr(module, "__dict__", {}).get("__file__")
        path = os.path.realpath(path) if isinstance(path, str) else ""
        if path.startswith(inside) and not path.startswith(tuple(others)):
            found.append(name)
    return found
