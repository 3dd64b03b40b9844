"""What is compared with what: ``--dlbench-ab OLD,NEW``.

A side is one or several parts, joined by ``+``: ``rev:HEAD+pytorch==2.13.0``. docs/reference/sides.md has all parts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.checkouts import WORKTREE, Repository
from pytest_dlbench.environments.frameworks import AGAIN, Checkout
from pytest_dlbench.environments.of_programs import of_revision
from pytest_dlbench.environments.requested import OR, exact_version, version_of_file
from pytest_dlbench.environments.specification import of_file, requirements, since
from pytest_dlbench.errors import OptionError
from pytest_dlbench.planning import sweep
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records.cases import Case, plain_name
from pytest_dlbench.running.launch import OWN

WHERE = "--dlbench-ab"
REVISION, SETTING, VARIABLE = "rev:", "set:", "env:"
# Case ids are names of files.
NOT_IN_IDS = re.compile(r"[^\w.+=-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A baseline or a candidate: a framework as it runs there, and the settings that differ there."""

    framework: Framework
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Baseline and candidate: one framework in two environments, revisions or settings, or two frameworks."""

    old: Side
    new: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the text of a side names. An empty ``framework`` means each that the tests train."""

    framework: str = ""
    revision: str = ""
    changes: tuple[Change, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    checkout: Checkout | None = None
    """The files of the revision, once they are there."""

    @property
    def label(self) -> str:
        """What its framework's name ends with: ``HEAD_1+batch_size64``; empty if it names nothing but a framework."""
        variables = [f"{name}={value}" for name, value in self.variables]
        parts = [self.revision, *(change.id for change in self.changes), *variables]
        return "+".join(NOT_IN_IDS.sub("_", part) for part in parts if part)

    def side(self, framework: Framework) -> Side:
        """A framework as this side has it; raises OptionError if the revision lacks a file that it needs."""
        if not self.label:
            return Side(framework=framework)
        there = _at(framework, self.checkout) if self.checkout else framework
        name = f"{framework.name}@{self.label}"
        changed = replace(there, name=name, base=framework, checkout=self.checkout, more_variables=self.variables)
        return Side(framework=changed, changes=self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSides:
    """The sides of a session: of the frameworks that they name, or of every framework if they name none."""

    named: tuple[Sides, ...] = ()
    parts: tuple[Parts, ...] = ()
    """Of the baseline and of the candidate, if they name no framework."""

    def __bool__(self) -> bool:
        return bool(self.named or self.parts)

    def candidates(self, frameworks: Iterable[Framework]) -> list[Framework]:
        """The candidates of a test that trains these frameworks."""
        if self.parts:
            return [self._pair(framework).new.framework for framework in frameworks]
        return [pair.new.framework for pair in self.named]

    def of(self, framework: Framework) -> Sides | None:
        """The sides of a candidate, or of any framework if the sides name none; None if it has none."""
        if self.parts:
            return self._pair(framework.base or framework)
        return next((pair for pair in self.named if pair.new.framework.name == framework.name), None)

    def has(self, name: str) -> bool:
        """Whether a framework has sides."""
        return bool(self.parts) or name in {pair.new.framework.name for pair in self.named}

    def _pair(self, framework: Framework) -> Sides:
        old, new = (part.side(framework) for part in self.parts)
        return distinct(old, new)


def unlabelled(case: Case) -> str:
    """The name that a case's framework has without pairs, if its label names nothing but settings.

    Others keep theirs: ``jax`` of ``jax@batch_size128``, but ``jax@HEAD_1`` and ``jax==0.10.2``.
    """
    changes = tuple(Change(name=name, value=value) for name, value in case.settings.items())
    return case.framework.removesuffix(f"@{Parts(changes=changes).label}")


def distinct(old: Side, new: Side) -> Sides:
    """Both sides, whose cases are in one journal, and so need names of their own."""
    if old.framework.name == new.framework.name:
        then, now = old.framework.checkout, new.framework.checkout
        # HEAD~2 and HEAD^2, for example, have one label.
        suffix = f"-{now.revision.commit[:12]}" if then and now and then.content != now.content else AGAIN
        new = replace(new, framework=replace(new.framework, name=f"{new.framework.name}{suffix}"))
    return Sides(old=old, new=new)


def sides_of(asked: Sequence[str], frameworks: Sequence[str], registry: Registry, root: Path) -> AskedSides:
    """The sides that ``--dlbench-ab`` names; the revisions are those of the repository that has ``root``.

    The same name twice is an A/A test. Two requirements files select every framework that both pin, but variants such
    as pytorch-compile only if ``frameworks`` names them. Raises OptionError.
    """
    if not asked:
        return AskedSides()
    files = [Path(text).expanduser().absolute() for text in asked]
    if any(file.is_file() for file in files):
        return AskedSides(named=_of_files(files, frameworks, registry))
    sides = checked_out([parsed(text, registry, WHERE) for text in asked], Repository(folder=root, where=WHERE))
    names = [side.framework for side in sides]
    if not any(names):
        return AskedSides(parts=tuple(sides))
    if frameworks:
        raise OptionError(f"{WHERE} already names the frameworks: omit --dlbench-frameworks")
    # A side that names none has the other's, as it is installed.
    plain = [plain_name(name) for name in names]
    texts = [name or other for name, other in zip(names, reversed(plain), strict=True)]
    found = [cast("Framework", registry.find("framework", text, WHERE)) for text in texts]
    old, new = (side.side(framework) for side, framework in zip(sides, found, strict=True))
    return AskedSides(named=(distinct(old, new),))


def parsed(text: str, registry: Registry, where: str) -> Parts:
    """The parts of a side: ``rev:HEAD~1``, ``worktree``, ``set:batch_size=64``, ``env:NAME=VALUE``, a framework.

    Raises OptionError for what is named twice, or is none of these.
    """
    names = "|".join(re.escape(name) for name in sorted(registry.values["framework"], key=len, reverse=True))
    # A version (2.13.0+cpu) and a branch may have a plus of their own.
    begins = rf"\+(?={REVISION}|{SETTING}|{VARIABLE}|{WORKTREE}(?:\+|$)|(?:{names})(?:==|@|\+|$))"
    found = Parts()
    for part in re.split(begins, text):
        found = _with(found, part, where)
    return found


def _with(found: Parts, part: str, where: str) -> Parts:
    """A side with one more part."""
    kind, _, value = part.partition(":")
    if f"{kind}:" == SETTING:
        return replace(found, changes=(*found.changes, *_settings(value, where)))
    if f"{kind}:" == VARIABLE:
        return replace(found, variables=(*found.variables, _variable(value, where)))
    if f"{kind}:" == REVISION or part == WORKTREE:
        if found.revision:
            raise OptionError(f"{where}: a side is of one revision, got {found.revision!r} and {value or part!r}")
        if not value and part != WORKTREE:
            raise OptionError(f"{where}: {part!r} names no revision; expected one such as rev:HEAD~1 or rev:v1.2")
        return replace(found, revision=value or WORKTREE)
    if found.framework:
        raise OptionError(f"{where}: a side has one framework, got {found.framework!r} and {part!r}")
    return replace(found, framework=part)


def _settings(text: str, where: str) -> tuple[Change, ...]:
    place = f"{where}: set"
    if not text.strip():
        raise OptionError(f"{place}: expected a setting, such as set:batch_size=64")
    return sweep.parse_any(text, place)


def _variable(text: str, where: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise OptionError(f"{where}: {VARIABLE}{text}: expected NAME=VALUE, such as env:OMP_PROC_BIND=close")
    if name in OWN:
        remedy = "; --dlbench-allocator chooses how workers allocate memory" if name == "GLIBC_TUNABLES" else ""
        raise OptionError(f"{where}: {VARIABLE}{name}: dlbench sets this variable itself for every worker{remedy}")
    return name, value


def checked_out(sides: Sequence[Parts], repository: Repository) -> list[Parts]:
    """The sides with the files of their revisions; raises OptionError if one names a revision and another does not."""
    if not any(side.revision for side in sides):
        return list(sides)
    if not all(side.revision for side in sides):
        raise OptionError(f"{repository.where}: both sides need a revision; {WORKTREE!r} is your files as they are")
    return [replace(side, checkout=repository.checkout(side.revision)) for side in sides]


def _at(framework: Framework, checkout: Checkout) -> Framework:
    """A framework whose builder, and whose requirements file, are those of a revision."""
    for folder in framework.folders:
        stem = folder.joinpath(*framework.builder.split("."))
        for module in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
            if module.exists():
                checkout.existing(module, WHERE)
    if framework.requirements_file:
        file = checkout.existing(framework.requirements_file, WHERE)
        framework = (of_file if framework.builder else of_revision)(framework, file, WHERE)
    return replace(framework, folders=tuple(map(checkout.path, framework.folders)))


def _of_files(files: Sequence[Path], frameworks: Sequence[str], registry: Registry) -> tuple[Sides, ...]:
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise OptionError(f"{WHERE}: {missing[0]} does not exist; expected two requirements files, or two frameworks")
    if files[0].stem == files[1].stem:
        raise OptionError(f"{WHERE}: both files are named {files[0].stem!r}, so their cases would clash: rename one")
    pins = [_pins(file) for file in files]
    known = cast("dict[str, Framework]", registry.values["framework"])
    names = frameworks or [name for name, framework in known.items() if not set(framework.more_marks) & known.keys()]
    found = [name for name in names if not any(not_pinned(known[name], pinned) for pinned in pins)]
    if not found:
        asked = f"of {', '.join(frameworks)} " if frameworks else ""
        raise OptionError(f"{WHERE}: no framework {asked}is pinned in both {files[0]} and {files[1]}")
    sides = (
        [cast("Framework", registry.find("framework", f"{name}@{file}", WHERE)) for file in files] for name in found
    )
    return tuple(Sides(old=Side(framework=old), new=Side(framework=new)) for old, new in sides)


def _pins(file: Path) -> dict[str, Requirement]:
    lines = requirements(file, WHERE)
    return {canonicalize_name(pin.name): pin for pin in _parsed(line for line in lines if not line.startswith("-"))}


def _parsed(lines: Iterator[str]) -> Iterator[Requirement]:
    """The pinned requirements; other lines, such as the value of an option, are ignored."""
    for line in lines:
        if "==" in line or re.match(r"[\w.,\[\]-]+\s*@", line):
            yield Requirement(line)


def not_pinned(framework: Framework, pins: Mapping[str, Requirement]) -> str:
    """Why these pins choose no version that the framework's builder serves; empty if they do."""
    if not framework.environments:
        return framework.unsupported or "no environment is known for it"
    problems = (_problem(framework, need, pins) for need in framework.needs)
    return next(filter(None, problems), "")


def _problem(framework: Framework, need: str, pins: Mapping[str, Requirement]) -> str:
    """Why none of the alternatives of a need is pinned to a version that is served; empty if one is."""
    alternatives = [Requirement(text) for text in need.split(OR)]
    known = [(one, pin) for one in alternatives if (pin := pins.get(canonicalize_name(one.name)))]
    if not known:
        return f"{' or '.join(one.name for one in alternatives)} is not pinned"
    problems = [_misfit(framework, one, pin) for one, pin in known]
    return "" if "" in problems else problems[0]


def _misfit(framework: Framework, need: Requirement, pin: Requirement) -> str:
    version = version_of_file(pin.url) if pin.url else exact_version(pin)
    if version is None:
        # Of an address without a version, such as a branch, only the worker knows.
        return "" if pin.url else f"{pin} leaves the version open: pin one, such as {pin.name}==VERSION"
    limits = [need.specifier]
    if canonicalize_name(need.name) == canonicalize_name(framework.package):
        limits.append(since(framework))
    broken = [limit for limit in limits if not limit.contains(version, prereleases=True)]
    return f"the builder serves {need.name}{broken[0]}, not {version}" if broken else ""
