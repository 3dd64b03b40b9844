"""Cases on the command line of ``dlbench``: what to train, with which settings, and a session to run it."""

import argparse
import importlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_dlbench.data import Dataset, SyntheticData
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.errors import OptionError
from pytest_dlbench.model import Model
from pytest_dlbench.options import Options, add_to_command, read
from pytest_dlbench.planning.matrix import SCALES
from pytest_dlbench.planning.registry import KNOWN, Registry, hooked
from pytest_dlbench.planning.sweep import points
from pytest_dlbench.sampling.survivors import end_orphans

if TYPE_CHECKING:
    from pytest_dlbench.reporting.progress import Live
    from pytest_dlbench.running.run_spec import RunSpec
    from pytest_dlbench.workflows.session import Session

# The options of pytest that say how a case is run.
SETTINGS = (
    "scale",
    "settings",
    "threads",
    "timeout",
    "wait",
    "seed",
    "pythons",
    "journals",
    "allow",
    "max_runs",
    "false_alarms",
)


class _Errors:
    """Standard error, for progress; answers go to standard output."""

    @property
    def is_rewritable(self) -> bool:
        """Whether it is an interactive terminal."""
        return sys.stderr.isatty() and not os.environ.get("CI")

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return shutil.get_terminal_size().columns

    def write(self, text: str) -> None:
        """Write and flush."""
        print(text, end="", file=sys.stderr, flush=True)


def declare_settings(parser: argparse.ArgumentParser, names: Sequence[str] = SETTINGS) -> None:
    """Add options of ``pytest`` without their prefix, and -p for modules with hooks."""
    for name in names:
        add_to_command(parser, name)
    parser.add_argument(
        "-p",
        metavar="MODULE",
        dest="modules",
        action="append",
        default=[],
        help="Load a module with the hooks pytest_dlbench_frameworks, _models or _datasets; repeatable.",
    )


def registry_of(asked: argparse.Namespace) -> Registry:
    """All named values, including the modules'; raises OptionError if a module cannot be imported."""
    # Late: no other command needs pytest.
    import pytest  # noqa: PLC0415

    from pytest_dlbench.planning import hookspecs  # noqa: PLC0415 - it loads pytest

    manager = pytest.PytestPluginManager()
    manager.add_hookspecs(hookspecs)
    # As python -m pytest does, so that modules in the current folder are found.
    sys.path.insert(0, str(Path.cwd()))
    for name in asked.modules:
        try:
            manager.register(importlib.import_module(name), name)
        except ImportError as error:
            raise OptionError(f"-p {name}: cannot be imported: {error}") from error
    return hooked(KNOWN, manager.hook, None)


def options_of(asked: argparse.Namespace, **more: str) -> Options:
    """The options of a session of pairs; ``more`` are options that the command itself sets."""
    given = {key: value for key, value in vars(asked).items() if key.startswith("dlbench_")}
    given |= {f"dlbench_{name}": value for name, value in more.items()}
    return read(given.get, lambda _: None, Path.cwd(), has_pairs=True)


def session_of(options: Options, shown_cases: int) -> "tuple[Session, Live]":
    """A session that reports its progress on standard error, and judges each case as if it were the only one."""
    if any(len(values) > 1 for values in options.settings.values()):
        raise OptionError("--set: give one value of each setting: this command has no axes")
    (changes,) = points(options.settings)
    # Late: NumPy and what measures are slow to load.
    from pytest_dlbench.options import settings  # noqa: PLC0415
    from pytest_dlbench.workflows.session import open_session  # noqa: PLC0415

    progress = live(shown_cases)
    hosts = settings.hosts(options)
    runs = replace(settings.run_settings(options, hosts, progress), changes=changes)
    session = open_session(
        runs,
        settings.gate_policy(options),
        settings.storage(options),
        progress,
        hosts=hosts,
        repeat_flags=options.again,
    )
    return session, progress


def live(shown_cases: int) -> "Live":
    """The progress of a session that begins, on standard error; what killed sessions left running is ended."""
    from pytest_dlbench.reporting.progress import Counted, Live, orphans  # noqa: PLC0415 - as above

    if ended := end_orphans():
        _Errors().write(f"{orphans(ended)}\n")
    return Live(_Errors(), Counted(shown_cases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a case trains, without the framework."""

    model: str
    dataset: str
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A case as it was named: what precedes the model, such as training-pytorch, and the scale; both may be empty."""

    cell: Cell
    prefix: str
    scale: str


def named(text: str, registry: Registry, where: str) -> Named:
    """Parse a case as reports name it, such as tartu-mnist-cnn-digits28-cpu; raises OptionError."""
    models = {short for name in registry.values["model"] for short in (name, name.partition("-")[2]) if short}
    patterns = (_any_of(models), _any_of(registry.values["dataset"]), _any_of(registry.values["device"]))
    found = re.fullmatch(rf"(?:(.+?)-)??({'{}'})-({'{}'})-({'{}'})(?:-({_any_of(SCALES)}))?".format(*patterns), text)
    if not found:
        raise OptionError(
            f"{where}: {text!r} is not a case; expected MODEL-DATASET-DEVICE, such as tartu-mnist-cnn-digits28-cpu, or"
            " the id of a case; settings and threads have their own options"
        )
    prefix, model, dataset, device, scale = found.groups(default="")
    return Named(cell=Cell(model=model, dataset=dataset, device=device), prefix=prefix, scale=scale)


def _any_of(names: Iterable[str]) -> str:
    # The longest first, so that tartu-lenet-small does not match as tartu-lenet.
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def planner(
    session: "Session", registry: Registry, cell: Cell, where: str, label: str = "training"
) -> "Callable[[Framework | str], RunSpec]":
    """A function from a framework, such as pytorch==2.9.0, to its spec; raises OptionError for unknown names."""

    def find(axis: str, value: object) -> object:
        return registry.find(axis, value, where)

    values = (
        cast("Model", find("model", cell.model)),
        cast("Dataset | SyntheticData", find("dataset", cell.dataset)),
        cast("Device", find("device", cell.device)),
    )
    return lambda name: session.settings.spec(cast("Framework", find("framework", name)), *values, label=label)
