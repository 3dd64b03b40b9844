"""``dlbench releases``: gate each of a package's last releases against the one before it."""

import argparse
import hashlib
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from packaging.version import InvalidVersion, Version

from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command, complain, show
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.releases import released
from pytest_dlbench.environments.specification import pinned, served, since
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import stored
from pytest_dlbench.judging.outcomes import ALWAYS_FAILING
from pytest_dlbench.options.parsers import names as listed
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.records import CaseOutcome, VerdictOutcome, codec
from pytest_dlbench.reporting import explain
from pytest_dlbench.storing.files import create_ignored
from pytest_dlbench.storing.recorded import Found, Recorded, read
from pytest_dlbench.storing.resuming import is_over

WHERE = "dlbench releases"
FOLDER = JOURNALS / "releases"
PASSED = (CaseOutcome.PASSED, CaseOutcome.IMPROVED)
WORSE = (CaseOutcome.REGRESSED, CaseOutcome.DIVERGED)
UNDECIDED = (CaseOutcome.INCONCLUSIVE, CaseOutcome.INVALID)
DID_NOT_FINISH = ALWAYS_FAILING - {*WORSE} | {CaseOutcome.SKIPPED}
# What a usual reader wants to see of a case in which nothing changed.
MAIN_METRIC = "step_time"
MORE = """
For each neighbouring pair of the last releases that pip finds with your settings, and that the builder of FRAMEWORK
serves, pytest runs both in pairs (--dlbench-ab), in environments that are built as needed. With --of, it is the
releases of a package that the framework depends on, such as numpy, and everything else stays as it is pinned. If a case
regresses, the session is repeated once: a regression is confirmed if the same case regresses again.

The journals of each pair of releases are in a folder of their own, .dlbench/releases/FRAMEWORK/OLD..NEW, and with
--bench or --pytest in OLD..NEW-DIGEST, whose digest is that of these arguments. A comparison that has ended is not run
again, one that was interrupted goes on, and one in which a case did not finish, because its environment could not be
built, for example, starts from scratch: repeat the command.

examples:
  dlbench releases jax --plan
  dlbench releases jax --last 5 --pytest="--dlbench-models gatech-lenet,tartu-mnist-cnn --dlbench-threads 1"
  dlbench releases pytorch --of numpy --last 3
  dlbench releases mlx --among 0.31.2,0.32.4 --bench tests/bench

exit status: 0 nothing is worse; 1 a case is worse in both sessions or did not finish, or a session compared nothing or
did not end; 2 usage error; 3 some comparisons are undecided, or a regression was not confirmed; 130 Ctrl-C
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From one release to the next: the two sides as ``--dlbench-ab`` takes them, and where the journals are."""

    old: str
    new: str
    sides: tuple[str, str]
    folder: Path

    @property
    def title(self) -> str:
        """Both releases."""
        return f"{self.old} → {self.new}"


def declare(commands: Commands) -> None:
    """Add ``releases``."""
    parser = command(
        commands, "releases", help_text="Gate each of the last releases against the one before.", more=MORE
    )
    parser.add_argument("framework", metavar="FRAMEWORK")
    parser.add_argument("--of", metavar="PACKAGE", default="", help="Releases of this dependency of the framework.")
    parser.add_argument("--last", metavar="N", type=int, default=5, help="How many releases [5].")
    parser.add_argument("--among", metavar="VERSIONS", default="", help="Exactly these, oldest first, such as 1.2,1.4.")
    parser.add_argument("--pre", action="store_true", help="Include pre-releases.")
    parser.add_argument(
        "--bench", metavar="PATH", action="append", default=[], help="The tests to run; repeatable [bench]."
    )
    parser.add_argument(
        "--pytest", metavar="ARGUMENTS", type=shlex.split, default=(), help="More arguments for pytest."
    )
    parser.add_argument("--plan", "--dry-run", action="store_true", help="List the releases and commands; run nothing.")
    parser.set_defaults(run=_releases)


