"""Our side of a comparison with published figures: the sound cases of recorded sessions."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.judging import is_sound
from pytest_dlbench.judging.claims import Observed
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.storing import recorded
from pytest_dlbench.storing.recorded import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The cases of files, each file being a session, and the damage found in them."""

    cases: tuple[Observed, ...] = ()
    damages: tuple[str, ...] = ()


def observe(paths: Iterable[Path]) -> Seen:
    """The sound cases of journals, documents, and folders of them; raises FileFormatError as ``recorded.read`` does.

    Pairs are skipped: each of their sides may be of another version.
    """
    found = [(recorded.session_of(file), recorded.read([file])) for path in paths for file in recorded.files(path)]
    cases = [_observed(session, case) for session, part in found for case in part.cases if _is_usable(case)]
    damages = tuple(damage for _, part in found for damage in part.damages)
    return Seen(cases=tuple(case for case in cases if case.runs), damages=damages)


def _is_usable(case: Recorded) -> bool:
    return is_sound(case.result) and case.result.pairing is None


def _observed(session: str, case: Recorded) -> Observed:
    record = case.record
    runs = [run for run in record.runs if run.outcome is RunOutcome.FINISHED and run.has_figures and not run.invalid]
    return Observed(session=session, case=record.case, context=record.context, recipe=record.recipe, runs=tuple(runs))
