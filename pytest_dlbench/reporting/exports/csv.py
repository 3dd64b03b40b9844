"""Comma-separated values: one row a run."""

import csv
from collections.abc import Sequence
from io import StringIO

from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """A heading and the rows, in UTF-8; what a run has not is empty."""
    text = StringIO()
    writer = csv.DictWriter(text, list(kinds(recorded)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(recorded))
    return text.getvalue().encode()
