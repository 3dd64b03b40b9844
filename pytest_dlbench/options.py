"""Every --dlbench-* option, as one table. Each is also a key of the ini file, such as dlbench_runs."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dlbench import sweeps
from pytest_dlbench.environments.interpreters import parse_choices
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import given_tolerances
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.parsing import (
    accuracy,
    allocator,
    columns,
    duration,
    flag,
    groups,
    history_address,
    names,
    optional_path,
    outcomes,
    page_path,
    pair_limit,
    path,
    positive_int,
    positive_seconds,
    scale,
    share,
    sort,
    text,
    thread_counts,
    tolerances,
    two_sides,
)
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.running.launch import TUNED
from pytest_dlbench.sampling.cores import usable_cores
from pytest_dlbench.sweeps import Sweep

if TYPE_CHECKING:
    import pytest

# What a command that repeats a case has to repeat.
REPEATED = frozenset(
    {"scale", "settings", "threads", "allocator", "runs", "seed", "timeout", "baselines", "frameworks", "build", "ab"}
    | {"target_accuracy"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for, parsed."""

    save: bool
    reason: str
    compare: bool
    allow: frozenset[CaseOutcome]
    strict: bool
    shadow: bool
    ab: tuple[str, ...]
    false_alarms: float
    """The share of sessions without any change in which --dlbench-ab may call some case regressed."""
    max_runs: int
    budget: float
    tolerance: Mapping[str, float]
    target_accuracy: float | None
    runs: int
    scale: str
    frameworks: tuple[str, ...]
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    devices: tuple[str, ...]
    build: bool
    pythons: Mapping[str, str]
    settings: Sweep
    threads: tuple[int, ...]
    allocator: str
    timeout: float
    seed: int
    baselines: Path
    journals: Path
    html: Path | None
    plan: bool
    profile: bool
    json: Path | None
    history: str
    group_by: tuple[str, ...]
    columns: tuple[str, ...]
    sort: str
    typed_tolerance: Mapping[str, float]
    """Those of the command line alone, which also come before the marks of a test."""
    again: tuple[str, ...]
    """Flags of this command line that one that repeats a case must have, too."""


Parse = Callable[[str, str], Any]
"""From the text and the place it stands in to a value; raises OptionError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One row: the flag --dlbench-NAME, the ini key dlbench_NAME, and what its text means."""

    name: str
    parse: Parse
    default: str
    help: str
    metavar: str = ""
    repeats: bool = False
    spelled: str = ""
    """As it is typed, where that differs from the name."""

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--dlbench-{self.spelled or self.name}"

    @property
    def key(self) -> str:
        """As it stands in an ini file, and as pytest keeps it."""
        return f"dlbench_{self.spelled or self.name}"


