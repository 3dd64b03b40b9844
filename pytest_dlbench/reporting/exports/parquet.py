"""Parquet: the rows of the CSV format, typed."""

from collections.abc import Sequence

from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing import tables
from pytest_dlbench.storing.recorded import Recorded


def write(recorded: Sequence[Recorded]) -> bytes:
    """One Parquet file with the columns of the CSV format."""
    return tables.encode(rows(recorded), kinds(recorded))