def _releases(asked: argparse.Namespace) -> int:
    framework = cast("Framework", KNOWN.find("framework", asked.framework, WHERE))
    steps = list(_steps(asked, framework))
    if asked.plan:
        plan = [{"old": one.old, "new": one.new, "command": _command(asked, one, one.folder)} for one in steps]
        answer(
            asked, plan, (f"{one.title}: pytest {shlex.join(_command(asked, one, one.folder)[3:])}" for one in steps)
        )
        return 0
    for step in steps:
        _run(asked, step)
    compared = {step: _found(step) for step in steps}
    damages = [damage for step in steps for damage in _recorded(step.folder).damages]
    is_whole = all(cases and _has_ended(step.folder) for step, cases in compared.items())
    every = [case for cases in compared.values() for case in cases]
    status = _status(every) if is_whole and not damages else 1
    found = [codec.builtins(_as_json(step, cases)) for step, cases in compared.items()]
    answer(asked, found, _lines(compared, status))
    complain(damages)
    return status


def _line(step: Step, words: Sequence[str]) -> str:
    return f"{step.title}: pytest {shlex.join(words[3:])}"


def _steps(asked: argparse.Namespace, framework: Framework) -> Iterator[Step]:
    """Each release with the one before it; raises OptionError."""
    versions = _versions(asked, framework)
    sides = {version: _side(asked, framework, version) for version in versions}
    folder = Path.cwd() / FOLDER / (f"{asked.framework}-{asked.of}" if asked.of else asked.framework)
    for old, new in pairwise(versions):
        yield Step(
            old=old, new=new, sides=(sides[old], sides[new]), folder=folder / f"{old}..{new}{_arguments_digest(asked)}"
        )


def _arguments_digest(asked: argparse.Namespace) -> str:
    """What distinguishes a comparison with these arguments from others of the same releases; empty without any."""
    if not asked.bench and not asked.pytest:
        return ""
    words = "\0".join((*asked.bench, "--", *asked.pytest))
    return f"-{hashlib.sha256(words.encode()).hexdigest()[:8]}"


def _versions(asked: argparse.Namespace, framework: Framework) -> Sequence[str]:
    if not framework.package or not framework.environments:
        raise OptionError(f"{WHERE}: {asked.framework!r} has no package whose versions could be chosen")
    if asked.last < 2:
        raise OptionError(f"{WHERE}: --last: expected 2 or more releases to compare, got {asked.last}")
    if asked.among:
        found = list(listed(asked.among, "--among"))
    else:
        pythons = dict.fromkeys(environment.python for environment in framework.environments)
        every = released(asked.of or framework.package, pythons, with_previews=asked.pre)
        limits = () if asked.of else (served(framework), since(framework))
        found = [one for one in every if all(limit.contains(one, prereleases=True) for limit in limits)][-asked.last :]
    if len(found) < 2:
        raise OptionError(f"{WHERE}: expected at least two releases to compare, got {', '.join(found) or 'none'}")
    try:
        is_sorted = found == sorted(found, key=Version)
    except InvalidVersion as error:
        raise OptionError(f"{WHERE}: --among: {error}; expected versions such as 0.9.1,0.9.2") from None
    if not is_sorted:
        raise OptionError(f"{WHERE}: --among: expected the oldest version first, got {asked.among}")
    return found


def _side(asked: argparse.Namespace, framework: Framework, version: str) -> str:
    """A side of a comparison: a version of the framework, or a file of its pins with one of its dependency."""
    if not asked.of:
        side = f"{asked.framework}=={version}"
        # A version that the builder does not serve is refused before anything is run.
        KNOWN.find("framework", side, WHERE)
        return side
    environment = framework.environments[0]
    pins = {pin.partition("==")[0] for pin in environment.requirements}
    if asked.of not in pins:
        raise OptionError(f"{WHERE}: --of {asked.of}: {asked.framework} pins {', '.join(sorted(pins))}")
    # Relative, because the journals name it, and may be published.
    path = FOLDER / f"{asked.framework}-{asked.of}" / f"{asked.of}-{version}.txt"
    create_ignored(JOURNALS)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join((*pinned(environment, asked.of, version).requirements, "")), "utf-8")
    return f"{asked.framework}@{path}"


def _run(asked: argparse.Namespace, step: Step) -> None:
    """Run what is not done of a comparison: its session, and another one if a case regressed."""
    for folder in (step.folder, _again(step)):
        if not _is_done(folder):
            words = _command(asked, step, folder)
            # With --json nothing but the document may be printed.
            output = subprocess.DEVNULL if asked.json else None
            if not asked.json:
                show([_line(step, words)])
                sys.stdout.flush()
            create_ignored(JOURNALS)
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(words, stdout=output, check=False)
        if not any(case.result.outcome in WORSE for case in _recorded(folder).cases):
            return


