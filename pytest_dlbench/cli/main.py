"""The ``dlbench`` command: start a suite, show and judge recorded runs, manage environments, data and baselines."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import shtab

from pytest_dlbench.cli import (
    baseline,
    bisect,
    bump,
    calibrate,
    claims,
    compare,
    data,
    doctor,
    environments,
    export,
    gpu_plan,
    history,
    init,
    models,
    published,
    releases,
    report,
    runs,
    study,
)
from pytest_dlbench.cli.output import degrade, plain_command
from pytest_dlbench.errors import DlbenchError, nearest
from pytest_dlbench.reporting import explain
from pytest_dlbench.running import interrupts
from pytest_dlbench.running.interrupts import TerminatedError

# Each module has declare(commands). In the order of the help.
COMMANDS = (
    init,
    models,
    environments,
    data,
    runs,
    compare,
    history,
    export,
    report,
    published,
    claims,
    study,
    baseline,
    calibrate,
    bump,
    bisect,
    releases,
    gpu_plan,
    doctor,
)
REMOVED = {
    "list": "dlbench runs list",
    "show": "dlbench runs show, and with --native: dlbench models NAME --native FRAMEWORK",
    "table": "dlbench runs table",
    "journal": "dlbench runs journal",
    "layers": "dlbench models NAME",
}
INTERRUPTED = 130
MORE = """
exit status of every command:
  0    done, and everything read is intact; compare: nothing is worse
  1    something is damaged, refused or missing (named; the rest is done); compare, bump, releases: something is worse
  2    usage error: no such command, option, name or file; or a file cannot be read or written
  3    compare, bisect, releases: nothing is known to be worse, but comparisons were undecided; bump: some were not made
  130  Ctrl-C; after SIGTERM and SIGHUP 143 and 129, except where a command reports what it found by then
"dlbench COMMAND --help" explains them for each command, with examples. --json prints one JSON document.
"""
COMPLETION = """
examples:
  dlbench completion bash > ~/.local/share/bash-completion/completions/dlbench
  dlbench completion zsh > ~/.zfunc/_dlbench

exit status: 0 printed, 2 usage error
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status, as documented in ``MORE``."""
    degrade()
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in REMOVED:
        print(f"dlbench {given[0]} is now: {REMOVED[given[0]]}", file=sys.stderr)
        return 2
    asked = parser().parse_args(given)
    try:
        with interrupts.handled():
            return int(asked.run(asked))
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt as error:
        return error.status if isinstance(error, TerminatedError) else INTERRUPTED
    except DlbenchError as error:
        text = explain.error(error)
        # Errors about arguments begin with the command.
        print(text if text.startswith("dlbench ") else f"dlbench: {text}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"dlbench: {explain.system_error(error)}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    """Names the nearest command or option for one that there is not, as Python does from 3.14 on for commands.

    Without a command, it prints the help.
    """

    def error(self, message: str) -> NoReturn:
        if self._subparsers is not None and message.startswith("the following arguments are required"):
            self.print_help(sys.stderr)
            self.exit(2, f"\n{self.prog}: error: {message}\n")
        super().error(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        for flag in (text.partition("=")[0] for text in unknown if text.startswith("--")):
            close = nearest(flag, self._option_string_actions)
            self.error(f"unknown option {flag}{f'; did you mean {close}?' if close else ''}")
        # Python 3.11 gives a positional of several values only those before the first option.
        several = [action.dest for action in self._get_positional_actions() if action.nargs in ("+", "*")]
        if several and unknown:
            getattr(found, several[-1]).extend(unknown)
            unknown = []
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            close = nearest(str(value), known)
            advice = f"did you mean {close!r}? known: " if close else "known: "
            raise argparse.ArgumentError(action, f"unknown {value!r}; {advice}{', '.join(known)}")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        # Late: no other command needs it.
        from importlib import metadata  # noqa: PLC0415

        print(f"pytest-dlbench {metadata.version('pytest-dlbench')}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments."""
    parser: argparse.ArgumentParser = _Parser(
        prog="dlbench",
        description=__doc__,
        epilog=MORE.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="Print the version of pytest-dlbench.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.declare(commands)
    text = "Print the shell completion script of this command."
    completion = plain_command(commands, "completion", help_text=text, more=COMPLETION)
    completion.add_argument("shell", choices=shtab.SUPPORTED_SHELLS)
    completion.set_defaults(run=_completion)
    return parser


def _completion(asked: argparse.Namespace) -> int:
    print(shtab.complete(parser(), shell=asked.shell))
    return 0
