"""Our side of a comparison with published figures: the sound cases of recorded sessions."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dlbench.judging import is_sound
from pytest_dlbench.judging.claim_cases import Observed
from pytest_dlbench.planning.sides import unlabelled
from pytest_dlbench.records import Record, Run, RunOutcome
from pytest_dlbench.storing import recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The cases of files, each file being a session, and the damage found in them. ``sides`` are those of pairs."""

    cases: tuple[Observed, ...] = ()
    sides: tuple[Observed, ...] = ()
    damages: tuple[str, ...] = ()


def observe(paths: Iterable[Path]) -> Seen:
    """The sound cases of journals, documents, and folders of them; raises FileFormatError as ``recorded.read`` does."""
    found = [(recorded.session_of(file), recorded.read([file])) for path in paths for file in recorded.files(path)]
    sound = [(session, case) for session, part in found for case in part.cases if is_sound(case.result)]
    cases = [_observed(session, case.record) for session, case in sound if case.result.pairing is None]
    sides = [side for session, case in sound if case.old for side in _sides(session, case.record, case.old)]
    damages = tuple(damage for _, part in found for damage in part.damages)
    return Seen(cases=_with_runs(cases), sides=_with_runs(sides), damages=damages)


def _observed(session: str, record: Record) -> Observed:
    runs = tuple(filter(_is_valid, record.runs))
    return Observed(session=session, case=record.case, context=record.context, recipe=record.recipe, runs=runs)


def _sides(session: str, new: Record, old: Record) -> tuple[Observed, Observed]:
    """Both sides of a case that ran in pairs, with the runs of the pairs that are valid."""
    within = f"{session}: {old.case.id} and {new.case.id}"
    before, after = (_side(within, record) for record in (old, new))
    both = {run.index for run in before.runs} & {run.index for run in after.runs}
    one, other = (replace(side, runs=tuple(run for run in side.runs if run.index in both)) for side in (before, after))
    return one, other


def _side(session: str, record: Record) -> Observed:
    """One side, with the framework's name of the published claims if settings are all that distinguishes the sides."""
    case = replace(record.case, framework=unlabelled(record.case))
    return replace(_observed(session, record), is_paired=True, case=case)


def _is_valid(run: Run) -> bool:
    return run.outcome is RunOutcome.FINISHED and run.has_figures and not run.invalid


def _with_runs(cases: Iterable[Observed]) -> tuple[Observed, ...]:
    return tuple(case for case in cases if case.runs)
