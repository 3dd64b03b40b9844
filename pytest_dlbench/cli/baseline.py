"""``dlbench baseline``: list and repair baselines, accept sessions, choose reference sessions, remove stale ones."""

import argparse
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from pytest_dlbench import judging
from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.errors import DlbenchError, FileFormatError, OptionError, unknown_name
from pytest_dlbench.judging import Metrics
from pytest_dlbench.records import Baseline, BaselineSession, CaseOutcome, Record, Run, codec
from pytest_dlbench.records.reasons import NotExamined, Reason, Saved
from pytest_dlbench.reporting import cautions, explain, figures, terminal
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.baselines import both_sides, decode, encode, read_file, unverified
from pytest_dlbench.storing.files import locked, write_whole
from pytest_dlbench.storing.recorded import Recorded, newest, of_case, of_class, read

FOLDER = Path("baselines")
SIDES = ("the first side", "the second side")
LIST = """
One line per case; with CASE one line per session of it, the reference session marked with *.

examples:
  dlbench baseline list
  dlbench baseline list '*pytorch-gatech-lenet*'
  dlbench baseline list --baselines bench/baselines --json

exit status: 0 all read, 1 a baseline is damaged (named; the others are listed), 2 usage error
"""
ACCEPT = """
Does what pytest --dlbench-save does, for sessions already run: the newest recording of each case, on each machine
class, is added to its baseline as one more session. Cases that did not finish, have fewer than three runs, or were
disturbed by other load are refused, and so are gains that are too good to be true without --allow suspect. A damaged
baseline stays as it is.

examples:
  dlbench baseline accept .dlbench/20261121T021405-4711.jsonl --reason "PyTorch 2.13"
  dlbench baseline accept nightly.json --case '*pytorch*' --reason "PyTorch 2.13"

exit status: 0 all accepted, 1 some were refused or are damaged (named; the others are accepted), 2 usage error
"""
PORTABLE = """
Stores what does not depend on the machine, run by run: accuracy and its relatives, the loss of the first steps, the
number of trained values. Where a case has no baseline of its machine class, a session is compared with these figures,
on any machine. They are stored in portable/ of the baselines' folder; a suite may have such a folder, baselines/, next
to its tests. The newest recording of each case is added as one more session. Cases that did not finish or have fewer
than three runs are refused; a busy machine is no reason to refuse one, because none of these figures is a time.

examples:
  dlbench baseline portable .dlbench --all --reason "the first figures"
  dlbench baseline portable .dlbench --case '*-quick' --baselines bench/baselines --reason "PyTorch 2.13"

exit status: 0 all saved, 1 some were refused or are damaged (named; the others are saved), 2 usage error
"""
ANCHOR = """
Every later session is also compared with the reference session of its case, so that many small regressions, accepted
one by one, are reported as their sum. The reference session is the first one saved, until you choose another here: a
release, or the present state once its drift is accepted. It is kept however many sessions are saved.

examples:
  dlbench baseline anchor training-pytorch-gatech-lenet-digits28-cpu-quick --last
  dlbench baseline anchor '*pytorch*' --session 20261121T101500
  dlbench baseline anchor --all --last

exit status: 0 all set, 1 a baseline is damaged or has no such session (named; the others are set), 2 usage error
"""
REPAIR = """
Of a file in which git left a merge conflict, it keeps the sessions of both sides in the order of their times, with the
reference session of the first side (HEAD). Each side must be intact. Of a file that was edited on purpose, it replaces
the checksum. Without --yes it says what it would do. Anything else that is wrong with a file has to be restored from
version control: git checkout FILE.

examples:
  dlbench baseline repair baselines/linux-acme-2cores-8gib/training-pytorch-gatech-lenet-digits28-cpu-quick.json
  git diff --name-only --diff-filter=U | xargs dlbench baseline repair --yes

exit status: 0 repaired, or nothing to repair, 1 some cannot be repaired (named; the others are), 2 usage error
"""
PRUNE = """
Lists what it would remove; with --yes, removes it.

examples:
  dlbench baseline prune --not-in .dlbench        cases that no recorded session has measured
  dlbench baseline prune --older-than 365 --yes   not saved again for a year
  dlbench baseline prune --damaged --yes

exit status: 0 done, 2 usage error
"""


