"""``dlbench bump``: the A/B comparison of an update, for only the frameworks that it affects."""

import argparse
import hashlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command
from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.locks import Lock, read
from pytest_dlbench.errors import OptionError
from pytest_dlbench.planning import lock_diff
from pytest_dlbench.planning.lock_diff import Bump, Change
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.records import codec
from pytest_dlbench.storing.files import create_ignored

WHERE = "dlbench bump"
NOT_ALL_TESTED = 3
MORE = """
OLD and NEW are two states of a lock file: requirements.txt as pip-compile or uv write it, pylock.toml, uv.lock or
poetry.lock. The differences are listed, and pytest runs both states in pairs (--dlbench-ab) for the frameworks that
depend on a changed package, also indirectly: NumPy, CUDA's libraries, jaxlib. If a file does not say which
package needs which (requirements without "# via"), every change is assumed to affect every framework in it. Every pin
is compared: versions, addresses, extras, ranges, markers. A framework is run if both files pin it in a version that its
builder serves; changes of others are listed as NOT TESTED, with the reason.

Environments are built as needed, from the pinned versions and with pip's own settings; hashes are not checked.
Variants such as pytorch-compile run only if --frameworks names them.

examples:
  dlbench bump old.txt new.txt --plan
  dlbench bump before.lock uv.lock --pytest="--dlbench-models tartu-mnist-cnn --dlbench-max-runs 10"
  dlbench bump main/requirements.txt requirements.txt --bench tests/bench --frameworks jax

exit status: 0 nothing changed that a framework depends on, or all tests passed; 1 a test failed: a case
regressed, did not finish, or was inconclusive (--dlbench-compare); 2 usage error, a file that is not a lock file, or
Ctrl-C; 3 a change that a framework depends on was not tested (listed with the reason), or no framework is pinned in
both files, and no test failed; otherwise pytest's own (4 usage error of pytest, 5 no test was collected)
"""


def declare(commands: Commands) -> None:
    """Add ``bump``."""
    parser = command(commands, "bump", help_text="Benchmark what an update of a lock file can change.", more=MORE)
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    parser.add_argument(
        "--bench", metavar="PATH", action="append", default=[], help="The tests to run; repeatable [bench]."
    )
    parser.add_argument(
        "--pytest", metavar="ARGUMENTS", type=shlex.split, default=(), help="More arguments for pytest."
    )
    parser.add_argument("--frameworks", metavar="NAMES", default="", help="Only these, such as pytorch,jax.")
    parser.add_argument(
        "--plan", "--dry-run", action="store_true", help="List the differences and the command; run nothing."
    )
    parser.set_defaults(run=_bump)


def _bump(asked: argparse.Namespace) -> int:
    old, new = _lock(asked.old), _lock(asked.new)
    found = lock_diff.of(old, new, _frameworks(asked.frameworks))
    sides = _sides(asked, old, new)
    tests = _command(asked, found, sides) if found.affected else []
    if tests and asked.json and not asked.plan:
        raise OptionError(f"{WHERE}: pytest prints no JSON: add --plan, or --pytest='--dlbench-json PATH'")
    answer(asked, {**codec.builtins(_as_json(found)), "command": tests}, _lines(found, tests, is_plan=asked.plan))
    status = 0
    if tests and not asked.plan:
        _write(sides, old, new)
        sys.stdout.flush()
        if not found.not_tested:
            # pytest replaces this process, so Ctrl-C and the exit status are its own.
            os.execv(tests[0], tests)
        status = _run(tests)
    return status or (NOT_ALL_TESTED if found.not_tested else 0)


def _run(tests: Sequence[str]) -> int:
    """Run pytest, which gets this process's signals, and return its exit status."""
    with subprocess.Popen(tests) as process:
        # Ctrl-C reaches both processes, and pytest ends by itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
        status = process.wait()
    return status if status >= 0 else 128 - status


def _lock(path: Path) -> Lock:
    return read(path, WHERE)


def _frameworks(names: str) -> Sequence[Framework]:
    if names:
        return [cast("Framework", KNOWN.find("framework", name.strip(), "--frameworks")) for name in names.split(",")]
    return [one for one in FRAMEWORKS.values() if not set(one.more_marks) & FRAMEWORKS.keys()]


def _sides(asked: argparse.Namespace, old: Lock, new: Lock) -> tuple[Path, Path]:
    """Paths of both as requirements files: the given ones if possible, else in a folder for this bump."""
    files = (asked.old, asked.new)
    if all(file.suffix == ".txt" for file in files) and asked.old.stem != asked.new.stem:
        return files
    content = "\0".join(lock.as_requirements() for lock in (old, new))
    folder = JOURNALS / "bumps" / hashlib.sha256(content.encode()).hexdigest()[:12]
    return folder / "old.txt", folder / "new.txt"


def _write(sides: tuple[Path, Path], old: Lock, new: Lock) -> None:
    for path, lock in zip(sides, (old, new), strict=True):
        if not path.is_file():
            create_ignored(JOURNALS)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(lock.as_requirements(), "utf-8")


def _command(asked: argparse.Namespace, found: Bump, sides: tuple[Path, Path]) -> list[str]:
    if any("," in str(side) for side in sides):
        raise OptionError(f"{WHERE}: a comma in the path of {sides[0]} or {sides[1]}; rename it")
    names = ",".join(each.framework.name for each in found.affected)
    ab = [
        f"--dlbench-ab={sides[0]},{sides[1]}",
        f"--dlbench-frameworks={names}",
        "--dlbench-build",
        "--dlbench-compare",
    ]
    return [sys.executable, "-m", "pytest", *(asked.bench or ["bench"]), *ab, *asked.pytest]


def _as_json(found: Bump) -> dict[str, object]:
    return {
        "changes": found.changes,
        "frameworks": {each.framework.name: [one.name for one in each.changes] for each in found.affected},
        "passed_over": found.unaffected,
        "not_tested": {each.change.name: each.reasons for each in found.not_tested},
        "tells_needs": found.lists_dependencies,
    }


def _lines(found: Bump, tests: Sequence[str], *, is_plan: bool) -> Iterator[str]:
    if not found.changes:
        yield "nothing changed: both files pin the same versions"
        return
    yield "what differs:"
    yield from (f"  {_line(change)}" for change in found.changes)
    if not found.lists_dependencies:
        yield "the files do not say which package needs which: every change is assumed to affect every framework"
    for each in found.affected:
        yield f"{each.framework.name}: affected by {', '.join(one.name for one in each.changes)}"
    yield from (f"{name}: not affected, skipped" for name in found.unaffected)
    for missed in found.not_tested:
        yield f"NOT TESTED: {_line(missed.change)}"
        yield from (f"  {name}: {reason}" for name, reason in missed.reasons.items())
    if not tests:
        yield "nothing is run" if found.not_tested else "no framework depends on what changed: nothing to run"
        return
    yield f"{'to run it' if is_plan else 'running'}: pytest {shlex.join(tests[3:])}"


def _line(change: Change) -> str:
    return f"{change.name}  {change.old or 'not installed'} → {change.new or 'removed'}"
