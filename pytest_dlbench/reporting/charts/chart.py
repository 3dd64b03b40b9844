"""A chart: rows of figures and one picture of them. A table is a chart without the picture."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.charts.measured import Measured

Value = str | int | float | bool | None
Row = tuple[Value, ...]

CASE = "case"
"""The column with the number of a case; its label and the columns below are joined to the row."""
CASE_COLUMNS = ("framework", "model", "dataset", "device", "cell")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Figures under headings.

    ``name`` is used in addresses and file names. ``lead`` says in a sentence or two what is shown and how to read it.
    ``columns`` are the headings, with units, by the names that rows and picture use; the filters use the columns
    framework, model, dataset and device.
    """

    name: str
    title: str
    lead: str
    columns: Mapping[str, str]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """What else a reader must know, a sentence each."""

    def __post_init__(self) -> None:
        if wrong := [row for row in self.rows if len(row) != len(self.columns)]:
            raise ValueError(f"{self.name}: {len(self.columns)} columns, but a row is {wrong[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart(Table):
    """Figures and a picture of them in Vega-Lite, which takes the rows from the data set named ``rows``.

    With ``choose`` the picture shows one value of that column at a time, with ``limit`` only its first values until a
    reader asks for all: the most important rows should come first.
    """

    picture: Mapping[str, Any]
    choose: str = ""
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """A chart that these records have no figures for; ``because`` completes "Nothing to show:"."""

    name: str
    title: str
    because: str


def joined(table: Table, cases: Sequence[Measured]) -> list[dict[str, Value]]:
    """The rows by column, joined with the columns of their cases."""
    found = []
    for row in table.rows:
        values = dict(zip(table.columns, shown(row), strict=True))
        if CASE in values:
            case = cases[int(str(values[CASE]))]
            values = {**of_case(case), **values, CASE: case.label}
        found.append(values)
    return found


def shown(row: Row) -> Row:
    """The row with its texts made harmless; a download or a tooltip shows them."""
    return tuple(foreign.line(value) if isinstance(value, str) else value for value in row)


def of_case(case: Measured) -> dict[str, Value]:
    """The columns that every row of a case has."""
    axes = case.case
    values = (axes.framework, axes.model, axes.dataset, axes.device, case.cell)
    return dict(zip(CASE_COLUMNS, values, strict=True))


def distinct(values: Iterable[Value]) -> list[Value]:
    """Each value once, in order of first appearance."""
    return list(dict.fromkeys(values))
