"""Imports a program as pytest would: a file by its path, or a module by its name."""

import hashlib
import importlib
import io
import os
import sys

from dlworker.programs.problems import ProgramError, is_own

STYLES = "build(run), which returns a dictionary with 'step', or main(run), which is a loop of its own"


def load(root, source, function):
    """The function of a program. ``source`` is a file, relative to ``root``, or the name of a module."""
    file = os.path.join(root, source) if source.endswith(".py") else None
    if file and not os.path.isfile(file):
        raise ProgramError("there is no file %s" % file)
    base, name = _place(file) if file else (root, source)
    folders = [base, root, os.path.join(root, "src")] + ([os.path.dirname(file)] if file else [])
    # The worker's own folder stays first: the standard library finds no module of a program under its name.
    sys.path[1:1] = [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]
    module = importlib.import_module(name)
    found = getattr(module, "__file__", None)
    if file and not (found and os.path.samefile(found, file)):
        raise ProgramError("its name %r is that of %s, which was imported instead; rename it" % (name, found))
    return _function(module, source, function)


def _place(file):
    """The folder from which a file is imported and its name there, which begins with its packages."""
    folder, name = os.path.split(file[: -len(".py")])
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = "%s.%s" % (package, name)
    return folder, name


def _function(module, source, function):
    if not function:
        raise ProgramError("%s defines neither build nor main; expected %s" % (source, STYLES))
    found = getattr(module, function, None)
    if not callable(found):
        known = sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))
        has = ", ".join(known) or "no function"
        raise ProgramError("%s has no function %r, it has %s" % (source, function, has))
    return found


def files(root):
    """{path below ``root``: the first digits of its SHA-256} of all modules that were imported from there."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and is_own(file, root):
            found[os.path.relpath(file, root)] = _digest(file)
    return {name: digest for name, digest in found.items() if digest}


def _digest(file):
    try:
        with io.open(file, "rb") as opened:
            return hashlib.sha256(opened.read()).hexdigest()[:12]
    except OSError:
        return ""


def imported(distributions):
    """{distribution: version} of the distributions of which a module is imported."""
    names = {name.partition(".")[0] for name in list(sys.modules)}
    return {
        name: version
        for name, (version, modules) in distributions.items()
        if name.replace("-", "_") in names or names & modules
    }
