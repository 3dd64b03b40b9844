"""Reads recorded sessions: cases with their runs and results, from journals and documents."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import (
    DOCUMENT_FORMAT,
    Case,
    CaseResult,
    Certificate,
    Context,
    Program,
    Record,
    Run,
    SkippedCell,
    codec,
)
from pytest_dlbench.storing import consistent
from pytest_dlbench.storing.journal import COMPRESSED, Damage, Entry, RunName, name_of, read_journal

K = TypeVar("K", bound=Hashable)

# Documents of format 1 have no checksum.
FORMATS = (1, 2, DOCUMENT_FORMAT)
ENDINGS = (".jsonl", *(f".jsonl{ending}" for ending in COMPRESSED), ".json")


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

    ``version`` is pytest-dlbench's, ``written`` is in UTC. The file also has a ``checksum``, in its second line.
    """

    format: int = DOCUMENT_FORMAT
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
    _named: dict[RunName, Run] = field(default_factory=dict)
    _contexts: dict[str, Context] = field(default_factory=dict)
    _places: dict[str, list[int]] = field(default_factory=dict)
    _results: Counter[str] = field(default_factory=Counter)

    def add(self, entry: Entry | Damage) -> None:
        if isinstance(entry, Damage):
            self.damages.append(entry.message)
        elif entry.run:
            # Invalid runs were repeated, and only the last repetition was judged.
            self._runs.setdefault(entry.run.case, {})[entry.run.index] = entry.run
            self._named[name_of(entry.run)] = entry.run
            if entry.context:
                self._contexts[entry.run.case] = entry.context
        elif entry.result:
            self._join(entry, entry.result)
        elif entry.resumed:
            # The session concludes its cases again, in the same order.
            self._results.clear()

    def _join(self, entry: Entry, result: CaseResult) -> None:
        name = result.case.id
        old = self._record(entry, result.pairing.old, None, entry.old_runs) if result.pairing else None
        if record := self._record(entry, result.case, result.certificate, entry.runs):
            self._keep(Recorded(record=record, result=result, old=old))
        elif (place := self._last(name)) is not None:
            # The test failed, or said more about it, or its framework was certified, after the case was judged.
            judged = self.cases[place]
            record = replace(judged.record, certificate=result.certificate)
            self.cases[place] = replace(judged, record=record, result=result)
        else:
            self.damages.append(
                f"{self.where}: {name} has a result, but its runs or context are missing; it is skipped"
            )

    def _last(self, name: str) -> int | None:
        """The place of what the session last concluded about a case, if anything."""
        number = self._results[name]
        return self._places[name][number - 1] if number else None

    def _keep(self, case: Recorded) -> None:
        """Add a case, or replace what was concluded about it before the session was resumed."""
        name = case.result.case.id
        places, number = self._places.setdefault(name, []), self._results[name]
        self._results[name] += 1
        if number < len(places):
            self.cases[places[number]] = case
        else:
            places.append(len(self.cases))
            self.cases.append(case)

    def _record(
        self, entry: Entry, case: Case, certificate: Certificate | None, names: Sequence[RunName]
    ) -> Record | None:
        own = entry.context if entry.result and entry.result.case == case else None
        since, context = self._runs.pop(case.id, {}), self._contexts.get(case.id, own)
        runs = [self._named.get(name) for name in names] if names else list(since.values())
        if not runs or None in runs or context is None:
            return None
        return Record(
            case=case,
            context=context,
            recipe=entry.recipe or {},
            runs=tuple(run for run in runs if run),
            certificate=certificate,
            metrics=entry.metrics,
            program=_as_in(case, entry.program) if entry.program else None,
        )


def _as_in(case: Case, program: Program) -> Program:
    """A program with the parameters of a case: the sides of a comparison may differ in them."""
    single = {name for name, value in program.parameters.items() if not isinstance(value, list | dict)}
    settings = {name: value for name, value in case.settings.items() if name in single}
    return replace(program, parameters={**program.parameters, **settings})


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


def newest(cases: Iterable[Recorded], key: Callable[[Recorded], K]) -> dict[K, Recorded]:
    """The recording of each key that began last; of those that began at once, the last one."""
    found: dict[K, Recorded] = {}
    for case in cases:
        known = found.get(key(case))
        if known is None or began(case) >= began(known):
            found[key(case)] = case
    return found


def of_case(case: Recorded) -> str:
    """The case of a recording."""
    return case.record.case.id


def of_class(case: Recorded) -> tuple[str, str]:
    """The case of a recording, and its machine class."""
    return case.record.case.id, case.record.context.machine.name


def began(case: Recorded) -> float:
    """When the first run of a recording began, in seconds since the epoch; 0 without any."""
    return min((datetime.fromisoformat(run.began).timestamp() for run in case.record.runs), default=0.0)


def files_of(folder: Path) -> Sequence[Path]:
    """The journals and documents in a folder, sorted by name; the names of journals begin with their start time."""
    return sorted(path for path in folder.iterdir() if path.name.endswith(ENDINGS))


def session_of(path: Path) -> str:
    """The name of the session that a file is of."""
    return Path(path.stem).stem if path.suffix in COMPRESSED else path.stem


def files(given: Path) -> Iterator[Path]:
    """The file itself, or the files of a folder; raises FileFormatError for a folder without any."""
    if not given.is_dir():
        yield given
        return
    if not (found := files_of(given)):
        raise FileFormatError(
            f"{given}: there is no journal (.jsonl, .jsonl.gz, .jsonl.xz) and no document (.json) in this folder"
        )
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
        return decode_document(path.read_bytes(), str(path))
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror}") from error


def decode_document(content: bytes, where: str) -> Document:
    """The same for the content of a file."""
    found = codec.decode_versioned(content, Document, where, FORMATS)
    for place, case in enumerate(found.cases):
        consistent.check(where, f"$.cases[{place}]", _problems(case))
    return found


def _problems(case: Recorded) -> Iterator[consistent.Problem]:
    yield from consistent.within("record", consistent.of_record(case.record))
    yield from consistent.within("old", consistent.of_record(case.old)) if case.old else ()
    yield from consistent.within("result", consistent.of_result(case.result))
