"""``dlbench history``: how the figures of a case went, session by session."""

import argparse
import json
from collections.abc import Iterator, Mapping
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dlbench import judging
from pytest_dlbench.cli_answers import Commands, answer, command, complain
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging.equivalence import of_framework
from pytest_dlbench.reporting import figures, terminal
from pytest_dlbench.reporting.exports.rows import remember
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import read

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "history"
METRICS = ("step_time", "throughput", "first_step", "accuracy", "peak_rss")
MORE = """
A history is what pytest --dlbench-history ADDRESS adds its sessions to: a folder, or any address that fsspec knows.
Each line is one session of one case on one machine class: medians over its runs, and what changed since the one before.

examples:
  dlbench history                              which cases there are, and how many sessions of each
  dlbench history '*pytorch-mnist-cnn*'        those of a case, or of all that fit the pattern
  dlbench history --history s3://bucket/dlbench training-jax-mnist-cnn-digits28-cpu-quick --since 2026-10-01
  dlbench history --add .dlbench/*.jsonl       add sessions that were run without --dlbench-history

exit status: 0 all read, 1 a file of it is damaged (named; the others are shown), 2 a wrong call or no such case
"""


def declare(commands: Commands) -> None:
    """Add ``history``."""
    parser = command(commands, "history", help_text="Show how a case went, session by session.", more=MORE)
    parser.add_argument("case", metavar="CASE", nargs="?", help="A case's id, or a pattern with * [list all cases].")
    parser.add_argument("--history", metavar="ADDRESS", default=FOLDER, help=f"Where the history is [{FOLDER}].")
    parser.add_argument("--machine", metavar="NAME", help="Only this machine class.")
    parser.add_argument("--since", metavar="YYYY-MM-DD", type=date.fromisoformat, help="Only sessions since that day.")
    parser.add_argument("--add", metavar="RECORDS", nargs="+", type=Path, help="Add these journals, each a session.")
    parser.set_defaults(run=_history)


def _history(asked: argparse.Namespace) -> int:
    history = History(address=asked.history)
    if asked.add:
        found = [read([path]) for path in asked.add]
        written = [where for part in found for where in remember(history, part.cases)]
        answer(asked, written, written)
        return complain([damage for part in found for damage in part.damages])
    remembered = history.read(machine=asked.machine, since=asked.since)
    if asked.case is None:
        _answer_cases(asked, remembered.rows)
    else:
        _answer_sessions(asked, remembered.rows)
    return complain(remembered.damages)


def _answer_cases(asked: argparse.Namespace, rows: "pd.DataFrame") -> None:
    grid = terminal.grid("case", "machine", right=("sessions", "runs", "first", "last"))
    found = []
    for (case, machine), group in rows.groupby(["case", "machine"]):
        days = sorted(group["began"].str[:10])
        row = {"case": case, "machine": machine, "sessions": group["session"].nunique(), "runs": len(group)}
        found.append({**row, "first": days[0], "last": days[-1]})
        grid.add_row(*map(str, found[-1].values()))
    answer(asked, found, terminal.lines(grid))


def _answer_sessions(asked: argparse.Namespace, rows: "pd.DataFrame") -> None:
    names = sorted(set(rows["case"])) if len(rows) else []
    fitting = [name for name in names if fnmatch(name, asked.case)]
    if not fitting:
        raise OptionError(unknown_name("case", asked.case, f"dlbench history of {asked.history}", names))
    chosen = rows[rows["case"].isin(fitting)]
    series = {key: list(_sessions(group)) for key, group in chosen.groupby(["case", "machine"])}
    plain = [{"case": case, "machine": machine, **row} for (case, machine), found in series.items() for row in found]
    lines = [line for (case, machine), found in series.items() for line in (f"{case} on {machine}", *_table(found), "")]
    answer(asked, plain, lines)


def _sessions(rows: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """One row a session, in the order of time, with what changed since the one before."""
    before: Mapping[str, str] | None = None
    groups = sorted(rows.groupby("session"), key=lambda item: item[1]["began"].min())
    for session, group in groups:
        versions = of_framework(json.loads(group["versions"].iloc[0]))
        shown = {name: group[name].median() for name in METRICS if name in group and group[name].notna().any()}
        yield {
            "session": session,
            "began": group["began"].min(),
            "runs": len(group),
            "outcome": group["case_outcome"].iloc[0],
            "figures": {name: float(value) for name, value in shown.items()},
            "changed": list(judging.changes(before, versions)) if before is not None else [],
        }
        before = versions


def _table(sessions: list[dict[str, Any]]) -> list[str]:
    grid = terminal.grid("began", right=("runs", *METRICS))
    grid.add_column("outcome", no_wrap=True)
    grid.add_column("changed", no_wrap=True)
    for row in sessions:
        values = row["figures"]
        shown = [figures.figure(name, values[name]) if name in values else "–" for name in METRICS]
        grid.add_row(row["began"][:19], str(row["runs"]), *shown, row["outcome"], ", ".join(row["changed"]))
    return terminal.lines(grid)
