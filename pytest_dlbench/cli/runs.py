"""``dlbench runs``: recorded sessions as a list, run by run, side by side, or by journal."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_dlbench import judging
from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command, complain
from pytest_dlbench.errors import FileFormatError, OptionError, unknown_name
from pytest_dlbench.records import codec
from pytest_dlbench.reporting import explain, figures, layers, listings, side_by_side, terminal
from pytest_dlbench.storing import Damage, Entry, read_journal
from pytest_dlbench.storing.recorded import Recorded, files_of, read

LIST = """
examples:
  dlbench runs list                     the sessions in .dlbench in this folder
  dlbench runs list nightly/*.json      files written by --dlbench-json

exit status: 0 all read, 1 a file is damaged (the rest is listed), 2 usage error
"""
SHOW = """
CASE is the id of a case, or part of it.

examples:
  dlbench runs show pytorch-tartu-mnist-cnn     every recorded session, run by run
  dlbench runs show pytorch-tartu-mnist-cnn --records nightly.json

exit status: 0 all read, 1 a file is damaged (the rest is shown), 2 usage error, or no such case
"""
TABLE = """
One table for all cases of a machine that differ only in framework and threads, with frameworks as rows and thread
counts as columns. Of several sessions of a case, the newest valid one counts; a line below the table names the cases
that have figures, but no valid ones. --json prints all cases.

examples:
  dlbench runs table .dlbench/*.jsonl
  dlbench runs table nightly.json > frameworks.md

exit status: 0 shown, 1 there is no finished case, or a file is damaged (the rest is shown), 2 usage error
"""
LAYERS = """
Sessions with --dlbench-layers have them: each layer of a network by itself, forward and backward, the sum of all, and
the passes of the whole network. The medians of all runs of a case.

examples:
  dlbench runs layers                     the sessions in .dlbench in this folder
  dlbench runs layers out.json --json     seconds, for programs

exit status: 0 shown, 1 no layer was timed, or a file is damaged (the rest is shown), 2 usage error
"""
JOURNAL = """
The journal of a killed session contains the runs that finished, and names the cases that were not judged.

examples:
  dlbench runs journal .dlbench/20261121T021405-4711.jsonl

exit status: 0 all read, 1 a line is damaged (named; the rest is shown), 2 usage error
"""


def declare(commands: Commands) -> None:
    """Add ``runs`` and its actions."""
    text = "List and show recorded runs."
    actions = commands.add_parser("runs", help=text, description=text).add_subparsers(required=True, metavar="ACTION")
    listing = command(actions, "list", help_text="List recorded sessions: when, where, which outcomes.", more=LIST)
    listing.add_argument("paths", metavar="RECORDS", nargs="*", type=Path, help=f"Files or folders [{JOURNALS}].")
    listing.set_defaults(run=_list)
    showing = command(actions, "show", help_text="Show the records of a case, run by run.", more=SHOW)
    showing.add_argument("case", metavar="CASE")
    showing.add_argument(
        "--records", metavar="PATH", nargs="+", type=Path, default=[JOURNALS], help=f"Files or folders [{JOURNALS}]."
    )
    showing.set_defaults(run=_show)
    table = command(actions, "table", help_text="Show frameworks side by side, as Markdown.", more=TABLE)
    table.add_argument(
        "paths", metavar="RECORDS", nargs="+", type=Path, help="Journals, files of --dlbench-json, or folders of them."
    )
    table.set_defaults(run=_table)
    layers_of = command(actions, "layers", help_text="Show the time of each layer of a network.", more=LAYERS)
    layers_of.add_argument("paths", metavar="RECORDS", nargs="*", type=Path, help=f"Files or folders [{JOURNALS}].")
    layers_of.set_defaults(run=_layers)
    text = "Show the content of journals, even if damaged or truncated."
    journal = command(actions, "journal", help_text=text, more=JOURNAL)
    journal.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    journal.set_defaults(run=_journal)


def _list(asked: argparse.Namespace) -> int:
    given = asked.paths or ([JOURNALS] if JOURNALS.is_dir() else [])
    paths = [file for path in given for file in (files_of(path) if path.is_dir() else [path])]
    if not paths and not asked.paths:
        raise FileFormatError(f"no session in {JOURNALS}: run pytest in this folder, or name files and folders")
    found = [(path, read([path])) for path in paths]
    sessions = [_session(path, part.cases) for path, part in found]
    grid = terminal.grid("session", "began", "machine", right=("cases", "runs"))
    grid.add_column("outcomes")
    for row in sessions:
        outcomes = ", ".join(f"{count} {name}" for name, count in row["outcomes"].items())
        grid.add_row(row["path"], row["began"][:19], row["machine"], str(row["cases"]), str(row["runs"]), outcomes)
    answer(asked, sessions, terminal.lines(grid))
    return complain([damage for _, part in found for damage in part.damages])


def _session(path: Path, cases: Sequence[Recorded]) -> dict[str, Any]:
    runs = [run for case in cases for run in case.record.runs]
    return {
        "path": str(path),
        "began": min((run.began for run in runs), default=""),
        "machine": cases[0].record.context.machine.name if cases else "",
        "cases": len(cases),
        "runs": len(runs),
        "outcomes": dict(Counter(case.result.outcome.value for case in cases)),
    }


def _show(asked: argparse.Namespace) -> int:
    found = read(asked.records)
    cases = [case for case in found.cases if asked.case in case.record.case.id]
    if not cases:
        known = {case.record.case.id for case in found.cases}
        raise OptionError(unknown_name("case", asked.case, "dlbench runs show", known))
    whole = list(map(explain.with_texts, cases))
    answer(asked, codec.builtins(whole), [line for case in cases for line in _lines(case)])
    return complain(found.damages)


def _lines(case: Recorded) -> list[str]:
    result, context, known = case.result, case.record.context, judging.stored([case.record])
    values = [judging.summarise([run]) for run in case.record.runs]
    metrics = list(dict.fromkeys(name for of_run in values for name in of_run))
    grid = terminal.grid("run", right=("seed", "outcome", *metrics))
    for run, found in zip(case.record.runs, values, strict=True):
        shown = [figures.figure(name, found[name], known) if name in found else "–" for name in metrics]
        grid.add_row(run.began[:19], str(run.seed), run.outcome.value, *shown)
    versions = ", ".join(f"{name} {version}" for name, version in case.record.runs[0].versions.items())
    of_batches = f" of {context.batch_size}" if context.batch_size is not None else ""
    kernels = figures.kernels(case.record.runs[0].recurrent_kernels or {})
    return [
        f"{result.case.id}: {result.outcome} on {context.machine.name}, {context.steps} steps{of_batches}",
        f"  {versions}",
        *([f"  recurrent layers: {kernels}"] if kernels else []),
        *terminal.lines(grid),
        *(f"  {line}" for line in explain.message(result, known).splitlines()),
        "",
    ]


def _table(asked: argparse.Namespace) -> int:
    found = read(asked.paths)
    results = [case.result for case in found.cases]
    answer(
        asked,
        codec.builtins(results),
        side_by_side.markdown(found.cases, judging.stored(case.record for case in found.cases)),
    )
    return complain(found.damages) if results else 1


def _layers(asked: argparse.Namespace) -> int:
    found = read(asked.paths or [JOURNALS])
    timed = layers.as_json(found.cases)
    answer(asked, timed, layers.tables(found.cases) or ["no layer was timed: run pytest with --dlbench-layers"])
    return complain(found.damages) or int(not timed)


def _journal(asked: argparse.Namespace) -> int:
    entries = [entry for path in asked.paths for entry in read_journal(path)]
    lines, damages = listings.journal(entries)
    sound = [entry for entry in entries if not isinstance(entry, Damage)]
    answer(asked, [_as_json(entry) for entry in sound], lines)
    return complain(damages)


def _as_json(entry: Entry) -> dict[str, object]:
    found: dict[str, object] = codec.builtins(entry)
    return {name: value for name, value in found.items() if value not in (None, "", [])}
