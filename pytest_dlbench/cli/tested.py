"""What tests measure: pytest runs them up to the call of ``dlbench``, and the command goes on from there."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dlbench.errors import OptionError
from pytest_dlbench.options import OPTIONS

if TYPE_CHECKING:
    import pytest

    from pytest_dlbench.reporting.progress import Live
    from pytest_dlbench.workflows.handover import Handed

# pytest needs no terminal of its own: what goes wrong is this command's message.
QUIET = ("-p", "no:terminal", "-p", "no:cacheprovider")


def is_test(text: str) -> bool:
    """Whether a text names a test rather than a case: a file, or a part of one."""
    return text.partition("::")[0].endswith(".py")


def taken(asked: argparse.Namespace, tests: Sequence[str], where: str, progress: "Live", **more: str) -> "list[Handed]":
    """The cases of tests, which are not measured; raises OptionError if pytest cannot run them, or they have none.

    ``more`` are options that the command itself sets.
    """
    # Late: no other command needs pytest, and what measures is slow to load.
    import pytest  # noqa: PLC0415

    from pytest_dlbench.planning.hookspecs import TAKER  # noqa: PLC0415

    taker = _Taker(progress)
    arguments = [*QUIET, *_options(asked, more), *tests]
    with pytest.MonkeyPatch.context() as patch:
        # Neither the summary nor the annotations of a CI job are this session's.
        for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
            patch.delenv(name, raising=False)
        status = pytest.main(arguments, plugins=[_Named(TAKER, taker)])
    if status == pytest.ExitCode.INTERRUPTED and not taker.problems:
        raise KeyboardInterrupt
    named = " ".join(tests)
    if taker.problems:
        raise OptionError(f"{where}: {named}:\n" + "\n".join(taker.problems))
    if not taker.handed:
        raise OptionError(
            f"{where}: {named}: no test of it calls dlbench.measure or dlbench.train; to see which do: pytest"
            f" --dlbench-plan {named}"
        )
    return [replace(one, session=replace(one.session, progress=progress)) for one in taker.handed]


def _options(asked: argparse.Namespace, more: Mapping[str, str]) -> Iterator[str]:
    """The options of this command as pytest spells them."""
    given = vars(asked) | {f"dlbench_{name}": value for name, value in more.items()}
    for option in OPTIONS:
        values = given.get(option.key)
        for value in values if isinstance(values, list) else [values]:
            if value is not None:
                yield option.flag if _is_flag(option) else f"{option.flag}={value}"
    for module in asked.modules:
        yield from ("-p", module)


def _is_flag(option: Any) -> bool:
    from pytest_dlbench.options.parsers import flag  # noqa: PLC0415 - as above

    return option.parse is flag


class _Named:
    """Registers a plugin under a name, before any other is configured."""

    def __init__(self, name: str, plugin: object) -> None:
        self._name, self._plugin = name, plugin

    def pytest_cmdline_main(self, config: "pytest.Config") -> None:
        config.pluginmanager.register(self._plugin, self._name)
        # Workers of pytest-xdist are other processes.
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses, config.option.dist = 0, "no"


class _Taker:
    """Takes cases, and what keeps tests from having one."""

    def __init__(self, progress: "Live") -> None:
        self.progress = progress
        self.handed: list[Handed] = []
        self.problems: list[str] = []

    def take(self, handed: "Handed") -> None:
        """Keep a case."""
        self.handed.append(handed)

    def pytest_collectreport(self, report: "pytest.CollectReport") -> None:
        if report.failed:
            self.problems.append(report.longreprtext)

    def pytest_runtest_logreport(self, report: "pytest.TestReport") -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid}: {report.longreprtext}")
