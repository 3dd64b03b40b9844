"""The values of all options: from the command line, else from the ini file, else the default."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_dlbench.errors import OptionError, nearest, unknown_name
from pytest_dlbench.judging import METRICS, Metrics, given_tolerances
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.options.option import Option
from pytest_dlbench.options.parsers import LOCAL, flag, names
from pytest_dlbench.options.table import OPTIONS
from pytest_dlbench.planning.sweep import Sweep
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.storing.resuming import NEWEST

# Options that a command must repeat to run the same case again.
REPEATED = frozenset(
    {"scale", "settings", "threads", "allocator", "runs", "seed", "timeout", "baselines", "frameworks", "build", "ab"}
    | {"target_accuracy", "workers", "on", "checkpoint", "weights"}
)

PAIRS_ONLY = frozenset({"budget", "max_runs", "false_alarms"})

TOLERANCE = next(option for option in OPTIONS if option.name == "tolerance")

# The default --dlbench-timeout at scale full: no sound training of a whole recipe ends because of it.
WHOLE_RECIPE_SECONDS = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The parsed values of all options."""

    save: bool
    reason: str
    compare: bool
    allow: frozenset[CaseOutcome]
    strict: bool
    shadow: bool
    ab: tuple[str, ...]
    false_alarms: float
    """The share of sessions without any change in which --dlbench-ab may call a case regressed."""
    max_runs: int
    budget: float
    tolerance: Mapping[str, float]
    target_accuracy: float | None
    hourly_price: float | None
    """What an hour of the machine costs, in the user's currency."""
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
    workers: tuple[int, ...]
    on: str
    """The engine that leases hosts, LOCAL for this machine."""
    allocator: str
    timeout: float
    wait: float
    seed: int
    baselines: Path
    journals: Path
    resume: str
    """A journal, NEWEST, or empty for a new session."""
    html: Path | None
    plan: bool
    checkpoint: bool
    weights: Path | None
    profile: bool
    breakdown: bool
    layers: bool
    json: Path | None
    history: str
    group_by: tuple[str, ...]
    columns: tuple[str, ...]
    sort: str
    typed_tolerance: Mapping[str, float]
    """Those of the command line only, which also take precedence over a test's marks."""
    later_tolerance: tuple[str, ...]
    """Those of the command line for metrics that only a test's mark may declare, as they were given."""
    again: tuple[str, ...]
    """Flags of this command line that a command must repeat to run the same case again."""