def declare(commands: Commands) -> None:
    """Add ``baseline`` and its actions."""
    text = "List, accept, repair and prune baselines, and choose their reference sessions."
    actions = commands.add_parser("baseline", help=text, description=text).add_subparsers(
        required=True, metavar="ACTION"
    )
    for add, run in (
        (_add_list, _list),
        (_add_accept, _accept),
        (_add_portable, _portable),
        (_add_anchor, _anchor),
        (_add_prune, _prune),
    ):
        parser = add(actions)
        parser.add_argument(
            "--baselines", metavar="FOLDER", type=Path, default=FOLDER, help=f"Where baselines are stored [{FOLDER}]."
        )
        parser.set_defaults(run=run)
    repairing = command(actions, "repair", help_text="Resolve a merge, or confirm figures edited by hand.", more=REPAIR)
    repairing.add_argument("files", metavar="FILE", nargs="+", type=Path)
    repairing.add_argument("--yes", action="store_true", help="Repair them.")
    repairing.set_defaults(run=_repair)


def _add_list(actions: Commands) -> argparse.ArgumentParser:
    parser = command(actions, "list", help_text="List all baselines: sessions, when saved, and why.", more=LIST)
    of_case = "List the sessions of this case, or of all that match a pattern with *."
    parser.add_argument("case", metavar="CASE", nargs="?", help=of_case)
    return parser


def _add_accept(actions: Commands) -> argparse.ArgumentParser:
    parser = command(actions, "accept", help_text="Add recorded sessions to the baselines.", more=ACCEPT)
    _add_records(parser)
    parser.add_argument("--case", metavar="PATTERN", default="*", help="Only cases that match this pattern [*].")
    parser.add_argument(
        "--allow", choices=("suspect",), help="Also accept gains that are too good to be true: suspect."
    )
    return parser


def _add_portable(actions: Commands) -> argparse.ArgumentParser:
    text = "Add what does not depend on the machine, of recorded sessions."
    parser = command(actions, "portable", help_text=text, more=PORTABLE)
    _add_records(parser)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--case", metavar="PATTERN", help="Only cases that match this pattern.")
    chosen.add_argument("--all", dest="case", action="store_const", const="*", help="Every recorded case.")
    return parser


def _add_records(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="RECORDS", nargs="+", type=Path)
    parser.add_argument("--reason", metavar="TEXT", required=True, help="Why they are right; stored with them.")


def _add_anchor(actions: Commands) -> argparse.ArgumentParser:
    text = "Choose the reference session, which later ones are compared with."
    parser = command(actions, "anchor", help_text=text, more=ANCHOR)
    parser.add_argument("case", metavar="CASE", nargs="?", help="A case's id, or a pattern with *.")
    parser.add_argument("--all", action="store_true", help="Every case.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--session", metavar="ID", help="This session; dlbench baseline list CASE shows them.")
    which.add_argument("--first", action="store_true", help="The oldest one kept.")
    which.add_argument("--last", action="store_true", help="The newest one.")
    return parser


def _add_prune(actions: Commands) -> argparse.ArgumentParser:
    parser = command(actions, "prune", help_text="Remove baselines that are no longer measured.", more=PRUNE)
    parser.add_argument("--not-in", metavar="RECORDS", nargs="+", type=Path, help="Cases not recorded there.")
    parser.add_argument("--older-than", metavar="DAYS", type=int, help="Last saved at least this many days ago.")
    parser.add_argument("--damaged", action="store_true", help="Files that cannot be read.")
    parser.add_argument("--yes", action="store_true", help="Remove them.")
    return parser


