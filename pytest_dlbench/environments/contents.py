"""What is in an environment, as a digest: two runs are alike only if their frameworks and builders were the same."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.environments.supports import WORKER

# What the folder of a virtual environment has.
PREFIX = "pyvenv.cfg"
# Files that no worker imports; a session may be resumed to correct what a test requires.
TESTS = re.compile(r"/tests?/|/test_[^/]*\.py$|/conftest\.py$")


def digest(framework: Framework, place: Place) -> str:
    """The installed distributions, the worker, and the folders of the framework's builder, or the user's revision."""
    is_current = place.environment == CURRENT
    # What git knows of a repository's content is complete, and read in no time.
    revision = framework.checkout.content if framework.checkout else ""
    parts = [_distributions("" if is_current else str(place.python)), *map(sources, (WORKER, *framework.folders))]
    settings = sorted({**dict(framework.variables), **place.variables, **dict(framework.more_variables)}.items())
    return hashlib.sha256("\n".join([framework.builder, revision, *parts, repr(settings)]).encode()).hexdigest()


@cache
def _distributions(python: str) -> str:
    """The digest of what is installed for a Python; of this process without one."""
    whole = hashlib.sha256()
    for info in sorted({info for folder in _folders(python) for info in folder.glob("*.*-info")}):
        whole.update(f"{info.name}\n".encode())
        # It lists every file with its hash.
        record = info / "RECORD"
        whole.update(record.read_bytes() if record.is_file() else b"")
        whole.update(_editable(info).encode())
    return whole.hexdigest()


def _editable(info: Path) -> str:
    """The digest of the code of an editable installation, without its tests; empty if it is none.

    Of this package, the worker is hashed anyway.
    """
    origin = info / "direct_url.json"
    if info.name.startswith("pytest_dlbench-") or not origin.is_file():
        return ""
    try:
        found = json.loads(origin.read_bytes())
        folder = Path(url2pathname(urlsplit(found["url"]).path)) if found["dir_info"]["editable"] else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # A copy, or damaged: RECORD is all that there is.
        return ""
    return sources(folder, has_tests=False) if folder else ""


def _folders(python: str) -> Iterator[Path]:
    if not python:
        yield from (Path(entry) for entry in sys.path if entry)
        return
    prefix = Path(python).parent.parent
    yield from (folder for kind in ("site", "dist") for folder in prefix.glob(f"lib*/python*/{kind}-packages"))


@cache
def sources(folder: Path, *, has_tests: bool = True) -> str:
    """The digest of a folder's Python files, with or without its tests; environments and hidden folders never count."""
    whole = hashlib.sha256()
    for file in sorted(_written(folder)):
        if not has_tests and TESTS.search(f"/{file.relative_to(folder)}"):
            continue
        whole.update(f"{file.relative_to(folder)}\n".encode())
        whole.update(file.read_bytes())
    return whole.hexdigest()


def _written(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        here = Path(parent)
        folders[:] = [name for name in folders if not name.startswith(".") and not (here / name / PREFIX).is_file()]
        # Editors have links of such names that lead nowhere.
        yield from (here / name for name in files if name.endswith(".py") and (here / name).is_file())
