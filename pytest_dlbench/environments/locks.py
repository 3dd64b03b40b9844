"""Reads lock files of repositories: what is pinned, for which Python, and which package needs which.

Supported are requirements files written by pip-compile and uv, pylock.toml (PEP 751), uv.lock and poetry.lock.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytest_dlbench.environments.local import parted
from pytest_dlbench.environments.specification import requirements
from pytest_dlbench.errors import OptionError

# A version that begins with one of these is a range; an empty one is any version.
OPERATORS = ("", "<", ">", "=", "!", "~")
FORMS = "a requirements file, pylock.toml, uv.lock or poetry.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One version of one package, by its canonical name; ``version`` may be a URL, a range, or empty if any will do.

    ``needs`` are the packages that it needs, if the file lists them. ``index`` is where it comes from, if known.
    """

    name: str
    version: str
    marker: str = ""
    extras: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    index: str = ""

    @property
    def requirement(self) -> str:
        """The pin in pip's notation."""
        name = f"{self.name}[{','.join(self.extras)}]" if self.extras else self.name
        if "://" in self.version:
            pinned = f"{name} @ {self.version}"
        else:
            pinned = f"{name}{self.version}" if self.version[:1] in OPERATORS else f"{name}=={self.version}"
        return f"{pinned} ; {self.marker}" if self.marker else pinned

    @property
    def shown(self) -> str:
        """The version in a list of changes, with its extras."""
        return " ".join([self.version or "any version", *([f"[{', '.join(self.extras)}]"] if self.extras else [])])

    def is_for(self, python: str) -> bool:
        """Whether it is installed on this machine for a Python such as "3.11"."""
        version = {"python_version": python, "python_full_version": f"{python}.0"}
        return not self.marker or Marker(self.marker).evaluate(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What a lock file pins. ``options`` are pip's, such as an extra index."""

    pins: tuple[Pin, ...]
    options: tuple[str, ...] = ()

    @property
    def lists_dependencies(self) -> bool:
        """Whether the file lists which package needs which."""
        return any(pin.needs for pin in self.pins)

    def versions(self, python: str) -> dict[str, str]:
        """The version of every package that is installed for a Python such as "3.11"."""
        return {pin.name: pin.version for pin in self.pins if pin.is_for(python)}

    def requirements(self, python: str) -> dict[str, Requirement]:
        """The requirement of every package that is installed for a Python such as "3.11"."""
        return {pin.name: Requirement(pin.requirement) for pin in self.pins if pin.is_for(python)}

    def as_requirements(self) -> str:
        """The lock as a requirements file."""
        return "".join(f"{line}\n" for line in (*self.options, *(pin.requirement for pin in self.pins)))


def read(path: Path, where: str) -> Lock:
    """Reads a lock file; raises OptionError for a file that does not exist or is not a lock file."""
    if not path.is_file():
        raise OptionError(f"{where}: there is no file {path}; expected {FORMS}")
    try:
        found = _of_toml(path, where) if path.suffix in (".toml", ".lock") else _of_requirements(path, where)
    except RecursionError:
        raise OptionError(f"{where}: {path} is nested too deeply for a lock file; expected {FORMS}") from None
    except (ValueError, KeyError, TypeError, AttributeError, InvalidRequirement) as error:
        raise OptionError(f"{where}: {path} cannot be read as {FORMS}: {error}") from None
    if not any(pin.version for pin in found.pins):
        raise OptionError(f"{where}: {path} pins no versions; expected {FORMS}")
    return found


def _of_requirements(path: Path, where: str) -> Lock:
    options, lines = parted(requirements(path, where))
    parsed = [Requirement(line) for line in lines]
    needs = _needs_of_comments(path.read_text("utf-8").splitlines())
    pins = (
        Pin(
            name=(name := canonicalize_name(one.name)),
            version=one.url or _pinned(one),
            marker=str(one.marker or ""),
            extras=tuple(sorted(one.extras)),
            needs=needs.get(name, frozenset()),
        )
        for one in parsed
    )
    return Lock(pins=tuple(pins), options=tuple(options))


def _pinned(requirement: Requirement) -> str:
    """The version of an exact pin, else the range."""
    (one, *others) = [*requirement.specifier] or [None]
    is_exact = one is not None and not others and one.operator == "==" and not one.version.endswith(".*")
    return one.version if one is not None and is_exact else str(requirement.specifier)


def _needs_of_comments(lines: Iterable[str]) -> dict[str, frozenset[str]]:
    """{package: what it needs}, from comments such as "# via torch" at the needed package."""
    found: dict[str, set[str]] = {}
    package, is_via = "", False
    for line in lines:
        text, _, comment = line.partition("#")
        if named := re.match(r"[A-Za-z0-9][\w.-]*", text):
            package, is_via = canonicalize_name(named.group()), False
        note = comment.strip()
        if note == "via" or note.startswith("via "):
            note, is_via = note.removeprefix("via").strip(), True
        for who in note.split(",") if is_via and package else ():
            if asker := re.match(r"\s*([A-Za-z0-9][\w.-]*)", who):
                found.setdefault(canonicalize_name(asker.group(1)), set()).add(package)
    return {name: frozenset(needed) for name, needed in found.items()}


def _of_toml(path: Path, where: str) -> Lock:
    content = tomllib.loads(path.read_text("utf-8"))
    if "packages" in content and "lock-version" in content:
        pins = [_of_pylock(package) for package in content["packages"] if _is_published(package)]
    elif "package" in content and "metadata" in content:
        pins = [_of_poetry(package) for package in content["package"]]
    elif "package" in content and "version" in content:
        pins = [_of_uv(package) for package in content["package"] if _is_published(package)]
    else:
        raise OptionError(f"{where}: {path} is not a supported lock file; expected {FORMS}")
    return Lock(pins=tuple(pins), options=tuple(_indexes(pins)))


def _is_published(package: Mapping[str, Any]) -> bool:
    """Whether the package comes from an index or a repository: not the project itself, nor a local folder."""
    source = {**package, **package.get("source", {})}
    is_local = bool(source.keys() & {"directory", "editable", "virtual", "path"})
    return bool({"version", "vcs"} & package.keys()) and not is_local


def _of_pylock(package: Mapping[str, Any]) -> Pin:
    needed = package.get("dependencies", ())
    vcs = package.get("vcs", {})
    commit = f"{vcs['type']}+{vcs['url']}@{vcs['commit-id']}" if "url" in vcs else ""
    address = commit or package.get("archive", {}).get("url") or package["version"]
    return Pin(
        name=canonicalize_name(package["name"]),
        version=address,
        marker=package.get("marker", ""),
        needs=frozenset(canonicalize_name(one["name"]) for one in needed),
        index=package.get("index", ""),
    )


def _of_uv(package: Mapping[str, Any]) -> Pin:
    further = (one for ones in package.get("optional-dependencies", {}).values() for one in ones)
    markers = [f"({marker})" for marker in package.get("resolution-markers", ())]
    return Pin(
        name=canonicalize_name(package["name"]),
        version=_of_git(package["source"].get("git", "")) or package["source"].get("url") or package["version"],
        marker=" or ".join(markers),
        needs=frozenset(canonicalize_name(one["name"]) for one in (*package.get("dependencies", ()), *further)),
        index=package["source"].get("registry", ""),
    )


def _of_git(address: str) -> str:
    """A repository with its commit, as uv writes it after a "#", in pip's notation; empty for none."""
    plain, _, commit = address.partition("#")
    return f"git+{plain.partition('?')[0]}@{commit}" if address else ""


def _of_poetry(package: Mapping[str, Any]) -> Pin:
    source, marker = package.get("source", {}), package.get("markers", "")
    kind, address = source.get("type"), source.get("url", "")
    elsewhere = {"git": f"git+{address}@{source.get('resolved_reference', '')}", "url": address}
    return Pin(
        name=canonicalize_name(package["name"]),
        version=elsewhere.get(kind, package["version"]),
        # One per group of dependencies if they differ.
        marker=" or ".join(f"({one})" for one in marker.values()) if isinstance(marker, dict) else marker,
        needs=frozenset(canonicalize_name(name) for name in package.get("dependencies", {})),
        index=source.get("url", "") if source.get("type") == "legacy" else "",
    )


def _indexes(pins: Iterable[Pin]) -> Iterator[str]:
    """Options for extra indexes; the main index is the one in pip's own settings."""
    counts = Counter(pin.index for pin in pins)
    for address, _ in counts.most_common()[1:]:
        if address:
            yield f"--extra-index-url={address}"