def read(
    command_line: Callable[[str], Any],
    ini: Callable[[str], Any],
    root: Path,
    *,
    metrics: Metrics = METRICS,
    has_pairs: bool = False,
    has_marks: bool = False,
) -> Options:
    """Read options from the command line, else from the ini file, else the default. Raises OptionError.

    Both callables return the value of a key, or None: the command line's is text, the ini file's what ``as_text``
    takes. ``metrics`` are those that options may name. ``has_pairs`` says
    that the session runs in pairs even without --dlbench-ab, ``has_marks`` that tests may declare more metrics.
    """
    values = {option.name: _value(option, command_line, ini, metrics) for option in OPTIONS if option is not TOLERANCE}
    texts = names(",".join(command_line(TOLERANCE.key) or ()), TOLERANCE.flag)
    later = tuple(text for text in texts if has_marks and _is_of_other(text, metrics))
    typed = given_tolerances((text for text in texts if text not in later), TOLERANCE.flag, metrics)
    unset = {option.name for option in OPTIONS if command_line(option.key) is None and ini(option.key) is None}
    if "threads" in unset:
        # All numbers of workers get as many threads each, so that only their number differs.
        values["threads"] = tuple(max(1, count // max(values["workers"])) for count in values["threads"])
    if "timeout" in unset and values["scale"] == "full":
        values["timeout"] = WHOLE_RECIPE_SECONDS
    # One metric on the command line leaves the ini file's others as they are.
    values["tolerance"] = {**_value(TOLERANCE, lambda _: None, ini, metrics), **typed}
    again = tuple(_again(values["runs"], command_line))
    options = Options(**values, typed_tolerance=typed, later_tolerance=later, again=again)
    _check(options, command_line, has_pairs=has_pairs or bool(options.ab))
    return replace(
        options,
        baselines=root / options.baselines,
        journals=root / options.journals,
        json=options.json and root / options.json,
        weights=options.weights and root / options.weights,
        history=str(root / options.history) if _is_folder(options.history) else options.history,
        html=options.html and root / options.html,
        resume=str(root / options.resume) if options.resume not in ("", NEWEST) else options.resume,
    )


def check_keys(written: Iterable[str]) -> None:
    """Refuse keys that are none of ours, which pytest would ignore with a warning; OptionError names the nearest."""
    known = {option.key for option in OPTIONS}
    for key in sorted(written):
        if key in known or not key.startswith(("dlbench_", "dlbench-")):
            continue
        right = key.replace("-", "_")
        if right in known:
            raise OptionError(f"ini key {key}: ini keys are written with underscores: {right}")
        raise OptionError(unknown_name("key", key, "ini file", known))


def check_flags(unknown: Iterable[str]) -> None:
    """Refuse options that look like ours; OptionError names the nearest, which pytest's own message does not."""
    prefix = "--dlbench-"
    known = [option.flag.removeprefix(prefix) for option in OPTIONS]
    for typed in (text.partition("=")[0] for text in unknown):
        if typed.startswith(prefix):
            # All would be similar by the prefix.
            close = nearest(typed.removeprefix(prefix), known)
            advice = f"did you mean {prefix}{close}?" if close else "pytest --help lists them"
            raise OptionError(f"unknown option {typed}; {advice}")


def as_text(value: Any, where: str) -> str:
    """The text of a value as TOML may have it: a list is what the option separates by commas. Raises OptionError."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return ",".join(as_text(one, where) for one in value)
    raise OptionError(f"{where}: expected text, a number, true or false, or a list of them, got {value!r}")


def _check(options: Options, command_line: Callable[[str], Any], *, has_pairs: bool) -> None:
    """Raise OptionError if options contradict each other."""
    if options.save and not options.reason:
        raise OptionError(
            '--dlbench-save: needs a reason, which is kept in the baseline: --dlbench-reason "first baseline"'
        )
    if options.save and options.ab:
        raise OptionError(
            "--dlbench-save: --dlbench-ab compares two sides of one session and saves nothing: drop one of the two"
        )
    if options.save and options.runs < FEWEST_RUNS:
        raise OptionError(f"--dlbench-save: needs --dlbench-runs {FEWEST_RUNS} or more, got {options.runs}")
    if options.resume and options.on != LOCAL:
        raise OptionError(
            f"--dlbench-resume: not with --dlbench-on={options.on}: whether the environments of its hosts have changed"
            " since then is not known; drop one of the two"
        )
    # In an ini file they are allowed: they apply to the sessions that have pairs.
    typed = [option.flag for option in OPTIONS if option.name in PAIRS_ONLY and command_line(option.key) is not None]
    if typed and not has_pairs:
        raise OptionError(
            f"{typed[0]}: applies to pairs only, and this session has none: name two sides, such as"
            " --dlbench-ab pytorch==2.12.0,pytorch==2.13.0, or drop it"
        )


def _is_of_other(text: str, metrics: Metrics) -> bool:
    """Whether a tolerance is well formed and of a metric that is not among these."""
    name, colon, _ = text.partition(":")
    return bool(colon) and name not in metrics


def _is_folder(address: str) -> bool:
    return bool(address) and "://" not in address


def _again(runs: int, command_line: Callable[[str], Any]) -> Iterator[str]:
    for option in OPTIONS:
        given = command_line(option.key)
        # With fewer runs than that nothing can be saved, so the suggested command does not repeat it.
        is_too_few = option.name == "runs" and runs < FEWEST_RUNS
        if option.name in REPEATED and given is not None and not is_too_few:
            values = given if option.repeats else [given]
            yield from [option.flag] if option.parse is flag else [f"{option.flag}={value}" for value in values]


def _value(option: Option, command_line: Callable[[str], Any], ini: Callable[[str], Any], metrics: Metrics) -> Any:
    if (given := command_line(option.key)) is not None:
        joined = ",".join(given) if option.repeats else given
        return option.read(joined, option.flag, metrics)
    if (written := ini(option.key)) is not None:
        where = f"ini key {option.key}"
        return option.read(as_text(written, where), where, metrics)
    return option.read(option.default, option.flag, metrics)
