"""The ``dlbench`` command: look at models and at what sessions have recorded, keep environments and data."""

import argparse
import sys
from collections.abc import Sequence

import shtab

from pytest_dlbench.cli import (
    baseline,
    bisect,
    bump,
    calibrate,
    compare,
    data,
    doctor,
    environments,
    export,
    history,
    journals,
    models,
    published,
    records,
    report,
)
from pytest_dlbench.cli.output import plain_command
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.reporting import explain

MORE = """
exit status of every command:
  0    done, and all that was read is sound; compare: nothing is worse
  1    something is damaged, refused or missing (named; the rest is done); compare, bump: something is worse
  2    a wrong call: no such command, option, name or file
  3    compare, bisect: nothing is known to be worse, but not everything could be concluded
"dlbench COMMAND --help" says what they mean there, with examples. --json answers with one JSON document.
"""
COMPLETION = """
examples:
  dlbench completion bash > ~/.local/share/bash-completion/completions/dlbench
  dlbench completion zsh > ~/.zfunc/_dlbench

exit status: 0 printed, 2 a wrong call
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and give its exit status: ``MORE`` says which there are."""
    asked = parser().parse_args(arguments)
    try:
        return int(asked.run(asked))
    except BrokenPipeError:
        return 0
    except DlbenchError as error:
        print(f"dlbench: {explain.error(error)}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments."""
    parser = argparse.ArgumentParser(
        prog="dlbench",
        description=__doc__,
        epilog=MORE.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    models.declare(commands)
    journals.declare(commands)
    environments.declare(commands)
    data.declare(commands)
    export.declare(commands)
    records.declare(commands)
    compare.declare(commands)
    history.declare(commands)
    baseline.declare(commands)
    doctor.declare(commands)
    report.declare(commands)
    published.declare(commands)
    bump.declare(commands)
    bisect.declare(commands)
    calibrate.declare(commands)
    text = "Print the script that completes this command in a shell."
    completion = plain_command(commands, "completion", help_text=text, more=COMPLETION)
    completion.add_argument("shell", choices=shtab.SUPPORTED_SHELLS)
    completion.set_defaults(run=_completion)
    return parser


def _completion(asked: argparse.Namespace) -> int:
    print(shtab.complete(parser(), shell=asked.shell))
    return 0