def _all(folder: Path) -> Iterator[tuple[Path, Baseline | FileFormatError]]:
    if not folder.is_dir():
        raise OptionError(f"there are no baselines in {folder}: pytest --dlbench-save writes them")
    for path in sorted(folder.glob("*/*.json")):
        try:
            yield path, read_file(path)
        except FileFormatError as error:
            yield path, error


def _matching(asked: argparse.Namespace, pattern: str) -> tuple[list[Baseline], list[str]]:
    """The baselines of matching cases, and messages about damaged ones; raises OptionError if no case matches."""
    found = list(_all(asked.baselines))
    sound = [baseline for _, baseline in found if isinstance(baseline, Baseline)]
    fitting = [baseline for baseline in sound if fnmatch(baseline.case.id, pattern)]
    if sound and not fitting:
        names = sorted({baseline.case.id for baseline in sound})
        raise OptionError(unknown_name("case", pattern, f"baselines in {asked.baselines}", names))
    return fitting, [str(damage) for _, damage in found if isinstance(damage, FileFormatError)]


def _list(asked: argparse.Namespace) -> int:
    baselines, damages = _matching(asked, asked.case or "*")
    rows = [_row(baseline) for baseline in baselines]
    answer(asked, rows, _sessions(baselines) if asked.case else _cases(rows))
    return complain(damages)


def _row(baseline: Baseline) -> dict[str, Any]:
    newest = baseline.sessions[-1]
    return {
        "machine": baseline.context.machine.name,
        "case": baseline.case.id,
        "saved": newest.saved,
        "runs": len(newest.seeds),
        "anchor": baseline.anchor,
        "reason": newest.reason,
        "sessions": codec.builtins(baseline.sessions),
    }