OPTIONS = (
    Option(
        name="save",
        parse=flag,
        default="false",
        help="Add this session to the baselines of the selected cases; needs --dlbench-reason.",
    ),
    Option(
        name="reason", parse=text, default="", metavar="TEXT", help="Why the new baselines are right; kept in them."
    ),
    Option(
        name="compare",
        parse=flag,
        default="false",
        help="Gate: also fail where there is no baseline, or nothing can be concluded from it.",
    ),
    Option(
        name="allow",
        parse=outcomes,
        default="",
        metavar="OUTCOMES",
        help="Outcomes that the gate accepts, such as no_baseline,inconclusive.",
    ),
    Option(
        name="strict", parse=flag, default="false", help="Also fail where the baseline is stale: the figure improved."
    ),
    Option(
        name="shadow",
        parse=flag,
        default="false",
        help="Judge and report, but let no judgement fail a test: for the first weeks of a gate.",
    ),
    Option(
        name="ab",
        parse=two_sides,
        default="",
        metavar="OLD,NEW",
        help="Run two environments in pairs and judge the new one against the old one, such as"
        " pytorch==2.12.0,pytorch==2.13.0 or old.txt,new.txt.",
    ),
    Option(
        name="false_alarms",
        spelled="false-alarms",
        parse=share,
        default="1%",
        metavar="SHARE",
        help="In this share of --dlbench-ab sessions without any change some case may be called regressed.",
    ),
    Option(
        name="max_runs",
        spelled="max-runs",
        parse=pair_limit,
        default="20",
        metavar="N",
        help="Pairs of --dlbench-ab a case and pass, 3 to 20; they end before that where all is decided.",
    ),
    Option(
        name="budget",
        parse=duration,
        default="",
        metavar="TIME",
        help="With --dlbench-ab: start no further pair after this time, such as 30m or 2h, and spend it first on cases"
        " that are decided soonest; workers of pytest-xdist run one case after the other.",
    ),
    Option(
        name="tolerance",
        parse=tolerances,
        default="",
        metavar="METRIC:AMOUNT",
        repeats=True,
        help="How much worse a metric may be, such as step_time:5%, accuracy:1pp or peak_rss:2%; repeatable.",
    ),
    Option(
        name="target_accuracy",
        spelled="target-accuracy",
        parse=accuracy,
        default="",
        metavar="SHARE",
        help="Tell when a training reached this test accuracy, such as 97% or 0.97; a mark target_accuracy goes first.",
    ),
    Option(
        name="runs",
        parse=positive_int,
        default="3",
        metavar="N",
        help="Fresh worker processes a case; a comparison needs 3 or more.",
    ),
    Option(
        name="scale",
        parse=scale,
        default="quick",
        metavar="SCALE",
        help="Length of one training: smoke (seconds a case), quick, or full (the source's own number of epochs).",
    ),
    Option(name="frameworks", parse=names, default="", metavar="NAMES", help="Train only these frameworks."),
    Option(name="models", parse=names, default="", metavar="NAMES", help="Train only these models."),
    Option(name="datasets", parse=names, default="", metavar="NAMES", help="Train only on these data sets."),
    Option(name="devices", parse=names, default="", metavar="NAMES", help="Train only on these devices."),
    Option(
        name="build",
        parse=flag,
        default="false",
        help="Build the environments of frameworks that are not here, as they are needed.",
    ),
    Option(
        name="pythons",
        spelled="python",
        parse=parse_choices,
        default="",
        metavar="ENVIRONMENT=PATH",
        repeats=True,
        help="Build an environment with this Python, such as cntk=/path/to/python3.6; repeatable.",
    ),
    Option(
        name="settings",
        spelled="set",
        parse=sweeps.parse,
        default="",
        metavar="KEY=VALUE[,VALUE…]",
        repeats=True,
        help="Train by another setting of the recipe, such as batch_size=64; several values are an axis; repeatable.",
    ),
    Option(
        name="threads",
        parse=thread_counts,
        default=str(usable_cores()),
        metavar="N[,N…]",
        help="CPU threads of a worker; several numbers are an axis; the default is all cores this process may use.",
    ),
    Option(
        name="allocator",
        parse=allocator,
        default=TUNED,
        metavar="POLICY",
        help="How workers get their memory: tuned (freed memory is kept) or default (glibc's own thresholds).",
    ),
    Option(
        name="timeout",
        parse=positive_seconds,
        default="600",
        metavar="SECONDS",
        help="End a run that takes longer, in seconds.",
    ),
    Option(
        name="seed",
        parse=positive_int,
        default="1",
        metavar="N",
        help="Seed of the first run; each further run takes the next number.",
    ),
    Option(name="baselines", parse=path, default="baselines", metavar="FOLDER", help="Where baselines are kept."),
    Option(
        name="journals",
        parse=path,
        default=".dlbench",
        metavar="FOLDER",
        help="Where the journal of each session is written: every run, as soon as it ended.",
    ),
    Option(
        name="html",
        parse=page_path,
        default="",
        metavar="PATH",
        help="Write a page with charts of this session, one file that needs no network.",
    ),
    Option(
        name="plan",
        parse=flag,
        default="false",
        help="Show what would run, how long it should take, and what is left out and why; nothing is run.",
    ),
    Option(
        name="profile",
        parse=flag,
        default="false",
        help="Run what --dlbench-ab found to have regressed once more a side, with the framework's own profiler.",
    ),
    Option(
        name="json",
        parse=optional_path,
        default="",
        metavar="PATH",
        help="Write all that was recorded into this file; its JSON schema is in the package, dlbench export reads it.",
    ),
    Option(
        name="history",
        parse=history_address,
        default="",
        metavar="ADDRESS",
        help="Add this session to the history in this folder, or at an fsspec address such as s3://bucket/history.",
    ),
    Option(
        name="group_by",
        spelled="group-by",
        parse=groups,
        default="",
        metavar="LABELS",
        help="One table for each framework, model, dataset, device or mark, or for several of them: model,device.",
    ),
    Option(
        name="columns",
        parse=columns,
        default="",
        metavar="NAMES",
        help="Columns of the tables, such as throughput,accuracy,peak_rss,verdict; all metrics have their names.",
    ),
    Option(
        name="sort",
        parse=sort,
        default="",
        metavar="METRIC",
        help="Sort the tables by this metric, the best first, or by name; otherwise in the order of the tests.",
    ),
)


