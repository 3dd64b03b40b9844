"""The history: the measurements of all sessions as Parquet files, in a folder or at an fsspec address.

``machine_class=NAME/date=YYYY-MM-DD/SESSION-CHECKSUM.parquet``, one file per session and one row per run: pandas,
Polars, DuckDB and Spark read the whole folder as one table. Session names are unique, so writers never conflict; files
never change, except that a session which is added again replaces its own. The checksum is the beginning of the file's
SHA-256: pages have checksums of their own, but not the names of columns, nor where their pages are.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.records import MetricFacts, codec
from pytest_dlbench.storing import consistent
from pytest_dlbench.storing.files import folder_name, write_whole
from pytest_dlbench.storing.tables import Cell, arrow, encode

if TYPE_CHECKING:
    import pandas as pd

PARTITION = re.compile(r"machine_class=(?P<machine>[^/]+)/date=(?P<date>\d{4}-\d\d-\d\d)/[^/]+\.parquet$")
# Names of older files end after the 12 digits of their session.
CHECKSUM = re.compile(r"-[0-9a-f]{12}-([0-9a-f]{16})\.parquet$")
# The key of the facts about hooks' metrics in a file's metadata.
METRICS = "dlbench_metrics"
# The columns that identify a run, and what became of its case: an interrupted one is finished by a resumed session.
IDENTITY = ("case", "framework", "began", "run", "case_outcome")
Identities = Counter[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Rows of a history, with the ``session`` of each, and the files that could not be read.

    ``metrics`` are the facts of those that are not built in.
    """

    rows: "pd.DataFrame"
    damages: tuple[str, ...]
    metrics: tuple[MetricFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A folder, or an address such as ``s3://bucket/history``."""

    address: str

    def append(
        self,
        rows: Sequence[Mapping[str, Cell]],
        kinds: Mapping[str, str],
        *,
        machine: str,
        metrics: Sequence[MetricFacts] = (),
        name: str = "",
        is_resumed: bool = False,
    ) -> str:
        """Write one session's rows, with the columns of ``kinds``, atomically; returns the address of the file.

        ``metrics`` are the facts of columns that are no built-in metrics. ``name`` is that of the session, 12 digits.
        If it ``is_resumed``, it may have written some of its cases before. A file of these cases is replaced, if it
        does not have all of these rows; one that also has others, of another journal of the session, is kept.
        """
        now = datetime.now(UTC)
        name = name or uuid4().hex[:12]
        own = {path: self._identities(path) for path in self._written(name, machine)} if is_resumed else {}
        rows, written, whole = _to_write(rows, own)
        if whole:
            self._remove(path for path in written if path != whole)
            return whole
        session, day = f"{now:%Y%m%dT%H%M%S}-{name}", f"{now:%Y-%m-%d}"
        if own and (found := PARTITION.search(first := next(iter(own)))):
            session, day = Path(first).name.rpartition("-")[0], found["date"]
        facts = {METRICS: codec.encode_line(list(metrics))} if metrics else None
        content = encode([{"session": session, **row} for row in rows], {"session": "string", **kinds}, facts)
        place = f"machine_class={folder_name(machine)}/date={day}/{session}-{_checksum(content)}.parquet"
        system, root = self._opened()
        if isinstance(system, _Local):
            write_whole(Path(root, place), content)
        else:
            # An object becomes visible only once it is complete.
            system.pipe_file(f"{root}/{place}", content)
        # A damaged one may have had the same name.
        self._remove(path for path in written if not path.endswith(place))
        return f"{self.address.rstrip('/')}/{place}"

    def read(
        self, *, machine: str | None = None, since: date | None = None, columns: Iterable[str] | None = None
    ) -> Remembered:
        """The rows of all sessions, or of one machine class or since a day (in UTC); other files are not opened.

        ``columns`` are read in addition to ``session``, if a file has them. Damaged files are skipped and named.
        """
        tables, damages = [], []
        metrics: dict[str, MetricFacts] = {}
        system, paths = self._found(machine, since)
        for where in paths:
            try:
                table = _table(where, system.cat_file(where), columns)
                metrics |= {facts.name: facts for facts in _facts(table, where)}
                tables.append(table)
            except FileFormatError as error:
                damages.append(f"{error}; it is skipped, the others are kept")
            except (arrow().ArrowException, OSError, ValueError) as error:
                reason = str(error).partition("\n")[0]
                damages.append(f"{where}: not a readable Parquet file ({reason}); it is skipped, the others are kept")
        rows, odd = _joined(tables)
        return Remembered(rows=rows, damages=(*damages, *odd), metrics=tuple(metrics.values()))

    def machines(self) -> Sequence[str]:
        """The machine classes that have sessions."""
        system, root = self._opened()
        return sorted({found["machine"] for path in system.find(root) if (found := PARTITION.search(path))})

    def _written(self, name: str, machine: str) -> list[str]:
        """The files of a session: one for each time that other cases of it were added.

        There is one more if a process was killed while it replaced one.
        """
        system, root = self._opened()
        return [path for path in system.find(root) if f"machine_class={machine}/" in path and f"-{name}-" in path]

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._opened()[0].rm_file(path)

    def _identities(self, where: str) -> Identities:
        """The rows of the file in this place; none of a damaged one."""
        content = self._opened()[0].cat_file(where)
        try:
            return Counter(map(_identity, _table(where, content, IDENTITY).to_pylist()))
        except (FileFormatError, arrow().ArrowException, OSError, ValueError):
            return Counter()

    def _opened(self) -> tuple[Any, str]:
        """The file system of the address and the path in it."""
        if "://" not in self.address:
            return _Local(), self.address
        try:
            import fsspec  # noqa: PLC0415 - an extra, and only for addresses
        except ModuleNotFoundError:
            raise DlbenchError(f'{self.address} needs fsspec: pip install "pytest-dlbench[history]"') from None
        try:
            system, root = fsspec.core.url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise DlbenchError(f"the history at {self.address} cannot be reached: {error}") from error
        return system, str(root).rstrip("/")

    def _found(self, machine: str | None, since: date | None) -> tuple[Any, list[str]]:
        """The file system, and the files of the requested machine class and time in it."""
        system, root = self._opened()
        every = {path: found for path in sorted(system.find(root)) if (found := PARTITION.search(path))}
        if not every:
            raise FileFormatError(f"there is no history at {self.address}: pytest --dlbench-history writes one")
        first = since.isoformat() if since else ""
        chosen = [
            path for path, found in every.items() if machine in (None, found["machine"]) and found["date"] >= first
        ]
        return system, chosen


class _Local:
    """Local folders: the file-system interface that is needed here, without fsspec."""

    def find(self, root: str) -> list[str]:
        return [path.as_posix() for path in Path(root).glob("machine_class=*/date=*/*.parquet")]

    def cat_file(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def rm_file(self, path: str) -> None:
        Path(path).unlink()


def _identity(row: Mapping[str, Cell]) -> tuple[Cell, ...]:
    return tuple(row.get(column) for column in IDENTITY)


def _to_write(
    rows: Sequence[Mapping[str, Cell]], own: Mapping[str, Identities]
) -> tuple[Sequence[Mapping[str, Cell]], Sequence[str], str]:
    """The rows that a session's ``own`` files lack, those of them that these replace, and one that has them, if any.

    A case is in one file: its rows replace all of an earlier file of these cases only.
    """
    cases = {path: {case for case, *_ in found} for path, found in own.items()}
    given = {row.get("case") for row in rows}
    replaced = [path for path in own if cases[path] <= given]
    kept = [path for path in own if path not in replaced]
    known = {case for path in kept for case in cases[path]}
    missing = [row for row in rows if row.get("case") not in known]
    identities = Counter(map(_identity, missing))
    having = [path for path in replaced if own[path] == identities] if missing else kept
    return missing, replaced, next(iter(having), "")


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _facts(table: Any, where: str) -> tuple[MetricFacts, ...]:
    text = (table.schema.metadata or {}).get(METRICS.encode())
    if text is None:
        return ()
    found = codec.decode(text, tuple[MetricFacts, ...], f"{where}, metadata {METRICS}")
    consistent.check(where, "$", consistent.of_metrics(found))
    return found


def _table(where: str, content: bytes, columns: Iterable[str] | None) -> Any:
    named = CHECKSUM.search(where)
    if named and named[1] != _checksum(content):
        raise FileFormatError(f"{where}: its content does not have the checksum in its name: it was damaged")
    # Each thread of Arrow's pools can abort the process as it exits (Arrow's issues 34314 and 36980): here none starts.
    file = arrow().parquet.ParquetFile(BytesIO(content), page_checksum_verification=True, pre_buffer=False)
    there = file.schema_arrow.names
    if "session" not in there:
        raise ValueError("it has no column 'session'")
    wanted = there if columns is None else ["session", *(name for name in columns if name in there)]
    return file.read(columns=wanted, use_threads=False)


def _joined(tables: Sequence[Any]) -> tuple["pd.DataFrame", list[str]]:
    """One table; metrics added later are missing in earlier rows. A table with conflicting types is skipped."""
    pa = arrow()
    schema, kept, odd = pa.schema([]), [], []
    for table in tables:
        try:
            schema = pa.unify_schemas([schema, table.schema], promote_options="permissive")
            kept.append(table)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            odd.append(f"session {table['session'][0]}: its column types conflict ({error}); it is skipped")
    joined = pa.concat_tables(kept, promote_options="permissive") if kept else schema.empty_table()
    return joined.to_pandas(use_threads=False), odd
