"""The ``dlbench`` command: look at models and at what sessions have recorded, keep environments and data."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import shtab

from pytest_dlbench import (
    cli_baseline,
    cli_bisect,
    cli_bump,
    cli_calibrate,
    cli_compare,
    cli_data,
    cli_doctor,
    cli_environments,
    cli_export,
    cli_history,
    cli_published,
    cli_records,
    cli_report,
)
from pytest_dlbench.errors import DlbenchError, OptionError, unknown_name
from pytest_dlbench.model import infer
from pytest_dlbench.reporting import listings, side_by_side
from pytest_dlbench.storing import Entry, read_journal
from pytest_dlbench.zoo import MODELS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when all is well, 1 when something that was read is damaged, 2 for a wrong call."""
    asked = parser().parse_args(arguments)
    try:
        return int(asked.run(asked))
    except BrokenPipeError:
        return 0
    except DlbenchError as error:
        print(f"dlbench: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments."""
    parser = argparse.ArgumentParser(prog="dlbench", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    models = commands.add_parser("models", help="List the models of the zoo with parameters and multiply-adds.")
    models.set_defaults(run=_models)
    layers = commands.add_parser("layers", help="Show one model layer by layer.")
    layers.add_argument("model", metavar="MODEL")
    layers.set_defaults(run=_layers)
    journal = commands.add_parser("journal", help="Show what sessions have recorded, damaged or cut short as they be.")
    journal.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    journal.set_defaults(run=_journal)
    table = commands.add_parser("table", help="Show frameworks side by side, from journals, as Markdown.")
    table.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    table.set_defaults(run=_table)
    cli_environments.declare(commands)
    cli_data.declare(commands)
    cli_export.declare(commands)
    cli_records.declare(commands)
    cli_compare.declare(commands)
    cli_history.declare(commands)
    cli_baseline.declare(commands)
    cli_doctor.declare(commands)
    cli_report.declare(commands)
    cli_published.declare(commands)
    cli_bump.declare(commands)
    cli_bisect.declare(commands)
    cli_calibrate.declare(commands)
    completion = commands.add_parser("completion", help="Print the script that completes this command in a shell.")
    completion.add_argument("shell", choices=shtab.SUPPORTED_SHELLS)
    completion.set_defaults(run=_completion)
    return parser


def _models(_: argparse.Namespace) -> int:
    _print(listings.models([infer(model) for model in MODELS.values()]))
    return 0


def _layers(asked: argparse.Namespace) -> int:
    if asked.model not in MODELS:
        raise OptionError(unknown_name("model", asked.model, "dlbench layers", MODELS))
    _print(listings.layers(infer(MODELS[asked.model])))
    return 0


def _journal(asked: argparse.Namespace) -> int:
    entries = [entry for path in asked.paths for entry in read_journal(path)]
    lines, damages = listings.journal(entries)
    _print(lines)
    for damage in damages:
        print(damage, file=sys.stderr)
    return 1 if damages else 0


def _table(asked: argparse.Namespace) -> int:
    entries = [entry for path in asked.paths for entry in read_journal(path)]
    results = [entry.result for entry in entries if isinstance(entry, Entry) and entry.result]
    _print(side_by_side.markdown(results))
    return 0 if results else 1


def _completion(asked: argparse.Namespace) -> int:
    print(shtab.complete(parser(), shell=asked.shell))
    return 0


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line)
