"""Encodes rows as Parquet, in memory; its library is an optional extra, imported on use."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from types import ModuleType

from pytest_dlbench.errors import DlbenchError

Cell = str | int | float | None


def arrow() -> ModuleType:
    """PyArrow; raises DlbenchError, with the install command, if it is not installed."""
    try:
        import pyarrow.parquet  # noqa: PLC0415 - an extra, and slow to load
    except ModuleNotFoundError:
        raise DlbenchError(
            'Parquet needs pyarrow, which is not installed: pip install "pytest-dlbench[history]"'
        ) from None
    return pyarrow  # type: ignore[no-any-return]


def encode(
    rows: Sequence[Mapping[str, Cell]], kinds: Mapping[str, str], metadata: Mapping[str, bytes] | None = None
) -> bytes:
    """One Parquet file with a column for each of ``kinds``, whose values are Arrow type names, and page checksums."""
    pa = arrow()
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in kinds.items()])
    target = BytesIO()
    described = schema.with_metadata(metadata)
    table = pa.Table.from_pylist(list(rows), schema=described)
    pa.parquet.write_table(table, target, compression="zstd", write_page_checksum=True)
    return target.getvalue()
