"""From journals to the cases of a report."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.errors import OptionError
from pytest_dlbench.records import Context, Run
from pytest_dlbench.reporting.charts.measured import Judged, Measured, named
from pytest_dlbench.storing import Damage, read_journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What the journals hold: judged cases, and what no chart can show.

    ``unjudged`` are the ids of cases with runs and no verdict: of sessions that were cut short, or of single runs such
    as those of the equivalence job.
    """

    cases: tuple[Measured, ...]
    sessions: tuple[str, ...]
    damages: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


def gather(paths: Iterable[Path]) -> Gathered:
    """Everything in these journals and folders of journals.

    Raises OptionError for a folder without a journal, FileFormatError for a file that is not there.
    """
    judged: list[Judged] = []
    damages: list[str] = []
    unjudged: list[str] = []
    journals = list(_journals(paths))
    for journal in journals:
        _read(journal, judged, damages, unjudged)
    return Gathered(
        cases=named(judged),
        sessions=tuple(journal.stem for journal in journals),
        damages=tuple(damages),
        unjudged=tuple(unjudged),
    )


def _journals(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.glob("*.jsonl"))
        if not found:
            raise OptionError(f"{path}: no journal in this folder; sessions write them to .dlbench, as *.jsonl")
        yield from found


def _read(journal: Path, judged: list[Judged], damages: list[str], unjudged: list[str]) -> None:
    """A case's runs come before its verdict."""
    open_runs: dict[str, list[tuple[Run, Context | None]]] = {}
    for entry in read_journal(journal):
        if isinstance(entry, Damage):
            damages.append(entry.message)
        elif entry.run:
            open_runs.setdefault(entry.run.case, []).append((entry.run, entry.context))
        elif entry.result:
            pairs = open_runs.pop(entry.result.case.id, [])
            runs, contexts = tuple(run for run, _ in pairs), [context for _, context in pairs if context]
            context = contexts[0] if contexts else None
            judged.append(Judged(session=journal.stem, result=entry.result, runs=runs, context=context))
    unjudged.extend(open_runs)