def _cases(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    grid = terminal.grid("machine", "case", "saved", "anchor", right=("sessions", "runs"))
    grid.add_column("reason", no_wrap=True)
    for row in rows:
        counts = str(len(row["sessions"])), str(row["runs"])
        grid.add_row(row["machine"], row["case"], row["saved"], row["anchor"], *counts, row["reason"])
    return terminal.lines(grid)


def _sessions(baselines: Iterable[Baseline]) -> list[str]:
    lines: list[str] = []
    for baseline in baselines:
        shown = [metric.name for metric in judging.shown_in("baseline", judging.METRICS)]
        names = [name for name in shown if any(name in session.medians for session in baseline.sessions)]
        grid = terminal.grid("", "session", right=("runs", *names))
        for heading in ("commit", "accepted", "reason"):
            grid.add_column(heading, no_wrap=True)
        for session in baseline.sessions:
            shown_figures = [_figure(session, name) for name in names]
            mark, accepted = "*" if session.id == baseline.anchor else "", ", ".join(session.accepted)
            runs = str(len(session.seeds))
            grid.add_row(mark, session.id, runs, *shown_figures, session.commit, accepted, session.reason)
        lines += [f"{baseline.case.id} on {baseline.context.machine.name}", *terminal.lines(grid), ""]
    return [*lines, "* the reference session"]


def _figure(session: BaselineSession, name: str) -> str:
    return figures.figure(name, session.medians[name]) if name in session.medians else "–"


def _anchor(asked: argparse.Namespace) -> int:
    if bool(asked.case) == asked.all:
        raise OptionError("dlbench baseline anchor: name a case or give --all: dlbench baseline anchor CASE --last")
    baselines, problems = _matching(asked, asked.case or "*")
    store, rows = BaselineStore(folder=asked.baselines), []
    for baseline in baselines:
        names = [session.id for session in baseline.sessions]
        chosen = asked.session or names[0 if asked.first else -1]
        if chosen not in names:
            problems.append(f"{baseline.case.id}: no session {chosen!r}, only {', '.join(names)}")
            continue
        store.update(baseline.case, baseline.context.machine, partial(_anchored, baseline, chosen))
        rows.append({"case": baseline.case.id, "before": baseline.anchor, "anchor": chosen})
    answer(asked, rows, [f"{row['case']}: reference session {row['before']} → {row['anchor']}" for row in rows])
    return complain(problems)


def _accept(asked: argparse.Namespace) -> int:
    # Late: NumPy is slow to load.
    from pytest_dlbench.judging import sides, stored_baseline  # noqa: PLC0415
    from pytest_dlbench.workflows import baseline_gate  # noqa: PLC0415

    def add(store: BaselineStore, case: Recorded, metrics: Metrics) -> Saved:
        refusal = sides.refusal(case.record)
        before = baseline_gate.usable(store, case.record.case, case.record.context)
        disturbed = cautions.sentences(judging.disturbances(case.record.runs))
        problems = [*_problems(case.record, refusal), *disturbed]
        if not problems and not asked.allow:
            problems += _too_good(before, case.record)
        if not problems and before and (known := stored_baseline.found_in(before, case.record, metrics)):
            # A second copy would pass for a session that varied by nothing.
            problems = [f"the baseline has these runs already, saved {known.saved} ({known.reason})"]
        if why := "; ".join(problems):
            raise DlbenchError(why)
        return baseline_gate.add(store, case.record, asked.reason, case.result, metrics=metrics)

    return _add_each(asked, "dlbench baseline accept", of_class, add)


def _portable(asked: argparse.Namespace) -> int:
    # Late, as above.
    from pytest_dlbench.judging import sides  # noqa: PLC0415
    from pytest_dlbench.workflows import baseline_gate  # noqa: PLC0415

    def add(store: BaselineStore, case: Recorded, metrics: Metrics) -> Saved:
        sound = replace(case.record, runs=tuple(map(_undisturbed, case.record.runs)))
        if why := "; ".join(_problems(sound, sides.refusal(sound))):
            raise DlbenchError(why)
        return baseline_gate.add_portable(store, case.record, asked.reason, metrics=metrics)

    return _add_each(asked, "dlbench baseline portable", of_case, add)


def _undisturbed(run: Run) -> Run:
    """The run as if its machine had been idle: a busy one changes no figure that is portable."""
    return replace(run, invalid=tuple(found for found in run.invalid if isinstance(found, NotExamined)))


def _problems(record: Record, refusal: Reason | None) -> list[str]:
    """Why the runs of a record are no figures to compare with, as text."""
    outcome = judging.of_runs(record.runs)
    problems = [explain.brief(refusal)] if refusal else []
    return [f"{outcome}: {problem}" for problem in problems] if outcome else problems


def _add_each(
    asked: argparse.Namespace,
    action: str,
    key: Callable[[Recorded], Hashable],
    add: Callable[[BaselineStore, Recorded, Metrics], Saved],
) -> int:
    """Add the newest recording of each ``key`` whose case is asked for; those that ``add`` refuses are named."""
    found = read(asked.paths)
    recorded = newest(found.cases, key).values()
    chosen = [case for case in recorded if fnmatch(of_case(case), asked.case)]
    if not chosen:
        raise OptionError(unknown_name("case", asked.case, action, set(map(of_case, recorded))))
    store = BaselineStore(folder=asked.baselines)
    accepted, refused = [], []
    for case in chosen:
        try:
            accepted.append(add(store, case, judging.stored([case.record])).path)
        except DlbenchError as error:
            refused.append(f"refused: {case.record.case.id}: {error}")
    answer(asked, {"accepted": accepted, "refused": refused}, [f"saved: {path}" for path in accepted])
    return complain([*refused, *found.damages])


def _too_good(before: Baseline | None, record: Record) -> list[str]:
    """The gains over the present baseline that are not believed, as text."""
    from pytest_dlbench.judging import stored_baseline  # noqa: PLC0415 - late, as above
    from pytest_dlbench.judging.reasons import unlikely  # noqa: PLC0415

    if before is None:
        return []
    tolerances = judging.parse_tolerances([], "", judging.METRICS)
    verdicts = stored_baseline.compare(before, record.runs, tolerances, judging.METRICS).verdicts
    gains = unlikely(verdicts, judging.METRICS)
    return [f"{explain.text(gain)}\n  --allow {CaseOutcome.SUSPECT} accepts it" for gain in gains]


def _anchored(before: Baseline, chosen: str, now: Baseline | None) -> Baseline:
    """The baseline as it is by now with this reference session."""
    return replace(now or before, anchor=chosen)


def _repair(asked: argparse.Namespace) -> int:
    rows, problems = [], []
    for path in asked.files:
        try:
            if done := _repaired(path, is_wanted=asked.yes):
                rows.append({"path": str(path), "done": done})
        except FileFormatError as error:
            problems.append(str(error))
    verb = "repaired" if asked.yes else "would be repaired"
    lines = [f"{row['path']}: {verb}: {row['done']}" for row in rows]
    answer(asked, rows, [*lines, *([] if asked.yes or not rows else ["--yes repairs them"])])
    return complain(problems)


def _repaired(path: Path, *, is_wanted: bool) -> str:
    """What is done about a damaged baseline; empty if it is intact. Raises FileFormatError if nothing can be done."""
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    with locked(path.parent):
        try:
            read_file(path)
        except FileFormatError as error:
            baseline, done = _mended(path, error)
            if is_wanted:
                write_whole(path, encode(baseline))
            return done
    return ""


def _mended(path: Path, error: FileFormatError) -> tuple[Baseline, str]:
    """The baseline of a damaged file, and what is done; raises the error if nothing can be done."""
    # Late: NumPy is slow to load.
    from pytest_dlbench.judging import stored_baseline  # noqa: PLC0415

    text = path.read_bytes()
    if not (versions := both_sides(path, text)):
        try:
            return unverified(text, str(path)), "its content is accepted as it is, with a new checksum"
        except FileFormatError:
            raise error from None
    first, second = (decode(version, f"{path}, {side}") for version, side in zip(versions, SIDES, strict=True))
    baseline = stored_baseline.merged(first, second)
    counts = f"{len(first.sessions)} sessions of {SIDES[0]} and {len(second.sessions)} of {SIDES[1]}"
    return baseline, f"{counts} become {len(baseline.sessions)}, reference session {baseline.anchor}"


def _prune(asked: argparse.Namespace) -> int:
    if not (asked.not_in or asked.older_than or asked.damaged):
        raise OptionError("dlbench baseline prune: say which ones: --not-in RECORDS, --older-than DAYS or --damaged")
    measured = _measured(asked.not_in) if asked.not_in else set()
    removals = []
    for path, baseline in _all(asked.baselines):
        if why := _why_pruned(baseline, asked, measured):
            removals.append({"path": str(path), "reason": why})
            if asked.yes:
                path.unlink()
    verb = "removed" if asked.yes else "would be removed"
    lines = [f"{row['path']}: {verb}: {row['reason']}" for row in removals]
    answer(asked, removals, [*lines, *([] if asked.yes or not removals else ["--yes removes them"])])
    return 0


def _measured(paths: Sequence[Path]) -> set[str]:
    """The cases of these records; raises FileFormatError if some of them cannot be read."""
    found = read(paths)
    if found.damages:
        raise FileFormatError("\n".join([*found.damages, "what they measured is not known: nothing is removed"]))
    return {case.record.case.id for case in found.cases}


def _why_pruned(baseline: Baseline | FileFormatError, asked: argparse.Namespace, measured: set[str]) -> str:
    if isinstance(baseline, FileFormatError):
        return "damaged" if asked.damaged else ""
    if asked.not_in and baseline.case.id not in measured:
        return "not measured by any of these sessions"
    saved = baseline.sessions[-1].saved
    age = datetime.now(UTC) - datetime.fromisoformat(saved)
    return f"saved {saved}" if asked.older_than and age.days >= asked.older_than else ""
