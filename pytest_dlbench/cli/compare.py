"""``dlbench compare``: compare two recordings, or run two revisions of a repository in pairs."""

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_dlbench.cli.output import Commands, answer, command, complain, show
from pytest_dlbench.environments.checkouts import WORKTREE
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import Metrics, parse_tolerances, stored, summarise
from pytest_dlbench.planning.sides import REVISION
from pytest_dlbench.records import CaseOutcome, Record, codec
from pytest_dlbench.reporting import explain, figures, terminal
from pytest_dlbench.storing import pytest_benchmark
from pytest_dlbench.storing.recorded import newest, of_class, read

# A case on a machine class.
Key = tuple[str, str]
Sides = Mapping[Key, Record]
CONCLUDED = (CaseOutcome.PASSED, CaseOutcome.IMPROVED)
MORE = """
A is the baseline, B the candidate: journals, files of --dlbench-json, or folders of them; the newest recording of each
case counts, on each machine class. Each case is judged by the rule for a stored baseline with one session, which may
call a slowdown suspect but not regressed; both sides need three finished runs. What needs no baseline, such as a leak,
is judged in B alone. To compare versions, run them in pairs instead (--dlbench-ab): sessions differ from each other by
more than the runs within one do.

Two files (or folders) of pytest-benchmark can be compared too: as ratios without a verdict, because all rounds of one
file ran in one process and do not show the spread between processes.

Two revisions, rev:REVISION or worktree, are not recordings: pytest runs them in pairs, as a strict gate, and the exit
status is its own (0 all passed, 1 a test failed).

examples:
  dlbench compare monday.json tuesday.json
  dlbench compare .dlbench/20261120T*.jsonl .dlbench/20261121T*.jsonl --tolerance step_time:3%
  dlbench compare .benchmarks/*/0001_*.json .benchmarks/*/0002_*.json
  dlbench compare rev:v1.2 rev:v1.3 -k ours

exit status: 0 all cases compared, none worse; 1 at least one regressed or did not finish, or a file is damaged (named;
the rest is compared); 2 usage error, or no case in common; 3 none regressed, but some are suspect, inconclusive,
invalid, incomparable or on one side only
"""


def declare(commands: Commands) -> None:
    """Add ``compare``."""
    text = "Compare two recordings, or two revisions of your code, case by case."
    parser = command(commands, "compare", help_text=text, more=MORE)
    parser.add_argument("old", metavar="A", type=Path)
    parser.add_argument("new", metavar="B", type=Path)
    parser.add_argument(
        "--tolerance", metavar="METRIC:AMOUNT", action="append", default=[], help="As --dlbench-tolerance; repeatable."
    )
    parser.add_argument("-k", metavar="EXPRESSION", default="", help="Of revisions: the tests to run, as in pytest.")
    parser.add_argument(
        "--bench", metavar="PATH", action="append", default=[], help="Of revisions: where they are; repeatable [bench]."
    )
    parser.set_defaults(run=_compare)


def _compare(asked: argparse.Namespace) -> int:
    if any(map(_is_revision, (asked.old, asked.new))):
        return _run_pairs(asked)
    if asked.k or asked.bench:
        raise OptionError(
            "dlbench compare: -k and --bench choose the tests that two revisions run; recordings have none"
        )
    for path in (asked.old, asked.new):
        if not path.exists():
            raise OptionError(f"dlbench compare: {path} does not exist")
    if pytest_benchmark.is_one(asked.old) and pytest_benchmark.is_one(asked.new):
        return _compare_benchmarks(asked)
    return _compare_records(asked)


def _is_revision(path: Path) -> bool:
    # A file or folder of that name is a recording.
    return not path.exists() and (str(path) == WORKTREE or str(path).startswith(REVISION))


def _run_pairs(asked: argparse.Namespace) -> int:
    """Run two revisions, which pytest checks; it replaces this process, so Ctrl-C and the exit status are its own."""
    if asked.json:
        raise OptionError(
            "dlbench compare: revisions are run by pytest, which prints no JSON: --dlbench-json PATH writes it"
        )
    chosen = ["-k", asked.k] if asked.k else []
    tolerances = [f"--dlbench-tolerance={text}" for text in asked.tolerance]
    pairs = [f"--dlbench-ab={asked.old},{asked.new}", "--dlbench-compare", *tolerances]
    tests = ["pytest", *(asked.bench or ["bench"]), *chosen, *pairs]
    show([f"running: {shlex.join(tests)}"])
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", *tests])


