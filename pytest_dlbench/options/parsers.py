"""Parsers of option values. Each takes the text and the name of the option or ini key, for error messages."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from math import inf
from pathlib import Path

from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging import GATE_FAILING, Metrics, parse_tolerances
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LAST_LOOK
from pytest_dlbench.planning.matrix import SCALES
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting.columns import GROUPS, OWN, STUDIES, expanded
from pytest_dlbench.reporting.extras import require_report
from pytest_dlbench.running.launch import ALLOCATORS
from pytest_dlbench.storing.resuming import NEWEST

LOCAL = "local"
SRUN = "srun"
RAY = "ray"
ENGINES = (LOCAL, RAY, SRUN)


def flag(text: str, where: str) -> bool:
    """``true`` or ``false``."""
    if text.lower() not in ("true", "false"):
        raise OptionError(f"{where}: expected true or false, got {text!r}")
    return text.lower() == "true"


def text(value: str, where: str) -> str:
    """Any text."""
    return value.strip()


def path(value: str, where: str) -> Path:
    """A path, relative to the root of the repository."""
    return Path(value)


def optional_path(value: str, where: str) -> Path | None:
    """A path, or None if the text is empty."""
    return Path(value) if value.strip() else None


def journal(value: str, where: str) -> str:
    """A journal, NEWEST or nothing."""
    text = value.strip()
    if text and text != NEWEST and not text.endswith(".jsonl"):
        raise OptionError(
            f"{where}: expected a journal (.jsonl), got {text!r}; to resume the newest interrupted session, put the"
            f" option last or write {where}={NEWEST}"
        )
    return text


def engine(value: str, where: str) -> str:
    """Where runs are made: an engine, and arguments for SLURM after a colon."""
    name, colon, given = value.strip().partition(":")
    if name not in ENGINES or (colon and name != SRUN):
        raise OptionError(unknown_name("engine", value, where, ENGINES))
    # A word without a dash would be the command that is started, and all further ones that command's.
    if wrong := [word for word in given.split() if not word.startswith("-") or word == "--"]:
        raise OptionError(
            f"{where}: arguments for SLURM start with - and have their value in the same word, such as"
            f" {SRUN}:--partition=gpu or {SRUN}:-pgpu; got {wrong[0]!r} in {value!r}"
        )
    return " ".join(value.split())


def history_address(value: str, where: str) -> str:
    """A folder, an fsspec address or nothing. Fails without pyarrow: not only after hours of training."""
    if value.strip() and find_spec("pyarrow") is None:
        raise OptionError(f'{where}: needs pyarrow, which is not installed: pip install "pytest-dlbench[history]"')
    return value.strip()


def page_path(value: str, where: str) -> Path | None:
    """A path for a report, or None. Fails without the report's packages: not only after hours of training."""
    if not value.strip():
        return None
    require_report(where)
    return Path(value)


def names(value: str, where: str) -> tuple[str, ...]:
    """Comma-separated names; the matrix checks whether they are known."""
    return tuple(name.strip() for name in value.split(",") if name.strip())


def devices(value: str, where: str) -> tuple[str, ...]:
    """Comma-separated devices; the numbers of GPUs are one device, such as ``gpu:0,1``."""
    found: dict[str, list[str]] = {}
    last = ""
    for name in names(value, where):
        device, _, number = name.partition(":")
        if name.isdecimal() and found.get(last):
            device, number = last, name
        numbers = found.setdefault(last := device, [])
        numbers += [number] if number else []
    return tuple(f"{device}:{','.join(numbers)}" if numbers else device for device, numbers in found.items())


def positive_int(value: str, where: str) -> int:
    """A whole number, 1 or more."""
    # str.strip() removes characters that int() does not accept as whitespace.
    digits = value.strip()
    if not digits.isdecimal() or int(digits) < 1:
        raise OptionError(f"{where}: expected a whole number, 1 or more, got {value!r}")
    return int(digits)


def thread_counts(value: str, where: str) -> tuple[int, ...]:
    """Comma-separated whole numbers, without duplicates."""
    return _counts(value, where, "threads")


def worker_counts(value: str, where: str) -> tuple[int, ...]:
    """Comma-separated whole numbers, without duplicates."""
    return _counts(value, where, "workers")


def _counts(value: str, where: str, noun: str) -> tuple[int, ...]:
    counts = tuple(dict.fromkeys(positive_int(text, where) for text in names(value, where)))
    if not counts:
        raise OptionError(f"{where}: expected numbers of {noun}, such as 1,2, got {value!r}")
    return counts


def two_sides(value: str, where: str) -> tuple[str, ...]:
    """Two names, or none."""
    sides = names(value, where)
    if value.strip() and len(sides) != 2:
        raise OptionError(f"{where}: expected OLD,NEW, such as pytorch==2.12.0,pytorch==2.13.0, got {value!r}")
    return sides


