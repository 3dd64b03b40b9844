"""Options of the performance benchmarks, and the ratios in their conclusions."""

from collections.abc import Callable, Iterator

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.errors import unknown_name
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import devices
from pytest_dlbench.running.waits import Patience
from pytest_dlbench.sampling.machine import this_machine

CONCLUSIONS = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("performance benchmarks")
    group.addoption("--rounds", type=int, metavar="N", help="Rounds, each of all sides [each benchmark has its own].")
    group.addoption("--steps", type=int, metavar="N", help="Steps per training [each benchmark has its own].")
    group.addoption("--threads", type=int, metavar="N", default=this_machine().cores, help="Threads [all cores].")
    group.addoption("--frameworks", metavar="NAMES", help="Frameworks, separated by commas [pytorch; builders: all].")
    group.addoption("--tokens", type=int, metavar="N", default=60, help="Length of the LSTM's sequences [60].")
    group.addoption("--rate", type=int, metavar="N", help="Additional samplers [as many as a fifth of a core allows].")
    group.addoption("--cpu-seconds", action="store_true", help="builders: CPU time of the process, not wall time.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "framework" in metafunc.fixturenames:
        asked = metafunc.config.getoption("frameworks")
        names = asked.split(",") if asked else metafunc.module.DEFAULT_FRAMEWORKS
        for name in names:
            if name not in FRAMEWORKS:
                raise pytest.UsageError(unknown_name("framework", name, "--frameworks", FRAMEWORKS))
        metafunc.parametrize("framework", names, scope="module")


@pytest.fixture(scope="session")
def progress(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Writes a line while benchmarks run, bypassing output capture."""
    terminal = pytestconfig.pluginmanager.get_plugin("terminalreporter")
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(f"  {line}")

    return write


@pytest.fixture(scope="session")
def conclude(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Adds a line to the summary at the end of the session."""
    return pytestconfig.stash.setdefault(CONCLUSIONS, []).append


@pytest.fixture(scope="module")
def processors(progress: Callable[[str], None]) -> Iterator[None]:
    """Prevents other sessions on this machine from measuring at the same time."""
    with devices.held("cpu", Patience(waiting=lambda wait: progress(f"waiting: {problems.users(wait.holders)}"))):
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if lines := config.stash.get(CONCLUSIONS, []):
        terminalreporter.section("conclusions")
        for line in lines:
            terminalreporter.write_line(line)
