"""The cases of records that claims are decided by: which of them differ in nothing but what is compared."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

from pytest_dlbench.records import Case, Context, Run

Axis = Literal["batch_size", "learning_rate", "epochs", "threads", "workers", "device"]
Condition = tuple[str, Hashable]

# What differs with the value of an axis besides its setting.
IGNORED: Mapping[str, set[str]] = {
    "batch_size": {"batch_size", "steps"},
    "learning_rate": set(),
    "epochs": {"steps"},
    "threads": {"threads"},
    "workers": {"workers"},
    "device": {"device", "threads"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A sound case of one session, with its valid runs.

    ``is_paired``: it is a side of a case that ran in pairs. ``session`` then also names that case, so that it is only
    compared with its other side, and both have the runs of the same pairs, in one order.
    """

    session: str
    case: Case
    context: Context
    recipe: Mapping[str, Any]
    runs: tuple[Run, ...]
    is_paired: bool = False


Ends = tuple[Observed, Observed]
"""The cases with the smallest and the largest value of an axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A framework by its published name, and those of ours that it stands for, in order of preference."""

    published: str
    ours: tuple[str, ...]


def at_any_scale(one: Observed) -> Hashable:
    """A case and its machine without the scale, on which the figures of a step hardly depend if batches are equal."""
    case = one.case
    # The size of a batch may be the recipe's in one session and a setting in another.
    settings = tuple(sorted((name, str(value)) for name, value in case.settings.items() if name != "batch_size"))
    return (
        case.framework,
        case.model,
        case.dataset,
        case.device,
        case.threads,
        case.workers,
        one.context.batch_size,
        one.context.machine.name,
        settings,
    )


def by_published_name(group: Sequence[Observed], named: Sequence[Named]) -> dict[str, Observed]:
    """The preferred case of each published framework that the group has."""
    by_name = {one.case.framework: one for one in group}
    found = {name.published: next((by_name[ours] for ours in name.ours if ours in by_name), None) for name in named}
    return {published: one for published, one in found.items() if one}


def ends_of(cases: Sequence[Observed], axis: Axis, named: Sequence[Named]) -> Iterator[tuple[Named | None, Ends]]:
    """The cases of one framework with the smallest and the largest value of an axis, all else being equal."""
    for group in groups_of(cases, {"framework", *IGNORED[axis]}, but=axis):
        by_name: dict[str, list[Observed]] = {}
        for one in sorted(group, key=lambda one: value_at(axis, one)):
            by_name.setdefault(one.case.framework, []).append(one)
        found = {
            name: (of[0], of[-1]) for name, of in by_name.items() if value_at(axis, of[0]) < value_at(axis, of[-1])
        }
        if not named:
            yield from ((None, ends) for ends in found.values())
        for name in named:
            if ours := next((ours for ours in name.ours if ours in found), None):
                yield name, found[ours]


def value_at(axis: Axis, one: Observed) -> float:
    """The value of an axis; NaN if it is unknown, which no comparison includes."""
    if axis == "threads":
        return one.case.threads
    if axis == "workers":
        return one.case.workers
    if axis == "device":
        return float(one.case.device == "gpu")
    if axis == "batch_size":
        return one.context.batch_size or nan
    setting = one.case.settings.get(axis)
    value = one.recipe.get(axis, one.recipe.get("optimizer", {}).get(axis)) if setting is None else setting
    return float(value) if isinstance(value, int | float) else nan


def values_at(axis: Axis, ends: Ends) -> tuple[float, ...]:
    """The values of an axis at both ends, the smaller one first."""
    return tuple(value_at(axis, one) for one in ends)


def groups_of(cases: Sequence[Observed], ignored: set[str], but: str = "") -> Iterator[list[Observed]]:
    """Cases of one session that differ in nothing but what is ignored, and the setting ``but``."""
    found: dict[tuple[Condition, ...], list[Observed]] = {}
    for one in cases:
        key = tuple(condition for condition in _conditions(one, but) if condition[0] not in ignored)
        found.setdefault(key, []).append(one)
    return iter(found.values())


def _conditions(one: Observed, but: str) -> Iterator[Condition]:
    case, context = one.case, one.context
    yield "session", one.session
    for name in ("framework", "model", "dataset", "device", "scale", "threads", "workers"):
        yield name, getattr(case, name)
    yield "settings", tuple(sorted((name, str(value)) for name, value in case.settings.items() if name != but))
    yield "variables", tuple(sorted(case.variables.items()))
    for name in ("network_digest", "dataset_digest", "batch_size", "steps", "precision", "init", "input", "allocator"):
        yield name, getattr(context, name)
    # Whether a framework autotunes by itself is part of it; where that was asked for, it is among the settings.
    yield "execution", tuple(name for name in context.execution if name != "autotune")
    yield "machine", context.machine.name
