"""``dlbench history``: the figures of a case, session by session."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatch
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dlbench import judging
from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging.comparable import CUSUM_REFERENCE
from pytest_dlbench.judging.equivalence import of_framework
from pytest_dlbench.records import codec
from pytest_dlbench.reporting import explain, figures, terminal
from pytest_dlbench.reporting.exports.rows import COMMON, CONDITIONS, conditions, remember, session_name, sound
from pytest_dlbench.storing import resuming
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.journal import name_of
from pytest_dlbench.storing.recorded import files, read

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "history"
MORE = """
A history is the folder or fsspec address that pytest --dlbench-history ADDRESS adds its sessions to.
Each line is one session of one case on one machine class: medians over its finished, valid runs, and which versions
changed since the previous one. Sessions of another network, data set, number of steps, batch size or precision are
listed apart. Below them are level shifts, up or down, found by a clipped CUSUM. Its reference is the first 30 sessions,
and the first 30 after each shift. With --json a shift is listed in the session in which it began.

examples:
  dlbench history                              all cases, and how many sessions each has
  dlbench history '*pytorch-tartu-mnist-cnn*'  the sessions of a case, or of all that match the pattern
  dlbench history --history s3://bucket/dlbench training-jax-tartu-mnist-cnn-digits28-cpu-quick --since 2026-10-01
  dlbench history --add .dlbench/*.jsonl       add sessions that were run without --dlbench-history, each once

exit status: 0 all read, 1 a file is damaged (named; the others are shown), 2 usage error, no such case or machine class
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """The sessions of one case on one machine class, under the same conditions."""

    case: str
    machine: str
    conditions: Mapping[str, str | int | None]
    sessions: list[dict[str, Any]]


def declare(commands: Commands) -> None:
    """Add ``history``."""
    parser = command(commands, "history", help_text="Show a case session by session, with level shifts.", more=MORE)
    parser.add_argument("case", metavar="CASE", nargs="?", help="A case's id, or a pattern with * [list all cases].")
    parser.add_argument("--history", metavar="ADDRESS", default=FOLDER, help=f"Where the history is [{FOLDER}].")
    parser.add_argument("--machine", metavar="NAME", help="Only this machine class.")
    parser.add_argument("--since", metavar="YYYY-MM-DD", type=date.fromisoformat, help="Only sessions since this date.")
    parser.add_argument(
        "--add", metavar="RECORDS", nargs="+", type=Path, help="Add the sessions of these journals that are not in it."
    )
    parser.set_defaults(run=_history)


def _history(asked: argparse.Namespace) -> int:
    history = History(address=asked.history)
    if asked.add:
        return _add(asked, history)
    remembered = history.read(machine=asked.machine, since=asked.since)
    if remembered.rows.empty:
        return _answer_nothing(asked, history, remembered.damages)
    if asked.case is None:
        _answer_cases(asked, remembered.rows)
    else:
        metrics = judging.described(remembered.metrics)
        _answer_sessions(asked, remembered.rows, metrics)
    return complain(remembered.damages)


def _answer_nothing(asked: argparse.Namespace, history: History, damages: Sequence[str]) -> int:
    """Why there is no session: damaged files are named, and names that the history does not have are errors."""
    status = complain(damages)
    where = f"dlbench history of {asked.history}"
    if asked.machine is not None and asked.machine not in (known := history.machines()):
        raise OptionError(unknown_name("machine class", asked.machine, where, known))
    if asked.case is not None:
        raise OptionError(unknown_name("case", asked.case, where, ()))
    answer(asked, [], ["no sessions"])
    return status


def _add(asked: argparse.Namespace, history: History) -> int:
    found = {session: read(paths) for session, paths in _journals(asked.add).items()}
    written = []
    for session, part in found.items():
        # A journal and its copy have the same runs.
        cases = list({tuple(map(name_of, case.record.runs)): case for case in part.cases}.values())
        # As if resumed: what is there already, from --dlbench-history or an earlier call, is not added again.
        written += remember(history, cases, session_name(session, cases), is_resumed=True)
    answer(asked, written, written)
    return complain([damage for part in found.values() for damage in part.damages])


def _journals(given: Sequence[Path]) -> Mapping[str, Sequence[Path]]:
    """The files by session: each process of pytest-xdist has a journal. One that names no session is one by itself."""
    found: dict[str, list[Path]] = {}
    for path in (path for one in given for path in files(one)):
        name = "" if path.suffix == ".json" else resuming.name_of(path)
        found.setdefault(name or str(path), []).append(path)
    return found


def _answer_cases(asked: argparse.Namespace, rows: "pd.DataFrame") -> None:
    grid = terminal.grid("case", "machine", right=("sessions", "runs", "first", "last"))
    found = []
    for (case, machine), group in rows.groupby(["case", "machine"]):
        days = sorted(group["began"].str[:10])
        row = {"case": case, "machine": machine, "sessions": group["session"].nunique(), "runs": len(group)}
        found.append({**row, "first": days[0], "last": days[-1]})
        grid.add_row(*map(str, found[-1].values()))
    answer(asked, found, terminal.lines(grid))


def _answer_sessions(asked: argparse.Namespace, rows: "pd.DataFrame", metrics: judging.Metrics) -> None:
    names = sorted(set(rows["case"]))
    fitting = [name for name in names if fnmatch(name, asked.case)]
    if not fitting:
        raise OptionError(unknown_name("case", asked.case, f"dlbench history of {asked.history}", names))
    chosen = rows[rows["case"].isin(fitting)]
    shown = _shown(chosen, metrics)
    series = [
        _Series(
            case=group["case"].iloc[0],
            machine=group["machine"].iloc[0],
            conditions=conditions(group.iloc[0].to_dict()),
            sessions=_with_changes(list(_sessions(group, shown)), shown, metrics),
        )
        for group in _comparable(chosen)
    ]
    plain = [
        {"case": one.case, "machine": one.machine, "conditions": one.conditions, **row}
        for one in series
        for row in one.sessions
    ]
    lines = [
        line
        for one in series
        for line in (_title(one, series), *_table(one.sessions, shown, metrics), *_changes(one.sessions, metrics), "")
    ]
    answer(asked, plain, lines)


def _comparable(rows: "pd.DataFrame") -> Sequence["pd.DataFrame"]:
    """The rows of each case and machine under the same conditions, those that were measured first at first."""
    # Files of older versions lack some columns; a program has no batch size.
    columns = ["case", "machine", *(name for name in CONDITIONS if name in rows)]
    groups = [group for _, group in rows.groupby(columns, dropna=False)]
    return sorted(groups, key=lambda group: (*group[["case", "machine"]].iloc[0], group["began"].min()))


def _title(one: _Series, series: Sequence[_Series]) -> str:
    """The case and its machine, with the conditions in which its series differ."""
    alike = [other.conditions for other in series if (other.case, other.machine) == (one.case, one.machine)]
    apart = [name for name in CONDITIONS if len({found[name] for found in alike}) > 1]
    return ", ".join((f"{one.case} on {one.machine}", *(f"{name}={one.conditions[name] or '–'}" for name in apart)))


def _shown(rows: "pd.DataFrame", metrics: judging.Metrics) -> Sequence[str]:
    """The metrics of the view, and those that these sessions have from hooks, of older files by their names alone."""
    known = [metric.name for metric in judging.shown_in("history", metrics)]
    others = set(rows.columns) - {"session", *COMMON, *judging.METRICS}
    return [*known, *(name for name in sorted(others) if name not in known and _is_figure(rows[name]))]


def _is_figure(values: "pd.Series[Any]") -> bool:
    return values.dtype.kind == "f" and bool(values.notna().any())


def _sessions(rows: "pd.DataFrame", shown_metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One row per session, in order of time, with the versions that changed since the previous one."""
    before: Mapping[str, str] | None = None
    groups = sorted(rows.groupby("session"), key=lambda item: item[1]["began"].min())
    for session, group in groups:
        text, where = group["versions"].iloc[0].encode(), f"session {session}, column versions"
        versions = of_framework(codec.decode(text, dict[str, str], where))
        valid = group[sound(group)]
        shown = {name: valid[name].median() for name in shown_metrics if name in valid and valid[name].notna().any()}
        yield {
            "session": session,
            "began": group["began"].min(),
            "runs": len(valid),
            "outcome": group["case_outcome"].iloc[0],
            "figures": {name: float(value) for name, value in shown.items()},
            "changed": [] if before is None else list(map(explain.difference, judging.changes(before, versions))),
        }
        before = versions


def _with_changes(
    sessions: list[dict[str, Any]], names: Sequence[str], metrics: judging.Metrics
) -> list[dict[str, Any]]:
    """The sessions, with the level shifts that began in each."""
    # Late: NumPy is slow to load.
    from pytest_dlbench.judging.scales import badness, shown, smallest_spread  # noqa: PLC0415
    from pytest_dlbench.judging.sessions import change_points  # noqa: PLC0415

    changes: list[list[dict[str, Any]]] = [[] for _ in sessions]
    # Whether more is better is not known of the others.
    for metric in (metrics[name] for name in names if name in metrics):
        name = metric.name
        values = [badness(metric, row["figures"].get(name, nan)) for row in sessions]
        places = [place for place, value in enumerate(values) if isfinite(value)]
        for point in change_points([values[place] for place in places], smallest_spread(metric)):
            change, *_ = shown(metric, point.change, point.change, point.change)
            detected = sessions[places[point.detected]]["session"]
            found = {"metric": name, "change": change, "is_worse": point.change > 0, "detected": detected}
            changes[places[point.began]].append(found)
    return [{**row, "change_points": found} for row, found in zip(sessions, changes, strict=True)]


def _changes(sessions: list[dict[str, Any]], metrics: judging.Metrics) -> list[str]:
    """One line per level shift."""
    if len(sessions) <= CUSUM_REFERENCE:
        return [f"{len(sessions)} sessions: level shifts are detected only after the first {CUSUM_REFERENCE}"]
    began = {row["session"]: row["began"][:19] for row in sessions}
    return [
        f"{point['metric']} is {'worse' if point['is_worse'] else 'better'} from {row['began'][:19]} on,"
        f" {figures.size(point['metric'], point['change'], metrics)},"
        f" detected in the session of {began[point['detected']]}"
        for row in sessions
        for point in row["change_points"]
    ] or ["no level shift detected"]


def _table(sessions: list[dict[str, Any]], names: Sequence[str], metrics: judging.Metrics) -> list[str]:
    grid = terminal.grid("began", right=("runs", *names))
    grid.add_column("outcome", no_wrap=True)
    grid.add_column("changed", no_wrap=True)
    for row in sessions:
        values = row["figures"]
        shown = [figures.figure(name, values[name], metrics) if name in values else "–" for name in names]
        grid.add_row(row["began"][:19], str(row["runs"]), *shown, row["outcome"], ", ".join(row["changed"]))
    return terminal.lines(grid)
