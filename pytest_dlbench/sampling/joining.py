"""Combines the usage of the parts of an interrupted phase."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from operator import itemgetter
from typing import Any

from pytest_dlbench.records import GpuUsage, Usage


def joined(parts: Sequence[Usage]) -> Usage:
    """The usage of one phase from its parts, one or more, in order.

    Counts are summed, means are weighted by time, and the highest peak counts.
    """
    if len(parts) == 1:
        return parts[0]
    seconds = [part.wall_seconds for part in parts]
    found = {field.name: _joined(field.name, [getattr(part, field.name) for part in parts], seconds) for field in _OWN}
    gpus = zip(*(part.gpus for part in parts), strict=True)
    return replace(parts[0], **found, gpus=tuple(_gpu(gpu, seconds) for gpu in gpus), readings=summed_readings(parts))


def summed_readings(parts: Sequence[Usage]) -> dict[str, float]:
    """The sums of the readings that all parts have: the sum of a reading that one part lacks would be too low."""
    names = [name for name in parts[0].readings if all(name in part.readings for part in parts)]
    return {name: sum(part.readings[name] for part in parts) for name in names}


_OWN = [field for field in fields(Usage) if field.name not in ("gpus", "readings")]


# Fields of a GPU that are not combined by the suffix of their names.
_OTHERWISE = ("name", "uuid", "absent", "energy_source", "slowed_by", "slowed_shares", "foreign_processes")


def _gpu(parts: Sequence[GpuUsage], seconds: Sequence[float]) -> GpuUsage:
    reasons = tuple(sorted({reason for part in parts for reason in part.slowed_by}))
    others = [part.foreign_processes for part in parts]
    # Another process on the GPU is counted once, however many parts it is seen in.
    most = None if None in others else max(number or 0 for number in others)
    found = {
        field.name: _joined(field.name, [getattr(part, field.name) for part in parts], seconds)
        for field in fields(GpuUsage)
        if field.name not in _OTHERWISE
    }
    shares = {reason: _mean([part.slowed_shares.get(reason, 0.0) for part in parts], seconds) for reason in reasons}
    return replace(parts[0], **found, slowed_by=reasons, slowed_shares=shares, foreign_processes=most)


def _joined(name: str, values: Sequence[Any], seconds: Sequence[float]) -> Any:
    # A figure that one part lacks cannot be combined.
    if None in values:
        return None
    if name.endswith(_MEANS):
        return _mean(values, seconds)
    rule: Callable[[Sequence[Any]], Any] = next((_RULES[end] for end in _RULES if name.endswith(end)), sum)
    return rule(values)


def _mean(values: Sequence[Any], seconds: Sequence[float]) -> Any:
    if isinstance(values[0], tuple):
        return tuple(_mean(column, seconds) for column in zip(*values, strict=True))
    mean = sum(value * part for value, part in zip(values, seconds, strict=True)) / (sum(seconds) or 1.0)
    return round(mean) if isinstance(values[0], int) else mean


# By the suffix of a field's name; all other fields are counts.
_MEANS = ("mean_bytes", "mean_watts", "mean_mhz", "_cpus", "core_use", "utilisation")
_RULES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "began_seconds": itemgetter(0),
    "load": itemgetter(-1),
    "peak_bytes": max,
    "peak_celsius": max,
    "utilisation_peak": max,
}