TOLERANCE = next(option for option in OPTIONS if option.name == "tolerance")


def declare(parser: "pytest.Parser") -> None:
    """Add every row of the table to pytest's command line and ini keys."""
    group = parser.getgroup("dlbench", "benchmarks of deep-learning training")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.key, default=None, help=_help(option), **_action(option))
        parser.addini(option.key, help=option.help, type="string", default=None)


def add_to_command(parser: argparse.ArgumentParser, name: str) -> None:
    """Add a row to a command of ``dlbench``, where it needs no prefix; ``read`` takes what was given."""
    option = next(option for option in OPTIONS if option.name == name)
    flag = option.flag.replace("--dlbench-", "--")
    parser.add_argument(flag, dest=option.key, default=None, help=_help(option), **_action(option))


def _action(option: Option) -> dict[str, Any]:
    if option.parse is flag:
        return {"action": "store_const", "const": "true"}
    return {"action": "append" if option.repeats else "store", "metavar": option.metavar}


def _help(option: Option) -> str:
    shown = "" if option.parse is flag or not option.default else f" [{option.default}]"
    return f"{option.help}{shown}".replace("%", "%%")


def read(command_line: Callable[[str], Any], ini: Callable[[str], Any], root: Path) -> Options:
    """Options from the command line, else from the ini file, else the default. Raises OptionError.

    Both callables give the text of a key or None.
    """
    values = {option.name: _value(option, command_line, ini) for option in OPTIONS}
    typed = _typed_tolerance(command_line)
    # One metric on the command line leaves the ini file's others as they are.
    values["tolerance"] = {**_value(TOLERANCE, lambda _: None, ini), **typed}
    options = Options(**values, typed_tolerance=typed, again=tuple(_again(values["runs"], command_line)))
    if options.save and not options.reason:
        raise OptionError('--dlbench-save: say why, for whoever reads the baseline: --dlbench-reason "first baseline"')
    if options.save and options.ab:
        raise OptionError(
            "--dlbench-save: --dlbench-ab judges two sides of one session, and saves nothing: leave one out"
        )
    if options.save and options.runs < FEWEST_RUNS:
        raise OptionError(f"--dlbench-save: needs --dlbench-runs {FEWEST_RUNS} or more, got {options.runs}")
    return replace(
        options,
        baselines=root / options.baselines,
        journals=root / options.journals,
        json=options.json and root / options.json,
        history=str(root / options.history) if _is_folder(options.history) else options.history,
        html=options.html and root / options.html,
    )


def _typed_tolerance(command_line: Callable[[str], Any]) -> Mapping[str, float]:
    return given_tolerances(names(",".join(command_line(TOLERANCE.key) or ()), TOLERANCE.flag), TOLERANCE.flag)


def _is_folder(address: str) -> bool:
    return bool(address) and "://" not in address


def _again(runs: int, command_line: Callable[[str], Any]) -> Iterator[str]:
    for option in OPTIONS:
        given = command_line(option.key)
        # So few runs that nothing can be saved are not what is to be repeated.
        is_too_few = option.name == "runs" and runs < FEWEST_RUNS
        if option.name in REPEATED and given is not None and not is_too_few:
            values = given if option.repeats else [given]
            yield from [option.flag] if option.parse is flag else [f"{option.flag}={value}" for value in values]


def _value(option: Option, command_line: Callable[[str], Any], ini: Callable[[str], Any]) -> Any:
    if (given := command_line(option.key)) is not None:
        joined = ",".join(given) if option.repeats else given
        return option.parse(joined, option.flag)
    if (written := ini(option.key)) is not None:
        return option.parse(written, f"ini key {option.key}")
    return option.parse(option.default, option.flag)
