"""``dlbench list`` and ``dlbench show``: the sessions there are, what they say of a case, how a model is built."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_dlbench import judging
from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command, complain
from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Absent, Places
from pytest_dlbench.environments.specification import is_specification, specified
from pytest_dlbench.errors import DlbenchError, FileFormatError, OptionError, unknown_name
from pytest_dlbench.model import infer
from pytest_dlbench.records import codec
from pytest_dlbench.reporting import explain, figures, terminal
from pytest_dlbench.storing.recorded import Recorded, files_of, read
from pytest_dlbench.zoo import MODELS

LIST = """
examples:
  dlbench list                     the sessions of this folder's .dlbench
  dlbench list nightly/*.json      files of --dlbench-json

exit status: 0 all read, 1 something is damaged (the rest is listed), 2 a wrong call
"""
SHOW = """
CASE is a case's id, a part of it, or with --native also the name of a model of the zoo.

examples:
  dlbench show pytorch-mnist-cnn           every recorded session of it, run by run
  dlbench show gatech-lenet --native jax   what JAX's builder makes of LeNet

exit status: 0 all read, 1 something is damaged (the rest is shown), 2 a wrong call or nothing of that name
"""


def declare(commands: Commands) -> None:
    """Add ``list`` and ``show``."""
    listing = command(commands, "list", help_text="List recorded sessions: when, where, what became of it.", more=LIST)
    listing.add_argument("paths", metavar="RECORDS", nargs="*", type=Path, help=f"Files or folders [{JOURNALS}].")
    listing.set_defaults(run=_list)
    showing = command(commands, "show", help_text="Show what was recorded of a case, run by run.", more=SHOW)
    showing.add_argument("case", metavar="CASE")
    showing.add_argument(
        "--records", metavar="PATH", nargs="+", type=Path, default=[JOURNALS], help=f"Files or folders [{JOURNALS}]."
    )
    showing.add_argument("--native", metavar="FRAMEWORK", help="Print the model that this framework's builder makes.")
    showing.set_defaults(run=_show)


def _list(asked: argparse.Namespace) -> int:
    given = asked.paths or ([JOURNALS] if JOURNALS.is_dir() else [])
    paths = [file for path in given for file in (files_of(path) if path.is_dir() else [path])]
    if not paths and not asked.paths:
        raise FileFormatError(f"there is no session in {JOURNALS}: run pytest here, or name files and folders")
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
    if asked.native:
        return _native(asked)
    found = read(asked.records)
    cases = [case for case in found.cases if asked.case in case.record.case.id]
    if not cases:
        known = {case.record.case.id for case in found.cases}
        raise OptionError(unknown_name("case", asked.case, "dlbench show", known))
    whole = [replace(case, result=explain.rendered(case.result)) for case in cases]
    answer(asked, codec.builtins(whole), [line for case in cases for line in _lines(case)])
    return complain(found.damages)


def _lines(case: Recorded) -> list[str]:
    result, context = case.result, case.record.context
    values = [judging.summarise([run]) for run in case.record.runs]
    metrics = list(dict.fromkeys(name for of_run in values for name in of_run))
    grid = terminal.grid("run", right=("seed", "outcome", *metrics))
    for run, known in zip(case.record.runs, values, strict=True):
        shown = [figures.figure(name, known[name]) if name in known else "–" for name in metrics]
        grid.add_row(run.began[:19], str(run.seed), run.outcome.value, *shown)
    versions = ", ".join(f"{name} {version}" for name, version in case.record.runs[0].versions.items())
    return [
        f"{result.case.id}: {result.outcome} on {context.machine.name}, {context.steps} steps of {context.batch_size}",
        f"  {versions}",
        *terminal.lines(grid),
        *(f"  {line}" for line in explain.message(result).splitlines()),
        "",
    ]


def _native(asked: argparse.Namespace) -> int:
    # Late: NumPy and psutil are slow to load, and needed for this alone.
    from pytest_dlbench.running.native_model import describe  # noqa: PLC0415

    name = asked.case if asked.case in MODELS else _model_of(asked)
    model, framework = MODELS[name], _framework(asked.native)
    place = Places().find(framework)
    if isinstance(place, Absent):
        raise DlbenchError(place.reason)
    shown = describe(framework, place, infer(model), model.recipe)
    answer(asked, {"model": name, "framework": framework.name, "description": shown}, [shown])
    return 0


def _model_of(asked: argparse.Namespace) -> str:
    """The model of a recorded case; records are looked at only where no model has the name."""
    try:
        names = {case.record.case.model for case in read(asked.records).cases if asked.case in case.record.case.id}
    except FileFormatError:
        names = set()
    if len(known := names & MODELS.keys()) == 1:
        return known.pop()
    if len(names) > 1:
        raise OptionError(f"dlbench show: {asked.case!r} are cases of {', '.join(sorted(names))}; name one")
    raise OptionError(unknown_name("model", asked.case, "dlbench show --native", MODELS))


def _framework(name: str) -> Framework:
    if is_specification(name):
        return specified(name, FRAMEWORKS, "dlbench show --native")
    if name not in FRAMEWORKS:
        raise OptionError(unknown_name("framework", name, "dlbench show --native", FRAMEWORKS))
    return FRAMEWORKS[name]