def _compare_records(asked: argparse.Namespace) -> int:
    # Late: NumPy is slow to load.
    from pytest_dlbench.judging.sides import compare_sides  # noqa: PLC0415

    sides = [read([path]) for path in (asked.old, asked.new)]
    # The newest recording of a case may be what is damaged: an older one is judged instead.
    damaged = complain([damage for side in sides for damage in side.damages])
    old, new = ({key: case.record for key, case in newest(found.cases, of_class).items()} for found in sides)
    metrics = stored([*old.values(), *new.values()])
    tolerances = parse_tolerances(asked.tolerance, "--tolerance", metrics)
    partners = _partners(old, new)
    if not partners:
        raise OptionError(f"dlbench compare: {asked.old} and {asked.new} have no case in common")
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    names = _names(old, new)
    for key, partner in partners.items():
        name, before, after = names[key], old[key], new[partner]
        outcome, verdicts, reasons = compare_sides(before, after, tolerances, metrics)
        texts = list(map(explain.text, reasons))
        unknown = _unknown(before, after, metrics) if verdicts else {}
        row = {"case": name, "outcome": outcome.value, "verdicts": verdicts, "reasons": texts, "not_judged": unknown}
        rows.append(row)
        lines += [f"{name}: {outcome}", *(f"  {explain.line(verdict, metrics)}" for verdict in verdicts)]
        lines += [f"  {_not_judged(metric, *values)}" for metric, values in unknown.items()]
        lines += [f"  {line}" for text in texts for line in text.splitlines()]
    alone = {
        "only in A": [names[key] for key in old if key not in partners],
        "only in B": [names[key] for key in new if key not in partners.values()],
    }
    lines += [f"{where}: {name}" for where, lonely in alone.items() for name in lonely]
    counts = Counter(row["outcome"] for row in rows)
    lines.append(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    answer(asked, codec.builtins({"cases": rows, **alone}), lines)
    return damaged or _status({row["outcome"] for row in rows}, has_lonely=any(alone.values()))


def _unknown(old: Record, new: Record, metrics: Metrics) -> Mapping[str, tuple[float, float]]:
    """The medians of both sides in metrics of hooks, from files that do not say what these are."""
    before, after = summarise(old.runs), summarise(new.runs)
    return {name: (before[name], after[name]) for name in before if name in after and name not in metrics}


def _not_judged(metric: str, old: float, new: float) -> str:
    then, now = figures.figure(metric, old), figures.figure(metric, new)
    return f"{metric:<16} {'not judged':<12} {then} → {now}: its unit and direction are not stored"


def _partners(old: Sides, new: Sides) -> Mapping[Key, Key]:
    """The recording of B that each one of A is compared with: that of its machine class.

    Of a case that no class has on both sides, there is one pair, to say what differs.
    """
    shared = {name for name, _ in old.keys() & new.keys()}
    before, after = ({key[0]: key for key in side if key[0] not in shared} for side in (old, new))
    apart = {before[name]: after[name] for name in before if name in after}
    return {key: apart.get(key, key) for key in old if key in new or key in apart}


def _names(*sides: Sides) -> Mapping[Key, str]:
    """What recordings are called: by their cases, with the machine classes of a case that has several on a side."""
    counts = [Counter(name for name, _ in side) for side in sides]
    several = {name for count in counts for name, classes in count.items() if classes > 1}
    return {(name, on): f"{name} on {on}" if name in several else name for side in sides for name, on in side}


def _status(outcomes: set[str], *, has_lonely: bool) -> int:
    unclear = {CaseOutcome.INCONCLUSIVE, CaseOutcome.INCOMPARABLE, CaseOutcome.INVALID, CaseOutcome.SUSPECT}
    if outcomes - unclear - set(CONCLUDED):
        return 1
    return 3 if outcomes & unclear or has_lonely else 0


def _compare_benchmarks(asked: argparse.Namespace) -> int:
    old, new = pytest_benchmark.read_benchmarks(asked.old), pytest_benchmark.read_benchmarks(asked.new)
    common = [name for name in old if name in new]
    if not common:
        raise OptionError(f"dlbench compare: {asked.old} and {asked.new} have no benchmark in common")
    grid = terminal.grid("benchmark", right=("min", "", "ratio", "median", "", "ratio", "rounds"))
    rows = []
    for name in common:
        before, after = old[name], new[name]
        ratios = {"min": after.min / before.min, "median": after.median / before.median}
        rows.append({"benchmark": name, "old": before, "new": after, "ratios": ratios})
        grid.add_row(
            name,
            *(figures.seconds(before.min), figures.seconds(after.min), f"{ratios['min']:.3f}"),
            *(figures.seconds(before.median), figures.seconds(after.median), f"{ratios['median']:.3f}"),
            f"{before.rounds}, {after.rounds}",
        )
    reason = "no verdict: rounds of one process do not show the spread between processes"
    answer(asked, codec.builtins({"benchmarks": rows, "verdict": reason}), [*terminal.lines(grid), reason])
    return 3
