"""What tests depend on: one key for each folder in tests/ that needs only a part of the driver.

The driver's layers import one way, so a change to the command line cannot change what tests/judging finds. A key
changes with the folder, with all modules of tests/ and of the driver that its tests import or name, directly or not,
with the data files next to these, with the worker, with Python and with all installed packages.

Folders whose tests start sessions of pytest or commands need all of the driver, and have no key: they always run. Only
tests/cluster has one: its sessions load all of the driver, and examine where runs are placed and how they end. What
comes after, verdicts and reports, is no part of its key, because tests of sessions on one machine examine it.

Each file of the worker's tests that is in no sweep of frameworks (contents.py) has a key, too, which also changes with
every framework and with the Pythons that CI asks for.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from contents import ROOT, SWEEPS, WORKER, below, conftests, content, digest, processor, test_files

DRIVER = "pytest_dlbench"
CLUSTER = "cluster"
FOLDERS = (CLUSTER, "data", "environments", "judging", "model", "running", "sampling")
AFTER_RUNS = ("judging", "reporting", "cli")
# Asks the hosts.
ASKS_HOSTS = "cli/doctor.py"
# For all of them.
SHARED = (
    *("conftest.py", "pyproject.toml", f"{WORKER.relative_to(ROOT)}/**/*.py"),
    # Tests name builders and other doubles as text, without their packages.
    *("tests/doubles/**/*.py", "tests/doubles/**/*.c"),
)
# What the worker's tests may read besides.
GOLDEN = "bench/fixtures/golden/*.json"
NAME = re.compile(rf"\b(?:{DRIVER}|tests)(?:\.\w+)+")
# Each of the names may be a module.
FROM = re.compile(rf"\bfrom ((?:{DRIVER}|tests)[\w.]*) import (\([^)]*\)|.*)")
WORD = re.compile(r"\w+")
# Begins with plain letters, for which a search is ten times as fast.
WHOLE = re.compile(rf"(?m)import {DRIVER}(?:$| as\b)")


def test_keys(known: Mapping[str, Any]) -> dict[str, str]:
    """The key of each folder, and of each file of the worker's tests; ``known`` is what all frameworks depend on."""
    here = [_installed(), processor()]
    whole = [*here, known, os.environ.get("DLBENCH_REQUIRE_PYTHONS")]
    return {
        **{name: digest([[content(file) for file in files(name)], *here]) for name in FOLDERS},
        **{name: digest([[content(file) for file in files(name)], *whole]) for name in worker_tests()},
    }


def worker_tests() -> list[str]:
    """The files of the worker's tests that are in no sweep, by their paths in tests/."""
    swept = {test for sweep in SWEEPS.values() for test in sweep.tests}
    found = (*below("tests/worker/test_*.py"), *below("tests/equivalence/test_*.py"))
    return [str(file.relative_to(ROOT / "tests")) for file in found if str(file.relative_to(ROOT)) not in swept]


def files(name: str) -> list[Path]:
    """The files that a folder or a file of tests/ depends on."""
    own = _own(ROOT / "tests" / name)
    shared = {file for pattern in SHARED for file in below(pattern)}
    needed = followed(file for file in [*own, *conftests(own[0])] if file.suffix == ".py")
    if name == CLUSTER:
        needed = {file for file in needed if not _is_after_runs(file)}
    if name.endswith(".py"):
        needed |= {*test_files((f"tests/{name}",)), *below(GOLDEN)}
    return sorted({*own} | shared | needed)


def _own(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts]


def _is_after_runs(file: Path) -> bool:
    """Whether a file of the driver has nothing to do with hosts."""
    layers = (ROOT / DRIVER / layer for layer in AFTER_RUNS)
    return file != ROOT / DRIVER / ASKS_HOSTS and any(file.is_relative_to(layer) for layer in layers)


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
