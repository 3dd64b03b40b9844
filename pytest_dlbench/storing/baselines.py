"""Baselines, ``<machine class>/<case>.json``: one small sorted text file per case, with one line per session.

``portable/<case>.json`` has what does not depend on the machine.

A checksum of the content is one line of the file, and every reader compares it: figures that were edited by hand, and
merges that nobody looked at, are damage.
"""

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from glob import escape
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import BASELINE_FORMAT, PORTABLE, Baseline, BaselineSession, Case, Context, Machine, codec
from pytest_dlbench.records.versions import BASELINE_WITHOUT_CHECKSUM
from pytest_dlbench.storing.files import file_name, folder_name, locked, write_whole
from pytest_dlbench.storing.repository import versions_in_conflict

ADVICE = "restore it from version control, or delete it and save a new one with --dlbench-save"
FIRST_FORMAT = 1
# Of any metric, in any unit; bytes and operations stay far below.
LARGEST_FIGURE = 1e30
CHECKSUM = "checksum"
# Lines that git writes; no line of a baseline begins like them.
OURS, BASE, SPLIT, THEIRS = b"<<<<<<< ", b"||||||| ", b"=======", b">>>>>>> "
CONFLICT = re.compile(rb"^(?:<{7}|>{7}) .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineStore:
    """A folder of baselines, usually in a repository."""

    folder: Path

    def path(self, case: Case, machine: Machine) -> Path:
        """The file of a case's baseline, whether or not it exists."""
        return self.folder / folder_name(machine.name) / file_name(case.id)

    def read(self, case: Case, machine: Machine) -> Baseline | None:
        """The baseline of a case on a machine class, or None; raises FileFormatError for an invalid file."""
        path = self.path(case, machine)
        if not path.is_file():
            return None
        baseline = read_file(path)
        if baseline.case.id != case.id:
            text = path.read_bytes()
            problem = f"belongs to the case {baseline.case.id!r} @ $.case.id"
            raise FileFormatError(f"{path}{_line(text, problem)}: {problem}\n  {ADVICE}")
        return baseline

    def others(self, case: Case, machine: Machine) -> tuple[str, ...]:
        """The other machine classes that have a baseline of this case."""
        found = self.folder.glob(f"*/{escape(file_name(case.id))}")
        no_others = (machine.name, PORTABLE.name)
        return tuple(sorted(path.parent.name for path in found if path.parent.name not in no_others))

    def write(self, baseline: Baseline) -> Path:
        """Replace the baseline of its case and machine class; raises StorageError.

        Raises FileFormatError for one that could not be read again.
        """
        path = self.path(baseline.case, baseline.context.machine)
        _refuse_unreadable(baseline, path)
        write_whole(path, encode(baseline))
        return path

    def update(self, case: Case, machine: Machine, change: Callable[[Baseline | None], Baseline]) -> Path:
        """Replace a baseline by what ``change`` makes of it, while no other process changes it.

        Raises FileFormatError for a damaged file or one that could not be read again, which stays as it is, and
        StorageError.
        """
        with locked(self.path(case, machine).parent):
            return self.write(change(self.read(case, machine)))


def encode(baseline: Baseline) -> bytes:
    """The text of a baseline. Each session is one line, so that a new session adds one line to a diff."""
    content = codec.builtins(replace(baseline, format=BASELINE_FORMAT))
    content |= {CHECKSUM: _checksum(content), "sessions": []}
    head, _, tail = codec.encode_file(content).rpartition(b"[]")
    lines = [b"    " + codec.encode_line(session).rstrip() for session in baseline.sessions]
    return head + b"[\n" + b",\n".join(lines) + b"\n  ]" + tail


def _checksum(content: Mapping[str, Any]) -> str:
    """Of everything in a file but its checksum: of the content, not of the text, which tools may indent differently."""
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    return hashlib.sha256(codec.encode_line(rest)).hexdigest()[:16]


def read_file(path: Path) -> Baseline:
    """The baseline in a file of any known format; raises FileFormatError, with the line, for an invalid file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror}") from error
    if conflict := CONFLICT.search(text):
        raise FileFormatError(f"{path}{_number(text, conflict.start())}: {_conflict(path)}")
    try:
        return decode(text, str(path))
    except FileFormatError as error:
        problem = str(error).removeprefix(f"{path}: ")
        advice = _repair(path) if f"@ $.{CHECKSUM}" in problem else ADVICE
        raise FileFormatError(f"{path}{_line(text, problem)}: {problem}\n  {advice}") from error


def decode(text: bytes, where: str) -> Baseline:
    """The baseline in the text of a file of any known format; raises FileFormatError."""
    found = codec.format_of(text, where)
    if found == FIRST_FORMAT:
        baseline = _upgraded(codec.decode(text, _OneSession, where), where)
    elif found in (BASELINE_WITHOUT_CHECKSUM, BASELINE_FORMAT):
        baseline = codec.decode(text, Baseline, where)
    else:
        raise FileFormatError(f"{where}: format {found}; this version reads 1 to {BASELINE_FORMAT} @ $.format")
    content = codec.decode(text, dict[str, Any], where)
    # A damaged format number must not pass for that of a file without a checksum.
    if found == BASELINE_FORMAT or CHECKSUM in content:
        baseline = replace(baseline, format=BASELINE_FORMAT)
    _check(baseline, where)
    if baseline.has_checksum:
        _verify(content, where)
    return baseline


def _verify(content: Mapping[str, Any], where: str) -> None:
    computed = _checksum(content)
    if (stored := content.get(CHECKSUM, "none")) != computed:
        changed = "something was changed after it was saved"
        raise FileFormatError(f"{where}: {changed}: its checksum is {stored}, not {computed} @ $.{CHECKSUM}")


def both_sides(path: Path, text: bytes) -> tuple[bytes, bytes] | None:
    """Both versions of a file in which git left a merge conflict, HEAD's first; None if there is none."""
    if not CONFLICT.search(text):
        return None
    # Git itself merged the lines that only one side changed: what is between the marks need not be a whole version.
    return versions_in_conflict(path) or _between_marks(text)


def _between_marks(text: bytes) -> tuple[bytes, bytes]:
    first, second = bytearray(), bytearray()
    into: tuple[bytearray, ...] = (first, second)
    for line in text.splitlines(keepends=True):
        if line.startswith(OURS):
            into = (first,)
        elif line.startswith(BASE):
            into = ()
        elif line.rstrip() == SPLIT:
            into = (second,)
        elif line.startswith(THEIRS):
            into = (first, second)
        else:
            for side in into:
                side.extend(line)
    return bytes(first), bytes(second)


def unverified(text: bytes, where: str) -> Baseline:
    """The baseline in a text whatever its checksum is; raises FileFormatError if anything else is wrong with it."""
    content = codec.decode(text, dict[str, Any], where)
    return decode(codec.encode_line({**content, CHECKSUM: _checksum(content)}), where)


def _conflict(path: Path) -> str:
    name = shlex.quote(str(path))
    return (
        "a merge conflict of git is not resolved\n"
        f"  to keep the sessions of both sides: dlbench baseline repair {name} --yes, and git add {name}\n"
        f"  to keep one side: git checkout --ours {name}, or --theirs, and git add {name}"
    )


def _repair(path: Path) -> str:
    return (
        f"restore it: git checkout {shlex.quote(str(path))}\n"
        f"  if it was changed on purpose: dlbench baseline repair {shlex.quote(str(path))}"
    )


def _line(text: bytes, problem: str) -> str:
    """``, line 12``, where in the text the problem is; empty if its place is not known."""
    if byte := re.search(r"\(byte (\d+)\)", problem):
        return _number(text, int(byte[1]))
    if "truncated" in problem:
        return _number(text, len(text.rstrip()))
    place = re.search(r"\$\.(\w+)(?:\[(\d+)\])?", problem)
    key = re.search(rb'^ *"%s":' % place[1].encode(), text, re.MULTILINE) if place else None
    if not place or not key:
        return ""
    if not place[2]:
        return _number(text, key.start())
    # Sessions are one line each, unless a tool indented them.
    sessions = list(re.finditer(rb"^ *\{.*\},?$", text[key.end() :], re.MULTILINE))
    known = int(place[2]) < len(sessions)
    return _number(text, key.end() + sessions[int(place[2])].start()) if known else ""


def _number(text: bytes, offset: int) -> str:
    before = text[:offset].count(b"\n")
    return f", line {before + 1}"


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


def _upgraded(old: _OneSession, where: str) -> Baseline:
    for name, values in old.metrics.items():
        if not values:
            raise FileFormatError(f"{where}: there are no values @ $.metrics.{name}")
    session = BaselineSession(
        id=session_name(old.saved),
        saved=old.saved,
        reason=old.reason,
        versions=old.versions,
        seeds=old.seeds,
        medians={name: median(values) for name, values in old.metrics.items()},
        values=old.metrics,
    )
    return Baseline(
        format=FIRST_FORMAT,
        case=old.case,
        context=old.context,
        recipe=old.recipe,
        anchor=session.id,
        sessions=(session,),
    )


def session_name(saved: str, taken: Baseline | None = None) -> str:
    """The id of a session saved at this time (ISO 8601), distinct from those that ``taken`` already has."""
    name = saved.partition("+")[0].replace("-", "").replace(":", "")
    known = {session.id for session in taken.sessions} if taken else set()
    number = 1
    while (unique := f"{name}-{number}" if number > 1 else name) in known:
        number += 1
    return unique


def _refuse_unreadable(baseline: Baseline, path: Path) -> None:
    try:
        _check(replace(baseline, format=BASELINE_FORMAT), str(path))
    except FileFormatError as error:
        why = "nothing was saved, because it could not be read again"
        raise FileFormatError(f"{error}\n  {why}; a run without a usable figure should report none") from error


def _check(baseline: Baseline, where: str) -> None:
    """Check what the types do not cover."""
    names = [session.id for session in baseline.sessions]
    if not names:
        raise FileFormatError(f"{where}: there is no session @ $.sessions")
    if len(set(names)) != len(names):
        raise FileFormatError(f"{where}: two sessions have the same id @ $.sessions")
    if baseline.anchor not in names:
        raise FileFormatError(f"{where}: there is no session {baseline.anchor!r} @ $.anchor")
    for number, session in enumerate(baseline.sessions):
        _check_session(session, where, f"$.sessions[{number}]", least=-LARGEST_FIGURE if baseline.has_checksum else 0.0)


def _check_session(session: BaselineSession, where: str, place: str, *, least: float) -> None:
    """``least`` is the smallest figure: a reward may be negative, but no file without a checksum has such a one."""
    if len(set(session.seeds)) != len(session.seeds):
        raise FileFormatError(f"{where}: a seed is listed twice @ {place}.seeds")
    if not session.medians:
        raise FileFormatError(f"{where}: there are no figures @ {place}.medians")
    for name, values in session.values.items():
        if len(values) != len(session.seeds) or not values:
            found = f"{len(values)} values for {len(session.seeds)} seeds"
            raise FileFormatError(f"{where}: {found} @ {place}.values.{name}")
    figures = {f"values.{name}": values for name, values in session.values.items()}
    figures |= {f"medians.{name}": (value,) for name, value in session.medians.items()}
    for name, values in figures.items():
        for value in values:
            if not (isfinite(value) and least <= value <= LARGEST_FIGURE):
                allowed = f"figures must be from {least:g} to {LARGEST_FIGURE:g}"
                raise FileFormatError(f"{where}: {allowed}, got {value} @ {place}.{name}")
