"""One option: how it is spelled, and how its text is parsed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_dlbench.judging import Metrics

Parse = Callable[..., Any]
"""Parses a text; also takes the name of the option or ini key, for error messages. Raises OptionError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One row of the table: the flag --dlbench-NAME and the ini key dlbench_NAME (with underscores)."""

    name: str
    parse: Parse
    default: str
    help: str
    metavar: str = ""
    repeats: bool = False
    spelled: str = ""
    """The flag's spelling, if it differs from the name."""
    without_value: str = ""
    """What the flag alone means, if its value may be omitted."""
    names_metrics: bool = False
    """Whether ``parse`` also takes the metrics of the session."""

    def read(self, text: str, where: str, metrics: Metrics) -> Any:
        """Parse a text that was given as ``where``; raises OptionError."""
        return self.parse(text, where, metrics) if self.names_metrics else self.parse(text, where)

    @property
    def flag(self) -> str:
        """The flag on the command line."""
        return f"--dlbench-{self.spelled or self.name}"

    @property
    def key(self) -> str:
        """The ini key, always with underscores, and pytest's ``dest``."""
        return self.flag.removeprefix("--").replace("-", "_")
