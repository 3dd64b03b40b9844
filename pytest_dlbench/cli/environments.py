"""``dlbench env``: list, build, find and remove the environments of frameworks."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO

from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.environments import FRAMEWORKS, Environment, libraries
from pytest_dlbench.environments.building import Built, EnvironmentStore
from pytest_dlbench.environments.interpreters import parse_choices
from pytest_dlbench.environments.specification import is_specification, specified
from pytest_dlbench.errors import (
    DlbenchError,
    EnvironmentBuildError,
    EnvironmentMissingError,
    OptionError,
    unknown_name,
)
from pytest_dlbench.reporting import foreign, listings

ENVIRONMENTS = {
    environment.name: environment for framework in FRAMEWORKS.values() for environment in framework.environments
}
# Of up to gigabytes: built only by name, or for a case on a GPU or with a library.
SPECIAL_ENVIRONMENTS = {
    environment.name: environment for framework in FRAMEWORKS.values() for environment in framework.special_environments
}

MORE = """
examples:
  {examples}

exit status: 0 done, {failed}2 usage error or no such environment
"""
BUILD = """dlbench env build tensorflow mxnet
  dlbench env build pytorch-cuda
  dlbench env build pytorch==2.12.0
  dlbench env build --all --jobs 4 --python cntk=/opt/python3.6/bin/python"""


def declare(commands: Commands) -> None:
    """Add ``env`` and its actions."""
    text = "List, build, find and remove the environments of frameworks."
    parser = commands.add_parser("env", help=text, description=text)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for name, run, help_text, examples in (
        ("list", _list, "List all environments: which Python, which frameworks, built or not.", "dlbench env list"),
        ("build", _build, "Build environments, named by themselves, by a framework, or as NAME==VERSION.", BUILD),
        ("remove", _remove, "Delete environments from disk.", "dlbench env remove --stale"),
        ("path", _path, "Print the Python of an environment.", "dlbench env path tensorflow"),
        ("libraries", _libraries, "List which libraries can compute in each framework.", "dlbench env libraries"),
        ("where", _where, "Print the folder with all environments.", "dlbench env where"),
    ):
        failed = "1 one could not be built (named; the others are), " if name == "build" else ""
        action = command(actions, name, help_text=help_text, more=MORE.format(examples=examples, failed=failed))
        action.set_defaults(run=run, python=[])
        if name in ("build", "remove"):
            action.add_argument("names", metavar="NAME", nargs="*")
            action.add_argument("--all", action="store_true", help="All known environments.")
        if name == "build":
            action.add_argument("--jobs", type=int, default=2, metavar="N", help="How many to build at a time [2].")
            action.add_argument(
                "--python", action="append", default=[], metavar="NAME=PATH", help="Build NAME with this Python."
            )
        if name == "remove":
            action.add_argument(
                "--stale", action="store_true", help="Those that are unfinished, or were built from other pins."
            )
        if name == "path":
            action.add_argument("name", metavar="NAME")


def _store(asked: argparse.Namespace) -> EnvironmentStore:
    return EnvironmentStore(pythons=parse_choices(",".join(asked.python), "--python"))


def _named(name: str, where: str) -> Environment:
    if environment := {**SPECIAL_ENVIRONMENTS, **ENVIRONMENTS}.get(name):
        return environment
    if is_specification(name):
        environments = specified(name, FRAMEWORKS, where).environments
    elif name in FRAMEWORKS:
        environments = FRAMEWORKS[name].environments
    else:
        known = {*ENVIRONMENTS, *SPECIAL_ENVIRONMENTS, *FRAMEWORKS}
        raise OptionError(unknown_name("environment or framework", name, where, known))
    if not environments:
        reason = FRAMEWORKS[name].unsupported if name in FRAMEWORKS else "an existing Python needs no building"
        raise OptionError(f"{where}: {name!r} has no environment: {reason}")
    return environments[0]


def _selected(asked: argparse.Namespace, where: str) -> list[tuple[str, Environment]]:
    """Environments, and what they are called: their own name, or the specification, as versions share a name."""
    names = list(ENVIRONMENTS) if asked.all else asked.names
    if not names and not getattr(asked, "stale", False):
        raise OptionError(f"{where}: name environments, or give --all\n  known: {', '.join(ENVIRONMENTS)}")
    named = [(name, _named(name, where)) for name in names]
    chosen = {
        environment.folder_name: (name if is_specification(name) else environment.name, environment)
        for name, environment in named
    }
    return list(chosen.values())


def _list(asked: argparse.Namespace) -> int:
    store = _store(asked)
    built = [environment for environment in SPECIAL_ENVIRONMENTS.values() if store.find(environment)]
    listed = {**ENVIRONMENTS, **{environment.name: environment for environment in built}}
    rows = [(environment, _frameworks_of(environment), _state(store, environment)) for environment in listed.values()]
    declared = {environment.folder_name for environment in listed.values()}
    others = {name: built for name, built in store.all().items() if name not in declared}
    described = [_as_json(*row) for row in rows]
    answer(asked, {"environments": described, "others": sorted(others)}, listings.environments(rows, others))
    return 0


def _libraries(asked: argparse.Namespace) -> int:
    found = {framework.name: libraries.libraries(framework) for framework in FRAMEWORKS.values() if framework.builder}
    rows = [(name, sorted(known or ()), libraries.reason(FRAMEWORKS[name])) for name, known in found.items()]
    values = [{"framework": name, "libraries": known, "reason": reason} for name, known, reason in rows]
    answer(asked, values, listings.libraries(rows))
    return 0


def _as_json(environment: Environment, frameworks: Sequence[str], state: Built | str) -> dict[str, Any]:
    is_built = isinstance(state, Built)
    return {
        "name": environment.name,
        "python": environment.python,
        "frameworks": list(frameworks),
        "is_built": is_built,
        "state": "built" if isinstance(state, Built) else state,
        "interpreter": str(state.python) if isinstance(state, Built) else None,
        "bytes": state.bytes if isinstance(state, Built) else None,
        "installed": list(state.installed) if isinstance(state, Built) else [],
    }


def _frameworks_of(environment: Environment) -> list[str]:
    usual = [
        framework.name
        for framework in FRAMEWORKS.values()
        if environment in (*framework.environments[:1], *framework.special_environments)
    ]
    named = [framework.name for framework in FRAMEWORKS.values() if environment in framework.environments]
    # Some are only for versions that are asked for by name.
    return usual or [f"{name}=={environment.since} or later" for name in named]


def _state(store: EnvironmentStore, environment: Environment) -> Built | str:
    if built := store.find(environment):
        return built
    try:
        store.interpreter(environment)
    except EnvironmentMissingError:
        return f"no Python {environment.python} found"
    return "not built"


class _Lines:
    """The progress of one environment as lines, because several are built at a time."""

    def __init__(self, target: TextIO, called: str) -> None:
        self._target, self._called = target, called

    def building(self, name: str, doing: str) -> None:  # noqa: ARG002 - versions share a name
        print(foreign.line(f"{self._called}: {doing}"), flush=True, file=self._target)


def _build(asked: argparse.Namespace) -> int:
    """0 if all were built, else 1, with the reason for each that was not."""
    store, chosen = _store(asked), _selected(asked, "dlbench env build")
    target = sys.stderr if asked.json else sys.stdout

    def attempt(one: tuple[str, Environment]) -> str:
        called, environment = one
        lines = _Lines(target, called)
        try:
            if store.find(environment):
                lines.building(environment.name, "already built")
            else:
                store.build(environment, lines)
        except (EnvironmentBuildError, EnvironmentMissingError) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(max(1, asked.jobs)) as pool:
        errors = list(pool.map(attempt, chosen))
    results = [(called, error) for (called, _), error in zip(chosen, errors, strict=True)]
    answer(asked, [{"name": called, "is_built": not error, "error": error or None} for called, error in results], [])
    return complain([f"dlbench: {_of(called)}{error}" for called, error in results if error])


def _of(called: str) -> str:
    """What precedes an error, which has the environment's own name."""
    return f"{called}: " if is_specification(called) else ""


