"""``dlbench bisect``: find the first version of a framework, or the first commit, that is worse than a good one."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from packaging.version import InvalidVersion, Version

from pytest_dlbench import judging
from pytest_dlbench.cli.cases import declare_settings, live, named, options_of, planner, registry_of, session_of
from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.cli.tested import is_test, taken
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.checkouts import Repository
from pytest_dlbench.environments.releases import between, released
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging import Metrics
from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.bisection import Answer, bounds, most_questions, suspects
from pytest_dlbench.judging.sequential import ALPHA
from pytest_dlbench.options.parsers import names as listed
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.sides import Parts, Side, checked_out
from pytest_dlbench.records import codec
from pytest_dlbench.records.cases import plain_name
from pytest_dlbench.records.reasons import Reason
from pytest_dlbench.reporting import explain

if TYPE_CHECKING:
    from pytest_dlbench.reporting.progress import Live
    from pytest_dlbench.running.run_spec import RunSpec
    from pytest_dlbench.workflows.bisect import Comparison, Question, Search
    from pytest_dlbench.workflows.session import Session

WHERE = "dlbench bisect"
INTERRUPTED = 130
# What the ids of trainings begin with, unless their test says otherwise.
TRAINING = "training"
MORE = """
CASE is a training as reports name it, such as tartu-mnist-cnn-digits28-cpu. TEST is a test of yours, such as
tests/test_ours.py::test_ours, whose call of dlbench.measure or dlbench.train says what is run; of any other case, name
the TEST. Each version is run in pairs with the good one, in pairs of fresh processes, until the gate's rule decides
whether the metric is worse by more than the tolerance. The bad version comes first: if it is not worse, the search
ends. Versions are those that pip finds with your settings; each is built when needed. Versions that cannot be built or
run, and inconclusive ones, are skipped and listed with the reason. With --among, environments take the place of
versions: requirements files or Pythons, oldest first, such as lock files from a repository's history. With --rev,
commits of the repository in this folder do: GOOD, and all later ones up to BAD along first parents, so that a merge
stands for what it brought: of the program that TEST measures, or of the builder of FRAMEWORK, which is in the
repository. A commit that lacks it, or cannot run, is skipped.

examples:
  dlbench bisect pytorch --good 2.9.0 --bad 2.13.0 tartu-mnist-cnn-digits28-cpu
  dlbench bisect jax --good 0.8.0 --bad 0.10.2 tartu-mnist-cnn-digits28-cpu --metric accuracy --tolerance 0.5pp
  dlbench bisect pytorch --good may.txt --bad july.txt --among june-1.txt,june-2.txt tartu-mnist-cnn-digits28-cpu
  dlbench bisect --rev v1.2..HEAD tests/test_ours.py::test_ours
  dlbench bisect pytorch --good 2.12.0 --bad 2.13.0 tests/test_ours.py::test_ours
  dlbench bisect ours --rev v1.2..HEAD tartu-mnist-cnn-digits28-cpu -p bench.conftest

