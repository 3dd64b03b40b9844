"""Parquet: the rows of CSV, typed."""

from collections.abc import Sequence

from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing import tables
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """One Parquet file, whose columns are those of CSV."""
    return tables.encode(rows(recorded), kinds(recorded))
