"""What the gate finds of four commits in each of the examples: one that changes nothing, and three that are worse.

    python -m tests.characteristics.examples                # those that are missing: an hour on two quiet cores
    python -m tests.characteristics.examples --examples keras,flax --commits "+5 % in each step"
    python -m tests.characteristics.examples --page

The commits are those of examples/test_examples.py with EXAMPLES_FULL=1. Each result is appended to examples.jsonl as
soon as it is known, and all are written as a table into docs/how-to/examples.md, also several of one commit. Needs uv,
which builds the examples' environments.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from examples.test_examples import COMMITS, EXAMPLES, Compared, Repository, is_right
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from tests.characteristics.lines import append, lines
from tests.figures import DOCS, heading, row, wrapped, write

COMMAND = "python -m tests.characteristics.examples"
FILE, PAGE = Path(__file__).with_name("examples.jsonl"), DOCS / "how-to" / "examples.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a comparison ended, and the verdict that decided it; ``load`` is that of the last minute before, in CPUs.

    ``outcome`` is that of the verdict, or of the whole case if the commit was not found.
    """

    example: str
    commit: str
    right: bool
    outcome: str
    metric: str
    change: float | None
    lower: float | None
    upper: float | None
    screened: int
    confirmed: int
    seconds: float
    load: float
    date: str
    machine: str
    python: str


def compare(example: str, commit: str) -> Found:
    """One commit of an example, in a repository of its own."""
    made, expected = COMMITS[commit]
    load, began = os.getloadavg()[0], monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = made(Repository(example, Path(folder) / example))
    result = found.case["result"]
    verdict = decisive(found, expected or frozenset({EXAMPLES[example].step}))
    right = is_right(found, expected)
    pairing = result["pairing"] or {"screened": 0, "confirmed": 0}
    return Found(
        example=example,
        commit=commit,
        right=right,
        outcome=verdict.get("outcome", result["outcome"]) if right else result["outcome"],
        metric=verdict.get("metric", ""),
        **{bound: verdict.get(bound) for bound in ("change", "lower", "upper")},
        screened=pairing["screened"],
        confirmed=pairing["confirmed"],
        seconds=monotonic() - began,
        load=load,
        date=datetime.now(UTC).date().isoformat(),
        machine=f"{THIS_MACHINE.machine.cores} cores of {THIS_MACHINE.machine.cpu_model}",
        python=platform.python_version(),
    )


def decisive(found: Compared, metrics: frozenset[str]) -> Mapping[str, Any]:
    """The verdict on one of these metrics: the regressed one, if there is one."""
    verdicts = [one for one in found.case["result"]["verdicts"] if one["metric"] in metrics]
    return next(iter(sorted(verdicts, key=lambda one: one["outcome"] != "regressed")), {})


def table(found: Sequence[Found]) -> Iterator[str]:
    """A row for each commit; nothing without any."""
    if not found:
        return
    dates, pythons, machines = (sorted({getattr(one, name) for one in found}) for name in ("date", "python", "machine"))
    loads = [one.load for one in found]
    yield from wrapped(
        f"On {' and '.join(dates)}, with Python {', '.join(pythons)}, on {', '.join(machines)}, at a load of"
        f" {min(loads):.1f} to {max(loads):.1f} before. Intervals are those of the change:"
    )
    yield from heading("example", "commit", "metric", "verdict", "change", "pairs", "seconds")
    places = {name: place for place, name in enumerate(COMMITS)}
    for one in sorted(found, key=lambda one: (list(EXAMPLES).index(one.example), places[one.commit])):
        pairs = f"{one.screened}, and {one.confirmed} fresh ones" if one.confirmed else str(one.screened)
        verdict = f"`{one.outcome}`" + ("" if one.right else ", which is not what the commit did")
        yield row(f"`{one.example}`", one.commit, f"`{one.metric}`", verdict, change(one), pairs, f"{one.seconds:.0f}")
    known = {(one.example, one.commit) for one in found}
    if missing := [name for name in EXAMPLES if not all((name, commit) in known for commit in COMMITS)]:
        yield ""
        yield from wrapped(f"Not all commits were tried in {', '.join(f'`{name}`' for name in missing)}.")[:-1]


def change(one: Found) -> str:
    """The change with its interval."""
    if one.change is None:
        return "–"
    is_points = one.metric in METRICS and METRICS[one.metric].kind == "points"
    figures = [
        "–" if bound is None else f"{bound:+.1f}" if is_points else f"{bound:.3f}"
        for bound in (one.change, one.lower, one.upper)
    ]
    return f"{figures[0]}{' points' if is_points else ''} [{figures[1]}, {figures[2]}]"


def main() -> int:
    """Compare, and write the table; 1 if a comparison ended otherwise than its commit requires."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", default=",".join(EXAMPLES), help="Some of the examples, in place of all.")
    parser.add_argument("--commits", default=",".join(COMMITS), help="Some of the commits, in place of all.")
    parser.add_argument("--again", action="store_true", help="Also those whose result is known.")
    parser.add_argument("--page", action="store_true", help="Only write the table again, of what was kept.")
    asked = parser.parse_args()
    known = {(one.example, one.commit) for one in lines(FILE, Found)} if not asked.again else set()
    new = []
    for commit in [] if asked.page else asked.commits.split(","):
        for example in asked.examples.split(","):
            if (example, commit) not in known:
                new.append(compare(example, commit))
                append(FILE, new[-1])
    write(PAGE, COMMAND, table(list(lines(FILE, Found))))
    return 0 if all(one.right for one in new) else 1


if __name__ == "__main__":
    sys.exit(main())
