"""Comma-separated values: one row per run."""

import csv
from collections.abc import Sequence
from io import StringIO

from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing.recorded import Recorded
from pytest_dlbench.storing.tables import Cell


def write(recorded: Sequence[Recorded]) -> bytes:
    """A header and the rows, in UTF-8; figures that a run lacks are empty.

    Text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    text = StringIO()
    writer = csv.DictWriter(text, list(kinds(recorded)), lineterminator="\n")
    writer.writerow({name: foreign.cell(name) for name in writer.fieldnames})
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows(recorded))
    return text.getvalue().encode()


def _cell(value: Cell) -> Cell:
    return foreign.cell(value) if isinstance(value, str) else value