def _again(step: Step) -> Path:
    return step.folder / "again"


def _is_done(folder: Path) -> bool:
    newest = _newest(folder).values()
    return _has_ended(folder) and not any(_did_not_finish(case) for case in newest)


def _has_ended(folder: Path) -> bool:
    return any(map(is_over, folder.glob("*.jsonl")))


def _did_not_finish(case: Recorded) -> bool:
    return case.result.outcome in DID_NOT_FINISH


def _command(asked: argparse.Namespace, step: Step, folder: Path) -> list[str]:
    pairs = [f"--dlbench-ab={','.join(step.sides)}", "--dlbench-build", f"--dlbench-journals={folder}"]
    resumed = ["--dlbench-resume"] if any(folder.glob("*.jsonl")) else []
    return [sys.executable, "-m", "pytest", *(asked.bench or ["bench"]), *pairs, *resumed, *asked.pytest]


def _recorded(folder: Path) -> Found:
    """What a folder's own journals have."""
    return read(sorted(folder.glob("*.jsonl")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A case of a step, and the same case in the session that was to confirm it."""

    first: Recorded
    again: Recorded | None

    @property
    def outcome(self) -> str:
        """That of the first session; "unconfirmed" if the second one does not agree that it regressed."""
        said = self.first.result.outcome
        is_confirmed = self.again is None or self.again.result.outcome in WORSE
        return said.value if said not in WORSE or is_confirmed else "unconfirmed"


def _found(step: Step) -> list[Compared]:
    again = _newest(_again(step))
    return [Compared(first=case, again=again.get(name)) for name, case in _newest(step.folder).items()]


def _newest(folder: Path) -> Mapping[str, Recorded]:
    # A later recording replaces one of a session that could not go on.
    return {case.record.case.id: case for case in _recorded(folder).cases}


def _status(found: Sequence[Compared]) -> int:
    outcomes = {one.outcome for one in found}
    open_ones = {*UNDECIDED, "unconfirmed"}
    if outcomes - {*PASSED, *open_ones}:
        return 1
    return 3 if outcomes & open_ones else 0


def _lines(found: Mapping[Step, Sequence[Compared]], status: int) -> Iterator[str]:
    for step, cases in found.items():
        yield f"{step.title}{_lacking(step, cases)}"
        for case in cases:
            yield f"  {case.first.record.case.id}: {case.outcome}"
            yield from (f"    {line}" for line in _verdicts(case.first))
            if case.again:
                yield "    again:"
                yield from (f"    {line}" for line in _verdicts(case.again))
    yield from _summary([case for cases in found.values() for case in cases], status)


def _lacking(step: Step, cases: Sequence[Compared]) -> str:
    """What a session did not do; empty if it ended and compared something."""
    if not cases:
        return ": nothing was compared; see what pytest printed"
    return "" if _has_ended(step.folder) else ": the session did not end; repeat the command to go on with it"


def _summary(found: Sequence[Compared], status: int) -> Iterator[str]:
    """How many cases had which outcome, and the exit status, which a damaged journal makes 1."""
    outcomes = Counter(one.outcome for one in found)
    if outcomes:
        listed_ones = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())
        yield f"{len(found):,} case{'s' * (len(found) != 1)}: {listed_ones}; exit status {status}"


def _verdicts(case: Recorded) -> Iterator[str]:
    """The main metric, and those that are not equivalent."""
    metrics = stored([case.record])
    for verdict in case.result.verdicts:
        if verdict.metric == MAIN_METRIC or verdict.outcome is not VerdictOutcome.EQUIVALENT:
            yield explain.line(verdict, metrics)


def _as_json(step: Step, cases: Sequence[Compared]) -> dict[str, Any]:
    rows = [
        {
            "case": case.first.record.case.id,
            "outcome": case.outcome,
            "verdicts": case.first.result.verdicts,
            "again": case.again.result.verdicts if case.again else [],
        }
        for case in cases
    ]
    return {"old": step.old, "new": step.new, "folder": str(step.folder), "cases": rows}