exit status: 0 the first bad version is found; 1 the bad version is not worse than the good one; 2 usage error, or the
good or the bad version does not run; 3 only narrowed down: versions in between could not be tested, or it is
inconclusive whether the bad version is worse; 130 Ctrl-C: what was found by then is reported
"""


def declare(commands: Commands) -> None:
    """Add ``bisect``."""
    parser = command(commands, "bisect", help_text="Find the first version that is worse.", more=MORE)
    parser.add_argument("what", metavar="WHAT", nargs="+", help="TEST, FRAMEWORK TEST, or FRAMEWORK CASE.")
    parser.add_argument("--good", metavar="VERSION")
    parser.add_argument("--bad", metavar="VERSION")
    parser.add_argument("--rev", metavar="GOOD..BAD", help="Commits of your repository, instead of versions.")
    parser.add_argument("--among", metavar="FILES", help="Environments between the two, instead of versions.")
    parser.add_argument("--pre", action="store_true", help="Include pre-releases.")
    parser.add_argument("--metric", metavar="METRIC", default="step_time", help="Which metric is worse [step_time].")
    parser.add_argument("--tolerance", metavar="AMOUNT", default="", help="How much worse is still good, such as 3%%.")
    declare_settings(parser)
    parser.set_defaults(run=_bisect)


def _bisect(asked: argparse.Namespace) -> int:
    # Late: what measures is slow to load.
    from pytest_dlbench.workflows import bisect  # noqa: PLC0415

    asked.framework, asked.case = _named(asked)
    commits = _commits(asked)
    searched = (_of_test if is_test(asked.case) else _of_case)(asked, commits)
    question, session, spec = searched.question, searched.session, searched.spec
    good = spec(searched.names[0])

    def compared(version: str) -> "Comparison":
        return bisect.compare(session, good, lambda: spec(version), question)

    search = bisect.Search(names=searched.names, compare=compared)
    is_whole = True
    try:
        search.run()
    except KeyboardInterrupt:
        is_whole = False
    finally:
        searched.progress.clear()
    metrics = session.settings.metrics
    asked_for = {
        "framework": asked.framework,
        "case": asked.case,
        "question": codec.builtins(question),
        "commits": commits,
    }
    lines = [*_lines(search, commits, metrics), f"journal: {session.journal.path}"]
    answer(asked, {**asked_for, **_found(search)}, lines)
    return _status(search) if is_whole else INTERRUPTED


def _named(asked: argparse.Namespace) -> tuple[str, str]:
    """The framework, empty if it is that of a test, and the case or test; raises OptionError."""
    *frameworks, case = asked.what
    if len(frameworks) == 1 or (not frameworks and is_test(case) and asked.rev is not None):
        return (*frameworks, "")[0], case
    right = "--rev GOOD..BAD TEST, or FRAMEWORK and a TEST or CASE"
    raise OptionError(f"{WHERE}: expected {right}, got {' '.join(asked.what)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Searched:
    """The versions or commits, oldest first, and what is run of each, which raises DlbenchError."""

    names: Sequence[str]
    question: "Question"
    session: "Session"
    progress: "Live"
    spec: Callable[[str], "RunSpec"]


def _of_case(asked: argparse.Namespace, commits: Mapping[str, str]) -> _Searched:
    """A network in each version of a framework, or in one whose builder is that of each commit."""
    registry = registry_of(asked)
    case = named(asked.case, registry, WHERE)
    _check_prefix(asked, case.prefix, registry)
    if case.scale and asked.dlbench_scale not in (None, case.scale):
        raise OptionError(
            f"{WHERE}: --scale {asked.dlbench_scale}: {asked.case!r} is of scale {case.scale}; drop one of both"
        )
    options = options_of(asked, build="true", **({"scale": case.scale} if case.scale else {}))
    names = tuple(commits) or _versions(asked, registry)
    question = _question(asked, options.false_alarms, options.max_runs, versions=len(names), metrics=judging.METRICS)
    session, progress = session_of(options, most_questions(len(names)))
    spec_of = planner(session, registry, case.cell, WHERE)

    def spec(version: str) -> "RunSpec":
        framework = cast("Framework", registry.find("framework", asked.framework, WHERE)) if commits else None
        return spec_of(_at(version, framework).framework if framework else _versioned(asked, version))

    return _Searched(names=names, question=question, session=session, progress=progress, spec=spec)


def _check_prefix(asked: argparse.Namespace, prefix: str, registry: Registry) -> None:
    """Raise OptionError for the id of a case of another framework, or of what is not trained by its model's recipe."""
    framework = "" if prefix == TRAINING else plain_name(prefix.removeprefix(f"{TRAINING}-"))
    if framework in ("", plain_name(asked.framework)):
        return
    if framework in registry.values["framework"]:
        raise OptionError(
            f"{WHERE}: {asked.case!r} is a case of {framework}, not of {asked.framework}; to search versions of"
            f" {asked.framework}, name it without {prefix!r}"
        )
    raise OptionError(
        f"{WHERE}: {asked.case!r} begins with {prefix!r}, but a CASE is a training with its model's recipe; to search"
        " this one, name the TEST that measures it in place of its id, such as tests/test_ours.py::test_ours"
    )


