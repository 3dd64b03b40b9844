"""The studies' tables as transcribed, and their known flaws."""

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

HERE = files("pytest_dlbench.reporting.published")
WARNING = "WARNING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One source. ``files`` describes the file of each table."""

    title: str
    authors: str
    published: str
    repository: str
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One published figure, every field as text: studies print ranges (87-88), bounds (>86400) and nothing at all."""

    source: str
    framework: str
    framework_version: str
    model: str
    dataset: str
    device: str
    threads: str
    gpus: str
    batch_size: str
    metric: str
    unit: str
    value: str
    note: str

    @property
    def number(self) -> float | None:
        """The value if it is a single number above 0."""
        try:
            number = float(self.value)
        except ValueError:
            return None
        return number if number > 0 else None


class _Flaw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    text: str
    models: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()

    def is_of(self, figure: Figure) -> bool:
        return (
            self.source == figure.source
            and figure.model in (self.models or (figure.model,))
            and figure.dataset in (self.datasets or (figure.dataset,))
            and figure.framework in (self.frameworks or (figure.framework,))
        )


@cache
def studies() -> dict[str, Study]:
    """All studies by their names in the zoo."""
    return msgspec.convert(tomllib.loads(HERE.joinpath("sources.toml").read_text("utf-8")), dict[str, Study])


@cache
def figures(source: str) -> tuple[Figure, ...]:
    """Every published figure of a study, file by file."""
    return tuple(figure for name in studies()[source].files for _, figure in numbered(name))


def numbered(name: str) -> Iterator[tuple[int, Figure]]:
    """The figures of a file with their rows, the first being 1."""
    text = HERE.joinpath(name).read_text("utf-8")
    for number, row in enumerate(csv.DictReader(text.splitlines()), start=1):
        yield number, Figure(**row)


@cache
def _flaws() -> tuple[_Flaw, ...]:
    return msgspec.convert(tomllib.loads(HERE.joinpath("flaws.toml").read_text("utf-8"))["flaw"], tuple[_Flaw, ...])


def flaws_by_source() -> dict[str, tuple[str, ...]]:
    """All known flaws by study, with the frameworks and models that they are about."""
    found: dict[str, list[str]] = {}
    for flaw in _flaws():
        about = ", ".join((*flaw.frameworks, *flaw.models, *flaw.datasets))
        found.setdefault(flaw.source, []).append(f"{about}: {flaw.text}" if about else flaw.text)
    return {source: tuple(texts) for source, texts in found.items()}


def flaws(figure: Figure) -> tuple[str, ...]:
    """The known flaws of a figure; flaws of single frameworks begin with the framework."""
    known = [
        f"{figure.framework}: {flaw.text}" if flaw.frameworks else flaw.text for flaw in _flaws() if flaw.is_of(figure)
    ]
    _, warned, warning = figure.note.partition(WARNING)
    return (*known, *([f"{figure.framework}: {warning.split(';')[0].strip()}"] if warned else []))
