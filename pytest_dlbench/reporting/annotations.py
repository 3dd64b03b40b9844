"""Failed tests as annotations, which GitHub shows on the lines of the tests."""

from dataclasses import dataclass

from pytest_dlbench.reporting import foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed test. ``line`` counts from 1, ``path`` is relative to the repository's root."""

    path: str
    line: int
    title: str
    message: str


def annotation(failure: Failure) -> str:
    """A workflow command that marks the test's line."""
    place = f"file={_property(failure.path)},line={failure.line},title={_property(failure.title)}"
    return f"::error {place}::{_data(failure.message)}"


def _data(text: str) -> str:
    return foreign.block(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
