"""Comma-separated values: one row per run."""

import csv
from collections.abc import Sequence
from io import StringIO

from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """A header and the rows, in UTF-8; figures that a run lacks are empty."""
    text = StringIO()
    writer = csv.DictWriter(text, list(kinds(recorded)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(recorded))
    return text.getvalue().encode()