def pair_limit(value: str, where: str) -> int:
    """A number of pairs for which the rule's levels were computed."""
    limit = positive_int(value, where)
    if not FIRST_LOOK <= limit <= LAST_LOOK:
        raise OptionError(f"{where}: expected {FIRST_LOOK} to {LAST_LOOK} pairs, got {value!r}")
    return limit


def share(value: str, where: str) -> float:
    """A percentage above 0 and up to 10, such as ``1%``, as a fraction."""
    number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*%", value.strip())
    if not number or not 0 < float(number[1]) <= 10:
        raise OptionError(f"{where}: expected a share above 0% and up to 10%, such as 1%, got {value!r}")
    return float(number[1]) / 100


def accuracy(value: str, where: str) -> float | None:
    """A fraction, given as ``0.97`` or ``97%``; None if the text is empty."""
    if not value.strip():
        return None
    number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", value.strip())
    found = float(number[1]) / (100 if number[2] else 1) if number else 0.0
    if not 0 < found <= 1:
        raise OptionError(f"{where}: expected an accuracy above 0 and up to 1, such as 0.97 or 97%, got {value!r}")
    return found


def price(value: str, where: str) -> float | None:
    """An amount of money above 0, without its currency; None if the text is empty."""
    if not value.strip():
        return None
    found = float(value) if re.fullmatch(r"\s*(\d+(\.\d*)?|\.\d+)\s*", value) else 0.0
    if not 0 < found < inf:
        raise OptionError(f"{where}: expected an amount above 0 without a currency, such as 0.45, got {value!r}")
    return found


def duration(value: str, where: str) -> float:
    """Seconds, given as ``90s``, ``30m`` or ``2h``; infinite if the text is empty."""
    if not value.strip():
        return inf
    number = re.fullmatch(r"(\d+(?:\.\d*)?)([smh])", value.strip())
    if not number or not float(number[1]):
        raise OptionError(f"{where}: expected a time with its unit, such as 90s, 30m or 2h, got {value!r}")
    return float(number[1]) * {"s": 1, "m": 60, "h": 3600}[number[2]]


def patience(value: str, where: str) -> float:
    """Seconds to wait: a time with its unit, 0 for ``never``, infinite for ``forever``."""
    known = {"never": 0.0, "forever": inf}
    if value.strip() in known:
        return known[value.strip()]
    try:
        return duration(value.strip() or "none", where)
    except OptionError:
        raise OptionError(
            f"{where}: expected a time with its unit, such as 10m, or never or forever, got {value!r}"
        ) from None


def positive_seconds(value: str, where: str) -> float:
    """A number of seconds above 0."""
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise OptionError(f"{where}: expected a number of seconds above 0, got {value!r}")
    return seconds


def scale(value: str, where: str) -> str:
    """One of the scales."""
    if value not in SCALES:
        raise OptionError(unknown_name("scale", value, where, SCALES))
    return value


def allocator(value: str, where: str) -> str:
    """One of the memory allocation policies."""
    if value not in ALLOCATORS:
        raise OptionError(unknown_name("policy", value, where, ALLOCATORS))
    return value


def outcomes(value: str, where: str) -> frozenset[CaseOutcome]:
    """Outcomes that a gate can be set to accept."""
    known = {outcome.value: outcome for outcome in GATE_FAILING}
    for name in names(value, where):
        if name not in known:
            raise OptionError(unknown_name("outcome", name, where, known))
    return frozenset(known[name] for name in names(value, where))


def tolerances(value: str, where: str, metrics: Metrics) -> Mapping[str, float]:
    """Comma-separated METRIC:AMOUNT pairs."""
    return parse_tolerances(names(value, where), where, metrics)


def groups(value: str, where: str) -> tuple[str, ...]:
    """Comma-separated labels to group tables by."""
    return _known(names(value, where), "group", where, GROUPS)


def columns(value: str, where: str, metrics: Metrics) -> tuple[str, ...]:
    """Comma-separated columns of tables, or studies that stand for theirs; empty for the default ones."""
    return expanded(_known(names(value, where), "column", where, (*metrics, *OWN, *STUDIES)), metrics)


def sort(value: str, where: str, metrics: Metrics) -> str:
    """A metric or ``name``; empty for the order of the tests."""
    return next(iter(_known((value.strip(),) if value.strip() else (), "sort", where, ("name", *metrics))), "")


def _known(given: tuple[str, ...], kind: str, where: str, known: tuple[str, ...]) -> tuple[str, ...]:
    for name in given:
        if name not in known:
            raise OptionError(unknown_name(kind, name, where, known))
    return given
