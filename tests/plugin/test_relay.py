"""Lines of progress from the processes of pytest-xdist to the terminal of their controller."""

from errno import EIO
from pathlib import Path

import pytest

from pytest_dlbench.plugin.relay import Inlet, Joined, Outlet, asked
from pytest_dlbench.records import Case
from pytest_dlbench.reporting.progress import ERASED, Counted, Live
from pytest_dlbench.running.waits import Wait


class Terminal:
    """The controller's; it keeps what is written."""

    def __init__(self, *, is_rewritable: bool) -> None:
        self.is_rewritable, self.columns, self.written = is_rewritable, 100, []

    def write(self, text: str) -> None:
        self.written.append(text)


def case(name: str) -> Case:
    return Case(id=name, framework="f", model="m", dataset="d", device="cpu", scale="smoke", threads=1)


def shown(*, is_rewritable: bool) -> list[str]:
    """What is written for two processes on two hosts, of which the second waits for the other's."""
    terminal = Terminal(is_rewritable=is_rewritable)
    inlet = Inlet(Joined(Live(terminal, Counted(2))).show)
    told = asked(inlet.path, columns=100, processes=2, is_rewritable=is_rewritable)
    one, two = (
        Live(Outlet(told, name, lambda host=host: host), Counted(2))
        for name, host in (("gw0", "host1"), ("gw1", "host2"))
    )
    one.run_started(case("first"), 0, 1)
    two.run_started(case("second"), 0, 1)
    two.waiting(case("second"), Wait(device="a node of SLURM", holders=(), seconds=120.0))
    one.phase_began("build")
    one.clear()
    inlet.close()
    return terminal.written


def test_a_terminal_has_a_line_with_what_each_host_does():
    lines = shown(is_rewritable=True)
    assert lines[0] == f"{ERASED}host1: case 1 of 2, run 1 of 1: first"
    assert lines[1] == f"{ERASED}host1: case 1 of 2, run 1 of 1: first | host2: case 1 of 2, run 1 of 1: second"
    assert "waiting for a node of SLURM for 2 min" in "".join(lines)
    assert lines[-1].startswith(f"{ERASED}host1: case 1 of 2, run 1 of 1: first, build")


def test_a_log_has_only_lines_that_stay():
    (line,) = shown(is_rewritable=False)
    assert line.startswith("waiting for a node of SLURM for 2 min")
    assert line.endswith("case: second\n")


def test_a_line_without_a_reader_is_dropped(tmp_path):
    inlet = Inlet(lambda *_: None)
    outlet = Outlet(asked(inlet.path, columns=80, processes=1, is_rewritable=False), "gw0", str)
    inlet.close()
    outlet.write("late\n")
    assert not inlet.path.exists()
    with pytest.raises(FileNotFoundError):
        Outlet(asked(tmp_path / "elsewhere", columns=80, processes=1, is_rewritable=False), "gw0", str)


def test_a_long_line_and_what_controls_a_terminal_are_cut_out():
    terminal = Terminal(is_rewritable=False)
    inlet = Inlet(Joined(Live(terminal, Counted(1))).show)
    outlet = Outlet(asked(inlet.path, columns=80, processes=1, is_rewritable=False), "gw0", str)
    outlet.write(f"\x1b]0;title\x07{'x' * 5000}\n")
    outlet.write("next\n")
    inlet.close()
    assert terminal.written[-1] == "next\n"
    assert "\x1b" not in "".join(terminal.written)
    assert Path(inlet.path).name == "lines"


def test_a_terminal_that_is_gone_does_not_end_the_reader():
    shown = []

    def show(_, text):
        shown.append(text)
        raise OSError(EIO, "the terminal is gone")

    inlet = Inlet(show)
    outlet = Outlet(asked(inlet.path, columns=80, processes=1, is_rewritable=False), "gw0", str)
    outlet.write("one\n")
    outlet.write("two\n")
    inlet.close()
    assert shown == ["one\n", "two\n"]
    assert not inlet.path.exists()