def _remove(asked: argparse.Namespace) -> int:
    store = _store(asked)
    folders = [environment.folder_name for _, environment in _selected(asked, "dlbench env remove")]
    if asked.stale:
        folders += _stale(store)
    removed = {folder: store.remove(folder) for folder in folders}
    lines = [f"{folder}: {'removed' if was_there else 'was not there'}" for folder, was_there in removed.items()]
    answer(asked, {"removed": [folder for folder, was_there in removed.items() if was_there]}, lines)
    return 0


def _stale(store: EnvironmentStore) -> Iterable[str]:
    declared = {
        environment.folder_name for known in (ENVIRONMENTS, SPECIAL_ENVIRONMENTS) for environment in known.values()
    }
    return [name for name, built in store.all().items() if built is None or name not in declared]


def _path(asked: argparse.Namespace) -> int:
    environment, store = _named(asked.name, "dlbench env path"), _store(asked)
    if built := store.find(environment):
        answer(asked, {"name": environment.name, "interpreter": str(built.python)}, [str(built.python)])
        return 0
    raise DlbenchError(f"environment {environment.name!r} is not built: dlbench env build {environment.name}")


def _where(asked: argparse.Namespace) -> int:
    root = str(_store(asked).root)
    answer(asked, {"folder": root}, [root])
    return 0
