"""Reads recorded sessions: cases with their runs and results, from journals and documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import (
    FORMAT_VERSION,
    Case,
    CaseResult,
    Certificate,
    Context,
    Record,
    Run,
    SkippedCell,
    codec,
)
from pytest_dlbench.storing.journal import Damage, Entry, read_journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One case of one session: what was measured, and its result.

    ``old`` is the baseline side of a case that was run in pairs.
    """

    record: Record
    result: CaseResult
    old: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What --dlbench-json writes: one complete session. ``schema.json``, next to the exports, describes it.

    ``version`` is pytest-dlbench's, ``written`` is in UTC.
    """

    format: int = FORMAT_VERSION
    version: str
    written: str
    cases: tuple[Recorded, ...]
    left_out: tuple[SkippedCell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The cases that could be read from files and folders, and the damage found in them."""

    cases: tuple[Recorded, ...]
    damages: tuple[str, ...] = ()


@dataclass(slots=True)
class _Joiner:
    """Joins runs with the result that was concluded from them."""

    where: str
    cases: list[Recorded] = field(default_factory=list)
    damages: list[str] = field(default_factory=list)
    _runs: dict[str, dict[int, Run]] = field(default_factory=dict)
    _contexts: dict[str, Context] = field(default_factory=dict)

    def add(self, entry: Entry | Damage) -> None:
        if isinstance(entry, Damage):
            self.damages.append(entry.message)
        elif entry.run:
            # Invalid runs were repeated, and only the last repetition was judged.
            self._runs.setdefault(entry.run.case, {})[entry.run.index] = entry.run
            if entry.context:
                self._contexts[entry.run.case] = entry.context
        elif entry.result:
            self._join(entry.result, entry.recipe or {})

    def _join(self, result: CaseResult, recipe: Mapping[str, Any]) -> None:
        old = self._record(result.pairing.old, recipe, None) if result.pairing else None
        if record := self._record(result.case, recipe, result.certificate):
            self.cases.append(Recorded(record=record, result=result, old=old))
        elif (place := self._place(result.case)) is not None:
            # The test failed after the case was judged.
            self.cases[place] = replace(self.cases[place], result=result)
        else:
            name = result.case.id
            self.damages.append(
                f"{self.where}: {name} has a result, but its runs or context are missing; it is skipped"
            )

    def _place(self, case: Case) -> int | None:
        """The place of the last result of a case, if it has any."""
        places = (place for place, known in enumerate(self.cases) if known.result.case.id == case.id)
        return max(places, default=None)

    def _record(self, case: Case, recipe: Mapping[str, Any], certificate: Certificate | None) -> Record | None:
        runs, context = self._runs.pop(case.id, {}), self._contexts.get(case.id)
        if not runs or context is None:
            return None
        return Record(case=case, context=context, recipe=recipe, runs=tuple(runs.values()), certificate=certificate)


def read(paths: Iterable[Path]) -> Found:
    """The cases of journals, documents and folders of them, in the order of the paths, a folder's by name.

    Runs of a case without a result, because the session ended early, are ignored. Raises FileFormatError for a path
    that does not exist, and for an unreadable document.
    """
    found = [_read_one(path) for given in paths for path in files(given)]
    return Found(
        cases=tuple(case for part in found for case in part.cases),
        damages=tuple(damage for part in found for damage in part.damages),
    )


def files_of(folder: Path) -> Sequence[Path]:
    """The journals and documents in a folder, sorted by name; the names of journals begin with their start time."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".jsonl", ".json"))


def files(given: Path) -> Iterator[Path]:
    """The file itself, or the files of a folder; raises FileFormatError for a folder without any."""
    if not given.is_dir():
        yield given
        return
    if not (found := files_of(given)):
        raise FileFormatError(f"{given}: there is no journal (.jsonl) and no document (.json) in this folder")
    yield from found


def _read_one(path: Path) -> Found:
    if path.suffix == ".json":
        return Found(cases=read_document(path).cases)
    joiner = _Joiner(str(path))
    for entry in read_journal(path):
        joiner.add(entry)
    return Found(cases=tuple(joiner.cases), damages=tuple(joiner.damages))


def read_document(path: Path) -> Document:
    """Reads a file of --dlbench-json; the FileFormatError of an invalid one says where it is wrong."""
    try:
        return codec.decode_versioned(path.read_bytes(), Document, str(path))
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror}") from error
