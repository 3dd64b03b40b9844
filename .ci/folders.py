"""What the tests of a folder depend on, as one key for each folder in tests/ that needs only a part of the driver.

The driver's layers import one way, so a change to the command line cannot change what tests/judging finds. A key
changes with the folder, with all modules of tests/ and of the driver that its tests import or name, directly or not,
with the data files next to these, with the worker, with Python and with all installed packages.

Folders whose tests start sessions of pytest or commands need all of the driver, and have no key: they always run. Only
tests/cluster has one, which is of all of the driver.
"""

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from contents import ROOT, WORKER, below, content, digest, processor, test_files

DRIVER = "pytest_dlbench"
FOLDERS = ("cluster", "data", "environments", "judging", "model", "running", "sampling")
# For all of them.
SHARED = (
    *("conftest.py", "pyproject.toml", f"{WORKER.relative_to(ROOT)}/**/*.py"),
    # Tests name builders and other doubles as text, without their packages.
    *("tests/doubles/**/*.py", "tests/doubles/**/*.c"),
)
NAME = re.compile(rf"\b(?:{DRIVER}|tests)(?:\.\w+)+")
# Each of the names may be a module.
FROM = re.compile(rf"\bfrom ((?:{DRIVER}|tests)[\w.]*) import (\([^)]*\)|.*)")
WORD = re.compile(r"\w+")
# Begins with plain letters, for which a search is ten times as fast.
WHOLE = re.compile(rf"(?m)import {DRIVER}(?:$| as\b)")


def folder_keys() -> dict[str, str]:
    """The key of each folder."""
    return {name: digest([[content(file) for file in files(name)], _installed(), processor()]) for name in FOLDERS}


def files(name: str) -> list[Path]:
    """The files that tests/NAME depends on."""
    own = [file for file in (ROOT / "tests" / name).rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    found = {*own, *(file for pattern in SHARED for file in below(pattern))}
    return sorted(found | followed(file for file in [*own, ROOT / "tests" / "conftest.py"] if file.suffix == ".py"))


def driver_key(tests: tuple[str, ...]) -> str:
    """What test files depend on in the driver."""
    return digest([content(file) for file in sorted(followed(test_files(tests)))])


def followed(modules: Iterable[Path]) -> set[Path]:
    """These modules, all of tests/ and of the driver that they import or name, directly or not, and data next to it."""
    todo, seen = list(modules), set[Path]()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += _imported(file)
    return seen | {data for file in seen for data in _data(file.parent)}


@cache
def _imported(file: Path) -> tuple[Path, ...]:
    """Modules that a file names anywhere, texts of programs and patches included, and the packages above them."""
    text = file.read_text(encoding="utf-8")
    imported = (f"{package}.{name}" for package, names in FROM.findall(text) for name in WORD.findall(names))
    found = {module for name in (*NAME.findall(text), *imported) for module in _modules(name)}
    # The public API loads anything.
    return tuple(found | {*below(f"{DRIVER}/**/*.py")} if WHOLE.search(text) else found)


@cache
def _modules(name: str) -> tuple[Path, ...]:
    """The module that a name begins with, and its packages except the driver's root, which loads nothing."""
    parts, known = name.split("."), _by_name()
    names = (".".join(parts[:count]) for count in range(2, len(parts) + 1))
    return tuple(known[one] for one in names if one in known)


@cache
def _by_name() -> dict[str, Path]:
    """All modules and packages of the driver and of tests/."""
    files = (*below(f"{DRIVER}/**/*.py"), *below("tests/**/*.py"))
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


@cache
def _data(folder: Path) -> tuple[Path, ...]:
    """Files next to modules that are no modules: schemas, templates, tables."""
    if not folder.is_relative_to(ROOT / DRIVER) and not folder.is_relative_to(ROOT / "tests"):
        return ()
    return tuple(file for file in folder.iterdir() if file.is_file() and file.suffix not in (".py", ".pyc", ".pyi"))


@cache
def _installed() -> list[str]:
    """Python, and the names of the folders that describe its packages: name and version."""
    return [sys.version, *sorted({found.name for path in sys.path for found in Path(path).glob("*.dist-info")})]
