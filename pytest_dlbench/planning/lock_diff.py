"""Which frameworks the changes between two lock files affect. A pure function of the two files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.locks import Lock, Pin
from pytest_dlbench.environments.requested import OR
from pytest_dlbench.planning.sides import not_pinned

# Every worker computes with it.
ALWAYS = frozenset({"numpy"})
NOBODY = {"no framework": "both files must pin one, in a version that its builder serves"}


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
class NotTested:
    """A change that no comparison covers; ``reasons`` has why, by each framework that depends on it.

    Without any framework that can be compared, nothing says which changes matter: none was tested.
    """

    change: Change
    reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    """``changes`` are all changes; ``unaffected`` are frameworks that both files pin and no change affects."""

    changes: tuple[Change, ...]
    affected: tuple[Affected, ...]
    unaffected: tuple[str, ...]
    not_tested: tuple[NotTested, ...]
    lists_dependencies: bool
    """Whether both files say which package needs which. If not, every change is assumed to affect every framework."""


def of(old: Lock, new: Lock, frameworks: Iterable[Framework]) -> Bump:
    """The frameworks that an update from ``old`` to ``new`` affects."""
    changes = _differences(_pins(old), _pins(new))
    affected, unaffected, refused = [], [], []
    for framework in frameworks:
        if problem := _not_pinned(framework, old, new):
            refused.append((framework, problem))
        elif found := _of_framework(framework, old, new):
            affected.append(Affected(framework=framework, changes=found))
        else:
            unaffected.append(framework)
    compared = [*(each.framework for each in affected), *unaffected]
    return Bump(
        changes=changes,
        affected=tuple(affected),
        unaffected=tuple(framework.name for framework in unaffected),
        not_tested=tuple(_not_tested(changes, compared, refused, old, new)),
        lists_dependencies=_lists_dependencies(old, new),
    )


def _not_pinned(framework: Framework, old: Lock, new: Lock) -> str:
    """Why a framework cannot be compared; empty if both files pin it in a version that its builder serves."""
    python = framework.environments[0].python if framework.environments else ""
    for side, lock in (("old", old), ("new", new)):
        if problem := not_pinned(framework, lock.requirements(python) if python else {}):
            return f"{problem} (in the {side} file)"
    return ""


def _of_framework(framework: Framework, old: Lock, new: Lock) -> tuple[Change, ...]:
    python, wanted = framework.environments[0].python, _wanted(framework, old, new)
    before, after = ({name: [pin] for name, pin in _for(lock, python).items()} for lock in (old, new))
    return tuple(change for change in _differences(before, after) if change.name in wanted)


def _for(lock: Lock, python: str) -> Mapping[str, Pin]:
    return {pin.name: replace(pin, marker="") for pin in lock.pins if pin.is_for(python)}


def _wanted(framework: Framework, old: Lock, new: Lock) -> frozenset[str]:
    """The packages that a framework depends on; all, if a file does not say which package needs which."""
    if not _lists_dependencies(old, new):
        return frozenset(pin.name for lock in (old, new) for pin in lock.pins)
    needed = (canonicalize_name(Requirement(pin).name) for one in framework.environments for pin in one.requirements)
    roots = ALWAYS | _own(framework) | {*needed}
    return frozenset(_closure(roots, old) | _closure(roots, new))


def _own(framework: Framework) -> frozenset[str]:
    """A framework's own packages: those that it needs, and those released together with it, such as jaxlib."""
    needs = {canonicalize_name(Requirement(text).name) for need in framework.needs for text in need.split(OR)}
    pins = [Requirement(pin) for environment in framework.environments[:1] for pin in environment.requirements]
    released = {pin.specifier for pin in pins if pin.name == framework.package}
    together = {pin.name for pin in pins if pin.name.startswith(framework.package) and pin.specifier in released}
    return frozenset(needs | {canonicalize_name(name) for name in together}) - ALWAYS


def _not_tested(
    changes: Sequence[Change],
    compared: Sequence[Framework],
    refused: Sequence[tuple[Framework, str]],
    old: Lock,
    new: Lock,
) -> Iterator[NotTested]:
    """The changes that matter to a framework that cannot be compared, and to none that is; all if none is compared.

    A framework is in the files if one of its own packages is. A comparison covers all that its framework depends on,
    but of other frameworks' own packages only those that are its own as well.
    """
    named = {pin.name for lock in (old, new) for pin in lock.pins}
    present = [(one, problem) for one, problem in refused if _own(one) & named]
    of_others = frozenset[str]().union(*(_own(one) for one, _ in present))
    tested = frozenset[str]().union(*(_own(one) | (_wanted(one, old, new) - of_others) for one in compared))
    for change in changes:
        reasons = {one.name: why for one, why in present if change.name in _own(one) | _wanted(one, old, new)}
        if (reasons or not compared) and change.name not in tested:
            yield NotTested(change=change, reasons=reasons or NOBODY)


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


def _pins(lock: Lock) -> dict[str, list[Pin]]:
    """For each package, its pins for any Python or machine."""
    found: dict[str, list[Pin]] = {}
    for pin in lock.pins:
        found.setdefault(pin.name, []).append(pin)
    return found


def _differences(old: Mapping[str, Sequence[Pin]], new: Mapping[str, Sequence[Pin]]) -> tuple[Change, ...]:
    names = sorted(name for name in old.keys() | new.keys() if _key(old.get(name, ())) != _key(new.get(name, ())))
    return tuple(_change(name, old.get(name, ()), new.get(name, ())) for name in names)


def _key(pins: Sequence[Pin]) -> Sequence[str]:
    return [pin.requirement for pin in pins]


def _change(name: str, old: Sequence[Pin], new: Sequence[Pin]) -> Change:
    """With versions, or with whole requirements where only markers differ."""
    before, after = (" or ".join(pin.shown for pin in pins) for pins in (old, new))
    if before == after:
        before, after = (" or ".join(map(str, _key(pins))) for pins in (old, new))
    return Change(name=name, old=before, new=after)
