"""Which frameworks the changes between two lock files affect. A pure function of the two files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.locks import Lock
from pytest_dlbench.planning.sides import is_pinned

# Every worker computes with it.
ALWAYS = frozenset({"numpy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A package whose version differs; if only one file has the package, the other version is empty."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """A framework that both files pin, and the changed packages among its dependencies."""

    framework: Framework
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    """``changes`` are all changes; ``unaffected`` are frameworks that both files pin and no change affects."""

    changes: tuple[Change, ...]
    affected: tuple[Affected, ...]
    unaffected: tuple[str, ...]
    lists_dependencies: bool
    """Whether both files say which package needs which. If not, every change is assumed to affect every framework."""


def of(old: Lock, new: Lock, frameworks: Iterable[Framework]) -> Bump:
    """The frameworks that an update from ``old`` to ``new`` affects."""
    affected, unaffected = [], []
    for framework in frameworks:
        if not _is_pinned_in_both(framework, old, new):
            continue
        if found := _of_framework(framework, old, new):
            affected.append(Affected(framework=framework, changes=found))
        else:
            unaffected.append(framework.name)
    return Bump(
        changes=_differences(_all_versions(old), _all_versions(new)),
        affected=tuple(affected),
        unaffected=tuple(unaffected),
        lists_dependencies=_lists_dependencies(old, new),
    )


def _is_pinned_in_both(framework: Framework, old: Lock, new: Lock) -> bool:
    if not framework.environments:
        return False
    sides = (lock.versions(framework.environments[0].python) for lock in (old, new))
    return all(
        is_pinned(
            framework, {name: Requirement(f"{name}=={version}") for name, version in side.items() if _is(version)}
        )
        for side in sides
    )


def _is(version: str) -> bool:
    return "://" not in version and "," not in version


def _of_framework(framework: Framework, old: Lock, new: Lock) -> tuple[Change, ...]:
    environment = framework.environments[0]
    before, after = old.versions(environment.python), new.versions(environment.python)
    found = _differences(before, after)
    if not _lists_dependencies(old, new):
        return found
    asked = [need for needs in framework.needs for need in needs.split(" | ")]
    roots = ALWAYS | {canonicalize_name(Requirement(text).name) for text in (*asked, *environment.requirements)}
    wanted = _closure(roots, old) | _closure(roots, new)
    return tuple(change for change in found if change.name in wanted)


def _lists_dependencies(old: Lock, new: Lock) -> bool:
    return old.lists_dependencies and new.lists_dependencies


def _closure(roots: Iterable[str], lock: Lock) -> set[str]:
    """The packages in ``roots``, and all their dependencies."""
    needs: dict[str, set[str]] = {}
    for pin in lock.pins:
        needs.setdefault(pin.name, set()).update(pin.needs)
    found: set[str] = set()
    waiting = [*roots]
    while waiting:
        name = waiting.pop()
        if name in needs and name not in found:
            found.add(name)
            waiting += needs[name]
    return found


def _all_versions(lock: Lock) -> dict[str, str]:
    """For each package, all versions that are pinned for any Python or machine."""
    found: dict[str, list[str]] = {}
    for pin in lock.pins:
        found.setdefault(pin.name, []).append(pin.version)
    return {name: " or ".join(versions) for name, versions in found.items()}


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    names: Sequence[str] = sorted(old.keys() | new.keys())
    changes = (Change(name=name, old=old.get(name, ""), new=new.get(name, "")) for name in names)
    return tuple(change for change in changes if change.old != change.new)
