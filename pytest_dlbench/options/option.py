"""One option: how it is typed, and what its text means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_dlbench.judging import Metrics

Parse = Callable[..., Any]
"""From the text and the place it stands in to a value; raises OptionError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One row: the flag --dlbench-NAME, the ini key dlbench_NAME with underscores, and what its text means."""

    name: str
    parse: Parse
    default: str
    help: str
    metavar: str = ""
    repeats: bool = False
    spelled: str = ""
    """As it is typed, where that differs from the name."""
    names_metrics: bool = False
    """Whether ``parse`` takes the metrics of the session, too."""

    def read(self, text: str, where: str, metrics: Metrics) -> Any:
        """The value of a text that stands at a place; raises OptionError."""
        return self.parse(text, where, metrics) if self.names_metrics else self.parse(text, where)

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--dlbench-{self.spelled or self.name}"

    @property
    def key(self) -> str:
        """As it is written in an ini file, always with underscores, and as pytest keeps it."""
        return self.flag.removeprefix("--").replace("-", "_")
