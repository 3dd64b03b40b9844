"""Baselines, ``<machine class>/<case>.json``: one small sorted text file per case, with one line per session."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from glob import escape
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import BASELINE_FORMAT, Baseline, BaselineSession, Case, Context, Machine, codec
from pytest_dlbench.storing.files import write_whole

ADVICE = "restore it from version control, or delete it and save a new one with --dlbench-save"
FIRST_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineStore:
    """A folder of baselines, usually in a repository."""

    folder: Path

    def path(self, case: Case, machine: Machine) -> Path:
        """The file of a case's baseline, whether or not it exists."""
        return self.folder / machine.name / f"{case.id}.json"

    def read(self, case: Case, machine: Machine) -> Baseline | None:
        """The baseline of a case on a machine class, or None; raises FileFormatError for an invalid file."""
        path = self.path(case, machine)
        if not path.is_file():
            return None
        baseline = read_file(path)
        if baseline.case.id != case.id:
            raise FileFormatError(f"{path}: belongs to the case {baseline.case.id!r} @ $.case.id\n  {ADVICE}")
        return baseline

    def others(self, case: Case, machine: Machine) -> tuple[str, ...]:
        """The other machine classes that have a baseline of this case."""
        found = self.folder.glob(f"*/{escape(case.id)}.json")
        return tuple(sorted(path.parent.name for path in found if path.parent.name != machine.name))

    def write(self, baseline: Baseline) -> Path:
        """Replace the baseline of its case and machine class."""
        path = self.path(baseline.case, baseline.context.machine)
        write_whole(path, encode(baseline))
        return path


def encode(baseline: Baseline) -> bytes:
    """The text of a baseline. Each session is one line, so that a new session adds one line to a diff."""
    head, _, tail = codec.encode_file(replace(baseline, sessions=())).rpartition(b"[]")
    lines = [b"    " + codec.encode_line(session).rstrip() for session in baseline.sessions]
    return head + b"[\n" + b",\n".join(lines) + b"\n  ]" + tail


def read_file(path: Path) -> Baseline:
    """The baseline in a file of any known format; raises FileFormatError for an invalid file."""
    try:
        text = path.read_bytes()
        found = codec.format_of(text, str(path))
        if found == FIRST_FORMAT:
            baseline = _upgraded(codec.decode(text, _OneSession, str(path)), path)
        elif found == BASELINE_FORMAT:
            baseline = codec.decode(text, Baseline, str(path))
        else:
            known = f"{FIRST_FORMAT} and {BASELINE_FORMAT}"
            raise FileFormatError(f"{path}: format {found}; this version reads {known} @ $.format")
        _check(baseline, path)
    except FileFormatError as error:
        raise FileFormatError(f"{error}\n  {ADVICE}") from error
    return baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneSession:
    """A baseline of format 1: every metric of every run of one session."""

    case: Case
    context: Context
    recipe: Mapping[str, Any]
    versions: Mapping[str, str]
    seeds: tuple[int, ...]
    metrics: Mapping[str, tuple[float, ...]]
    saved: str
    reason: str


def _upgraded(old: _OneSession, path: Path) -> Baseline:
    for name, values in old.metrics.items():
        if not values:
            raise FileFormatError(f"{path}: there are no values @ $.metrics.{name}")
    session = BaselineSession(
        id=session_name(old.saved),
        saved=old.saved,
        reason=old.reason,
        versions=old.versions,
        seeds=old.seeds,
        medians={name: median(values) for name, values in old.metrics.items()},
        values=old.metrics,
    )
    return Baseline(case=old.case, context=old.context, recipe=old.recipe, anchor=session.id, sessions=(session,))


def session_name(saved: str, taken: Baseline | None = None) -> str:
    """The id of a session saved at this time (ISO 8601), distinct from those that ``taken`` already has."""
    name = saved.partition("+")[0].replace("-", "").replace(":", "")
    known = {session.id for session in taken.sessions} if taken else set()
    number = 1
    while (unique := f"{name}-{number}" if number > 1 else name) in known:
        number += 1
    return unique


def _check(baseline: Baseline, path: Path) -> None:
    """Check what the types do not cover."""
    names = [session.id for session in baseline.sessions]
    if not names:
        raise FileFormatError(f"{path}: there is no session @ $.sessions")
    if len(set(names)) != len(names):
        raise FileFormatError(f"{path}: two sessions have the same id @ $.sessions")
    if baseline.anchor not in names:
        raise FileFormatError(f"{path}: there is no session {baseline.anchor!r} @ $.anchor")
    for place, session in enumerate(baseline.sessions):
        _check_session(session, f"$.sessions[{place}]", path)


def _check_session(session: BaselineSession, where: str, path: Path) -> None:
    if len(set(session.seeds)) != len(session.seeds):
        raise FileFormatError(f"{path}: a seed is listed twice @ {where}.seeds")
    if not session.medians:
        raise FileFormatError(f"{path}: there are no figures @ {where}.medians")
    for name, values in session.values.items():
        if len(values) != len(session.seeds) or not values:
            found = f"{len(values)} values for {len(session.seeds)} seeds"
            raise FileFormatError(f"{path}: {found} @ {where}.values.{name}")
    figures = {f"values.{name}": values for name, values in session.values.items()}
    figures |= {f"medians.{name}": (value,) for name, value in session.medians.items()}
    for name, values in figures.items():
        if not all(isfinite(value) and value >= 0 for value in values):
            raise FileFormatError(
                f"{path}: figures must be finite and not negative, got {min(values)} @ {where}.{name}"
            )