def _of_test(asked: argparse.Namespace, commits: Mapping[str, str]) -> _Searched:
    """What a test measures at each commit, or in each version of a framework."""
    registry = registry_of(asked)
    names = tuple(commits) or _versions(asked, registry)
    progress = live(most_questions(len(names)))
    found = taken(asked, [asked.case], WHERE, progress, build="true")
    if len(found) > 1:
        cases = ", ".join(dict.fromkeys(one.node for one in found))
        raise OptionError(f"{WHERE}: {asked.case} has several cases; name a test with one, out of {cases}")
    (handed,) = found
    if commits and asked.framework not in ("", handed.framework.name, handed.framework.plain_name):
        raise OptionError(
            f"{WHERE}: {asked.case} runs {handed.framework.name}, not {asked.framework}; with --rev name the TEST alone"
        )
    policy, metrics = handed.session.policy, handed.session.settings.metrics
    question = _question(
        asked,
        policy.false_alarms,
        policy.max_pairs,
        versions=len(names),
        metrics=metrics,
        of_test=handed.tolerance,
    )

    def spec(version: str) -> "RunSpec":
        if commits:
            return handed.spec_of(_at(version, handed.framework))
        framework = cast("Framework", registry.find("framework", _versioned(asked, version), WHERE))
        return handed.spec_of(Side(framework=framework))

    return _Searched(names=names, question=question, session=handed.session, progress=progress, spec=spec)


def _versioned(asked: argparse.Namespace, version: str) -> str:
    return f"{asked.framework}{'==' if asked.among is None else '@'}{version}"


def _repository() -> Repository:
    return Repository(folder=Path.cwd(), where=f"{WHERE}: --rev")


def _commits(asked: argparse.Namespace) -> Mapping[str, str]:
    """The subjects of the commits to search by abbreviated id, oldest first, if --rev is given; raises OptionError."""
    ends = [asked.good, asked.bad]
    if asked.rev is None:
        if None in ends:
            raise OptionError(f"{WHERE}: expected --good VERSION and --bad VERSION, or --rev GOOD..BAD")
        return {}
    if ends != [None, None] or asked.among is not None:
        raise OptionError(f"{WHERE}: --rev has both ends: drop --good, --bad and --among")
    good, separator, bad = asked.rev.partition("..")
    if not (good and separator and bad) or bad.startswith("."):
        raise OptionError(f"{WHERE}: --rev: expected GOOD..BAD, such as v1.2..HEAD, got {asked.rev!r}")
    return {commit.short: commit.subject for commit in _repository().between(good, bad)}


def _at(commit: str, framework: Framework) -> Side:
    """A framework with the user's code of a commit; raises OptionError."""
    (side,) = checked_out([Parts(revision=commit)], _repository())
    return side.side(framework)


def _versions(asked: argparse.Namespace, registry: Registry) -> tuple[str, ...]:
    """All versions to search, oldest first; raises OptionError."""
    known = registry.values["framework"]
    if asked.framework not in known:
        raise OptionError(unknown_name("framework", asked.framework, WHERE, known))
    if asked.among is not None:
        return (asked.good, *listed(asked.among, "--among"), asked.bad)
    framework = cast("Framework", known[asked.framework])
    try:
        ends = [Version(text) for text in (asked.good, asked.bad)]
    except InvalidVersion as error:
        raise OptionError(f"{WHERE}: {error}; expected a version such as 2.9.0, or environments with --among") from None
    if ends[0] >= ends[1]:
        raise OptionError(f"{WHERE}: the good version must be older than the bad one, got {asked.good} and {asked.bad}")
    if not framework.package or not framework.environments:
        raise OptionError(f"{WHERE}: no package is known for {asked.framework!r}; name environments with --among")
    pythons = dict.fromkeys(environment.python for environment in framework.environments)
    return between(released(framework.package, pythons, with_previews=asked.pre), asked.good, asked.bad)


