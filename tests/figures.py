"""Figures in pages that a command of the checkout writes: they are between two comments, the first with the command.

What was measured is kept in a file next to the command's module, from which the figures can be written again.
"""

import os
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pytest_dlbench.running.hosts.local import THIS_MACHINE

DOCS = Path(__file__).parents[1] / "docs"
END = "<!-- end of the figures -->"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The machine on which something was measured, and its load of one minute, before and after."""

    cpu_model: str
    cores: int
    load: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.cores} cores of {self.cpu_model}, load {self.load[0]:.1f} before and {self.load[1]:.1f} after"


def load() -> float:
    """The machine's load of the last minute."""
    return os.getloadavg()[0]


def conditions(load_before: float) -> Conditions:
    """Those of what has just been measured."""
    machine = THIS_MACHINE.machine
    return Conditions(cpu_model=machine.cpu_model, cores=machine.cores, load=(load_before, load()))


def keep(file: Path, measured: Any) -> None:
    """Write what was measured."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")


def kept(file: Path, kind: type[T]) -> T:
    """Read what was measured."""
    return msgspec.json.decode(file.read_bytes(), type=kind)


def write(page: Path, command: str, lines: Iterable[str]) -> None:
    """Replace the figures of a command in a page; ends the process if the page has no place for them."""
    before, _, after = _divided(page, command)
    text = "\n".join([f"{before}{_begin(command)}", "", *lines, "", f"{END}{after}"])
    page.write_text(text, encoding="utf-8")


def written(page: Path, command: str) -> list[str]:
    """The lines of a command's figures in a page."""
    return _divided(page, command)[1].strip().splitlines()


def wrapped(text: str) -> list[str]:
    """Lines of a paragraph."""
    return [*textwrap.wrap(text, 119, break_long_words=False, break_on_hyphens=False), ""]


def heading(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*names), "|" + "---|" * len(names)]


def row(*cells: str) -> str:
    """A line of a table."""
    # Python's format has no space before the sign.
    return re.sub(r"(?<=\d)%", " %", f"| {' | '.join(cells)} |")


def _begin(command: str) -> str:
    return f"<!-- figures: {command} -->"


def _divided(page: Path, command: str) -> tuple[str, str, str]:
    text, begin = page.read_text(encoding="utf-8"), _begin(command)
    if text.count(begin) != 1:
        raise SystemExit(f"{page}: has no place for these figures: write the lines {begin} and {END} there once")
    before, rest = text.split(begin)
    own, _, after = rest.partition(END)
    return before, own, after
