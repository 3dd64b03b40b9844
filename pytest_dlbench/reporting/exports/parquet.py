"""Parquet: the rows of CSV, typed."""

from collections.abc import Sequence

from pytest_dlbench.reporting.exports.rows import COLUMNS, FLOATS, INTEGERS, rows
from pytest_dlbench.storing import tables
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """One Parquet file, whose columns are those of CSV; ``began`` is text in ISO 8601 and sorts as time does."""
    kinds = {name: "int64" if name in INTEGERS else "float64" if name in FLOATS else "string" for name in COLUMNS}
    return tables.encode(rows(recorded), kinds)
