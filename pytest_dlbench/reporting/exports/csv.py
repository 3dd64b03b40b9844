"""Comma-separated values: one row a run."""

import csv
from collections.abc import Sequence
from io import StringIO

from pytest_dlbench.reporting.exports.rows import kinds_with_readings, rows
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """A heading and the rows, in UTF-8; what a run has not is empty."""
    text = StringIO()
    columns = kinds_with_readings(recorded)
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(recorded, columns))
    return text.getvalue().encode()