def _question(
    asked: argparse.Namespace,
    false_alarms: float,
    max_pairs: int,
    *,
    versions: int,
    metrics: Metrics,
    of_test: Mapping[str, float] = MappingProxyType({}),
) -> "Question":
    """The metric and its tolerance: the command's, else the test's, else the metric's own. Raises OptionError."""
    from pytest_dlbench.workflows.bisect import Question  # noqa: PLC0415 - as above

    texts = [f"{asked.metric}:{asked.tolerance}"] if asked.tolerance else []
    given = judging.given_tolerances(texts, "--tolerance", metrics)
    tolerances = {**judging.parse_tolerances([], "", metrics), **of_test, **given}
    if asked.metric not in metrics:
        raise OptionError(unknown_name("metric", asked.metric, "--metric", metrics))
    if asked.metric not in tolerances:
        raise OptionError(f"--metric {asked.metric}: it has no default tolerance; give one, such as --tolerance 5%")
    # One wrong answer spoils the search, so all comparisons share the false-alarm rate.
    alpha = min(ALPHA, max(LEAST_ALPHA, false_alarms / most_questions(versions)))
    return Question(metric=asked.metric, tolerance=tolerances[asked.metric], alpha=alpha, max_pairs=max_pairs)


def _status(search: "Search") -> int:
    newest = search.found[len(search.names) - 1].answer
    if newest is Answer.BAD:
        return 0 if len(suspects(search.answers)) == 1 else 3
    return {Answer.GOOD: 1, Answer.SKIPPED: 2, Answer.INCONCLUSIVE: 3}[newest]


def _found(search: "Search") -> dict[str, Any]:
    rows = [
        {
            "version": search.names[place],
            "answer": comparison.answer.value,
            "reason": _reason(comparison, explain.text),
            "verdict": codec.builtins(comparison.verdict),
        }
        for place, comparison in sorted(search.found.items())
    ]
    found: dict[str, Any] = {"versions": list(search.names), "asked": rows}
    if search.is_bad:
        good, bad = bounds(search.answers)
        found |= {"last_good": search.names[good], "first_bad": [search.names[one] for one in suspects(search.answers)]}
        found |= {"differences": _differences(search, good, bad)}
    return found


def _lines(search: "Search", commits: Mapping[str, str], metrics: Metrics) -> Iterator[str]:
    for place, comparison in sorted(search.found.items()):
        found = explain.line(comparison.verdict, metrics) if comparison.verdict else _reason(comparison, explain.brief)
        yield f"{search.names[place]:<12} {comparison.answer:<12} {' '.join(found.split())}"
    if search.is_bad:
        yield from _conclusion(search, commits)
    elif len(search.names) - 1 in search.found:
        newest = search.found[len(search.names) - 1]
        yield f"{search.names[-1]} is not known to be worse than {search.names[0]}: {newest.answer}"


def _conclusion(search: "Search", commits: Mapping[str, str]) -> Iterator[str]:
    good, bad = bounds(search.answers)
    shown = [f"{name} ({commits[name]})" if name in commits else name for name in search.names]
    names = [shown[place] for place in suspects(search.answers)]
    yield f"the first bad {'commit' if commits else 'version'}: {' or '.join(names)}; the last good one: {shown[good]}"
    yield "what differs between these two:"
    yield from (f"  {line}" for line in _differences(search, good, bad) or ["nothing"])


def _differences(search: "Search", good: int, bad: int) -> Sequence[str]:
    # The good version that was given was not compared itself: its run is the baseline of the bad one's.
    old, new = search.found[good].new or search.found[bad].old, search.found[bad].new
    return tuple(map(explain.difference, judging.changes(old.versions, new.versions))) if old and new else ()


def _reason(comparison: "Comparison", words: Callable[[Reason], str]) -> str:
    if comparison.reason:
        return words(comparison.reason)
    return explain.stopped(comparison.rule) if comparison.rule else "given as the good one"
