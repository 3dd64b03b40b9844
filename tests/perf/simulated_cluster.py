"""What a case costs the driver on a cluster of simulated hosts: ``python -m tests.perf.simulated_cluster``.

A session of pytest on a pseudo-terminal, in a fresh process, leases a host for each case in turn. Only the hosts and
their workers are simulated (simulated_hosts.py). With --keep, the result is kept in
simulated_cluster.json, and a table written where docs/explanation/measurement.md has a place for it.
"""

import argparse
import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

from tests import figures
from tests.figures import DOCS, Conditions, heading, row, wrapped
from tests.perf.simulated_hosts import SETTINGS

COMMAND = "python -m tests.perf.simulated_cluster"
FILE, PAGE = Path(__file__).with_suffix(".json"), DOCS / "explanation" / "measurement.md"
ROOT = Path(__file__).parents[2]
MODELS, PARTS = 500, 20
# The table of the page has a row for as many parts.
PARTS_OF_ROW = 4
SUITE = """
from dataclasses import replace
from pathlib import Path
import pytest
from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import Framework
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy

HEAD, RECIPE = SoftmaxCrossEntropy(classes=10), Recipe(batch_size=32, epochs=1, optimizer=SGD(0.1))
MODELS = [Model(name=f"softmax{{number}}", family="fcn", input_shape=(1, 8, 8), head=HEAD, recipe=RECIPE,
                layers=(Flatten(), Dense(10))) for number in range({models})]
NAMES = [f"double{{number}}" for number in range({frameworks})]

def pytest_dlbench_frameworks():
    return [Framework(name=name, builder="numpy_softmax", folders=(Path({folder!r}),)) for name in NAMES]

@pytest.fixture(params=NAMES)
def framework(request):
    return request.param

@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def model(request):
    return request.param

@pytest.fixture(params=["digits"])
def dataset(request):
    return request.param
"""
TEST = """
def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)
"""
OPTIONS = ("--dlbench-on=srun", "--dlbench-runs=1", "--dlbench-scale=smoke", "--dlbench-threads=1", "--tb=no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The driver's cost over some cases; ``rss_bytes`` is what it used at their end.

    ``instructions`` are the bytecodes that the first of these cases executed, 0 if they were not counted.
    """

    cases: int
    seconds_per_case: float
    cpu_seconds_per_case: float
    rss_bytes: int
    grown_bytes_per_case: float
    instructions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A session: the memory before its first case, its parts, the seconds of its report, and how many hosts it used."""

    status: int
    collected_rss_bytes: int
    parts: tuple[Part, ...]
    report_cpu_seconds: float
    hosts: int
    printed: str


def measure(folder: Path, *, hosts: int, cases: int, lost_every: int, until: int = 0, counts: bool = False) -> Measured:
    """One session of this many cases, a multiple of PARTS and of MODELS unless there are fewer.

    It is ended after ``until`` of them if that is not zero.
    ``counts`` counts the instructions of one case of each part but the first, which takes some tenths of a second each.
    """
    models = min(cases // 2, MODELS)
    builders = str(ROOT / "tests" / "doubles" / "builders")
    (folder / "conftest.py").write_text(SUITE.format(models=models, frameworks=cases // models, folder=builders))
    (folder / "test_suite.py").write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    file = folder / "measurements.json"
    asked = {"hosts": hosts, "lost_every": lost_every, "every": cases // PARTS, "until": until, "counts": counts}
    asked["measurements"] = str(file)
    variables = {
        **os.environ,
        SETTINGS: json.dumps(asked),
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
        # What it trains first measures nothing, and may run next to other sessions.
        "DLBENCH_LOCKS": str(folder / "locks"),
    }
    plugins = ("-p", "dlbench", "-p", "tests.perf.simulated_hosts", "-p", "no:cacheprovider")
    status, printed = _on_terminal([sys.executable, "-m", "pytest", *plugins, *OPTIONS], folder, variables)
    found = json.loads(file.read_text()) if file.exists() else {"rows": [], "hosts": 0}
    return _measured(found["rows"], found["hosts"], status, printed)


def _on_terminal(command: Sequence[str], folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    """The exit status of a command, and the last that it printed."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(command, cwd=folder, env=variables, stdin=terminal, stdout=terminal, stderr=terminal) as one:
        os.close(terminal)
        printed = b""
        while chunk := _read(controller):
            printed = (printed + chunk)[-(2**16) :]
    os.close(controller)
    return one.returncode, printed.decode(errors="replace")


def _read(controller: int) -> bytes:
    """What has come; empty once the other side is closed, which Linux reports as an error."""
    try:
        return os.read(controller, 2**16)
    except OSError:
        return b""


def _measured(rows: Sequence[dict[str, float]], hosts: int, status: int, printed: str) -> Measured:
    *of_cases, last = rows or [{}]
    parts = [_part(one, other) for one, other in pairwise(of_cases)]
    return Measured(
        status=status,
        collected_rss_bytes=int(of_cases[0]["rss_bytes"]) if of_cases else 0,
        parts=tuple(parts),
        report_cpu_seconds=last["cpu_seconds"] - of_cases[-1]["cpu_seconds"] if of_cases else 0.0,
        hosts=hosts,
        printed=printed,
    )


def _part(before: dict[str, float], after: dict[str, float]) -> Part:
    cases = after["cases"] - before["cases"]
    return Part(
        cases=int(after["cases"]),
        seconds_per_case=(after["seconds"] - before["seconds"]) / cases,
        cpu_seconds_per_case=(after["cpu_seconds"] - before["cpu_seconds"]) / cases,
        rss_bytes=int(after["rss_bytes"]),
        grown_bytes_per_case=(after["rss_bytes"] - before["rss_bytes"]) / cases,
        instructions=int(after["instructions"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A session and its conditions: every ``lost_every``-th lease lost its host. It may have ended before all cases."""

    measured: Measured
    collected: int
    lost_every: int
    conditions: Conditions


def lines(kept: Kept) -> list[str]:
    """What the page says."""
    found = kept.measured
    cases, collected = found.parts[-1].cases, f"{found.collected_rss_bytes / 2**20:.0f} MiB"
    ended = f", ended after {cases:,}" if cases < kept.collected else ""
    text = (
        f"Measured with {found.hosts:,} simulated hosts that reply at once, each leased in turn, a host lost in every"
        f" {kept.lost_every}th lease, and a session of {kept.collected:,} cases{ended}, on {kept.conditions}. The"
        f" report at the end took {found.report_cpu_seconds:.0f} s of processor time."
    )
    names = ("cases", "processor time of each", "memory of the driver, after them", "growth for each")
    groups = [found.parts[start : start + PARTS_OF_ROW] for start in range(0, len(found.parts), PARTS_OF_ROW)]
    first = row(f"none, {kept.collected:,} collected", "–", collected, "–")
    befores = [(0, found.collected_rss_bytes), *((group[-1].cases, group[-1].rss_bytes) for group in groups[:-1])]
    return [*wrapped(text), *heading(*names), first, *map(_row, groups, befores)]


def _row(parts: Sequence[Part], before: tuple[int, int]) -> str:
    cases_before, rss_bytes_before = before
    cases = parts[-1].cases - cases_before
    # All parts have as many cases.
    cpu = 1e3 * fmean(part.cpu_seconds_per_case for part in parts)
    grown = (parts[-1].rss_bytes - rss_bytes_before) / cases / 2**10
    which = f"{cases_before + 1:,} to {parts[-1].cases:,}"
    return row(which, f"{cpu:.1f} ms", f"{parts[-1].rss_bytes / 2**20:.0f} MiB", f"{grown:.1f} KiB")


def main() -> int:
    """Print a row for each part, keep them and write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--cases", type=int, default=100_000, help=f"A multiple of {PARTS * MODELS:,} [100000].")
    parser.add_argument("--until", type=int, default=0, metavar="N", help="End the session after N cases.")
    parser.add_argument("--lost-every", type=int, default=500, metavar="N", help="Every N-th lease loses its host.")
    parser.add_argument("--keep", action="store_true", help="Keep the result, and write the table of the page.")
    parser.add_argument("--page", action="store_true", help="Only write the table again, of what was kept.")
    asked = parser.parse_args()
    if not asked.page:
        before = figures.load()
        with tempfile.TemporaryDirectory() as folder:
            what = {"cases": asked.cases, "lost_every": asked.lost_every, "until": asked.until}
            found = measure(Path(folder), hosts=asked.hosts, **what)
        if found.status not in (0, pytest.ExitCode.INTERRUPTED if asked.until else 0):
            print(found.printed[-4_000:])
            return found.status
        _show(found)
        if asked.keep:
            kept = Kept(
                measured=replace(found, printed=""),
                collected=asked.cases,
                lost_every=asked.lost_every,
                conditions=figures.conditions(before),
            )
            figures.keep(FILE, kept)
    if asked.page or asked.keep:
        figures.write(PAGE, COMMAND, lines(figures.kept(FILE, Kept)))
    return 0


def _show(found: Measured) -> None:
    print("cases    CPU ms/case    wall ms/case    MiB    KiB/case")
    for part in found.parts:
        cpu, wall = 1e3 * part.cpu_seconds_per_case, 1e3 * part.seconds_per_case
        memory, grown = part.rss_bytes / 2**20, part.grown_bytes_per_case / 2**10
        print(f"{part.cases:>7,}  {cpu:>10.2f}  {wall:>14.2f}  {memory:>8.0f}  {grown:>8.1f}")
    print(f"{found.collected_rss_bytes / 2**20:.0f} MiB after collection, {found.hosts:,} hosts")
    print(f"report: {found.report_cpu_seconds:.1f} s of processor time")


if __name__ == "__main__":
    sys.exit(main())
