"""``dlbench env``: list, build, find and remove the environments that frameworks are trained in."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pytest_dlbench.environments import FRAMEWORKS, Environment
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
from pytest_dlbench.reporting import listings

ENVIRONMENTS = {
    environment.name: environment for framework in FRAMEWORKS.values() for environment in framework.environments
}


def declare(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``env`` and what it can do."""
    parser = commands.add_parser("env", help="List, build, find and remove the environments of frameworks.")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for name, run, help_text in (
        ("list", _list, "List all environments: which Python, which frameworks, built or not."),
        ("build", _build, "Build environments, by their own name or a framework's, or as NAME==VERSION."),
        ("remove", _remove, "Take environments off the disk."),
        ("path", _path, "Print the Python of an environment."),
        ("where", _where, "Print the folder that all environments lie in."),
    ):
        action = actions.add_parser(name, help=help_text)
        action.set_defaults(run=run, python=[])
        if name in ("build", "remove"):
            action.add_argument("names", metavar="NAME", nargs="*")
            action.add_argument("--all", action="store_true", help="All that are declared.")
        if name == "build":
            action.add_argument("--jobs", type=int, default=2, metavar="N", help="How many at a time [2].")
            action.add_argument(
                "--python", action="append", default=[], metavar="NAME=PATH", help="Build NAME with this Python."
            )
        if name == "remove":
            action.add_argument("--stale", action="store_true", help="What is not finished, or has other pins by now.")
        if name == "path":
            action.add_argument("name", metavar="NAME")


def _store(asked: argparse.Namespace) -> EnvironmentStore:
    return EnvironmentStore(pythons=parse_choices(",".join(asked.python), "--python"))


def _named(name: str, where: str) -> Environment:
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    if is_specification(name):
        environments = specified(name, FRAMEWORKS, where).environments
    elif name in FRAMEWORKS:
        environments = FRAMEWORKS[name].environments
    else:
        raise OptionError(unknown_name("environment or framework", name, where, {*ENVIRONMENTS, *FRAMEWORKS}))
    if not environments:
        reason = FRAMEWORKS[name].unsupported if name in FRAMEWORKS else "a Python that exists needs no building"
        raise OptionError(f"{where}: {name!r} has no environment: {reason}")
    return environments[0]


def _selected(asked: argparse.Namespace, where: str) -> list[Environment]:
    names = list(ENVIRONMENTS) if asked.all else asked.names
    if not names and not getattr(asked, "stale", False):
        raise OptionError(f"{where}: name environments, or say --all\n  known: {', '.join(ENVIRONMENTS)}")
    return list(
        {environment.folder_name: environment for environment in (_named(name, where) for name in names)}.values()
    )


def _list(asked: argparse.Namespace) -> int:
    store = _store(asked)
    rows = [
        (environment, _frameworks_of(environment), _state(store, environment)) for environment in ENVIRONMENTS.values()
    ]
    declared = {environment.folder_name for environment in ENVIRONMENTS.values()}
    others = {name: built for name, built in store.all().items() if name not in declared}
    _print(listings.environments(rows, others))
    return 0


def _frameworks_of(environment: Environment) -> list[str]:
    usual = [framework.name for framework in FRAMEWORKS.values() if environment in framework.environments[:1]]
    named = [framework.name for framework in FRAMEWORKS.values() if environment in framework.environments]
    # Some serve only versions that somebody names.
    return usual or [f"{name}=={environment.since} or later" for name in named]


def _state(store: EnvironmentStore, environment: Environment) -> Built | str:
    if built := store.find(environment):
        return built
    try:
        store.interpreter(environment)
    except EnvironmentMissingError:
        return f"no Python {environment.python} here"
    return "not built"


class _Lines:
    """Progress as one line each; several environments are built at a time."""

    def building(self, name: str, doing: str) -> None:
        print(f"{name}: {doing}", flush=True)


def _build(asked: argparse.Namespace) -> int:
    """0 when all stand; 1 with the reason of each that does not."""
    store, chosen = _store(asked), _selected(asked, "dlbench env build")

    def attempt(environment: Environment) -> str:
        try:
            if store.find(environment):
                print(f"{environment.name}: is built", flush=True)
            else:
                store.build(environment, _Lines())
        except (EnvironmentBuildError, EnvironmentMissingError) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(max(1, asked.jobs)) as pool:
        failures = [failure for failure in pool.map(attempt, chosen) if failure]
    for failure in failures:
        print(f"dlbench: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _remove(asked: argparse.Namespace) -> int:
    store = _store(asked)
    folders = [environment.folder_name for environment in _selected(asked, "dlbench env remove")]
    if asked.stale:
        folders += _stale(store)
    for folder in folders:
        print(f"{folder}: {'removed' if store.remove(folder) else 'was not there'}")
    return 0


def _stale(store: EnvironmentStore) -> Iterable[str]:
    declared = {environment.folder_name for environment in ENVIRONMENTS.values()}
    return [name for name, built in store.all().items() if built is None or name not in declared]


def _path(asked: argparse.Namespace) -> int:
    environment, store = _named(asked.name, "dlbench env path"), _store(asked)
    if built := store.find(environment):
        print(built.python)
        return 0
    raise DlbenchError(f"environment {environment.name!r} is not built: dlbench env build {environment.name}")


def _where(asked: argparse.Namespace) -> int:
    print(_store(asked).root)
    return 0


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line)
