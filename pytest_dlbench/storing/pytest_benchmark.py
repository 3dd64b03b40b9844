"""Reads pytest-benchmark's files, to compare benchmarks that both plugins measure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The figures of a benchmark: seconds of its rounds, which all ran in one process."""

    min: float
    median: float
    mean: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark of a file."""

    fullname: str
    stats: Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    benchmarks: tuple[Benchmark, ...]
    machine_info: Mapping[str, Any] = field(default_factory=dict)


def is_one(path: Path) -> bool:
    """Whether a file, or a folder such as .benchmarks, was written by pytest-benchmark."""
    return any(_looks_like_one(file) for file in _files(path))


def _looks_like_one(path: Path) -> bool:
    # Their files have these two keys, in any order; ours have a format and no benchmarks.
    text = path.read_bytes()
    return b'"benchmarks"' in text and b'"machine_info"' in text


def read_benchmarks(path: Path) -> Mapping[str, Stats]:
    """The newest figures of each benchmark in a file or folder; raises FileFormatError for a damaged file."""
    found: dict[str, Stats] = {}
    for file in _files(path):
        content = codec.decode(file.read_bytes(), _File, str(file))
        for place, benchmark in enumerate(content.benchmarks):
            _check(benchmark.stats, f"$.benchmarks[{place}].stats", file)
        found |= {benchmark.fullname: benchmark.stats for benchmark in content.benchmarks}
    if not found:
        raise FileFormatError(f"{path}: there is no benchmark in it")
    return found


def _check(stats: Stats, where: str, file: Path) -> None:
    for name in ("min", "median", "mean"):
        if not 0 < getattr(stats, name) < inf:
            raise FileFormatError(f"{file}: a time must be above 0, got {getattr(stats, name)} @ {where}.{name}")


def _files(path: Path) -> list[Path]:
    """The files in order of their numbers: the last one is the newest."""
    return sorted(path.glob("**/*.json"), key=lambda file: file.name) if path.is_dir() else [path]
