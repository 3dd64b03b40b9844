"""Whether a worker has the versions that were requested: exact and partial pins, ranges, and addresses of wheels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from pytest_dlbench.records.problems import SameVersion, SameVersions, WrongVersion

# Between the alternatives of a framework's need: "tensorflow>=2 | tensorflow-cpu>=2".
OR = " | "


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """What one side of a comparison was asked to have, and the distributions that its worker reports."""

    name: str
    requested: Sequence[str]
    python: str
    installed: Mapping[str, str]


def wrong(found: Packages) -> Iterator[WrongVersion]:
    """Each requirement that is not met, with what is installed instead."""
    for text in found.requested:
        needs = list(versioned(text, found.python))
        if needs and not any(_fits(need, found.installed) for need in needs):
            has = [found.installed[name] for need in needs if (name := canonicalize_name(need.name)) in found.installed]
            yield WrongVersion(requested=tuple(map(_shown, needs)), installed=tuple(has))


def contradicted(reported: Mapping[str, str], sources: Mapping[str, Mapping[str, str]]) -> Iterator[WrongVersion]:
    """Each version that a builder reports, but that none of the distributions it comes from has."""
    for name, distributions in sources.items():
        if not any(is_same_release(reported[name], version) for version in distributions.values()):
            has = tuple(f"{distribution} {version}" for distribution, version in distributions.items())
            yield WrongVersion(reported=f"{name} {reported[name]}", installed=has)


def same_despite_request(baseline: Packages, candidate: Packages) -> SameVersions | None:
    """How two sides that were asked for different versions have the same; None if they have not, or were not."""
    asked = [_asked(side) for side in (baseline, candidate)]
    different = [name for name in asked[0] if name in asked[1] and asked[0][name] != asked[1][name]]
    if any(baseline.installed.get(name) != candidate.installed.get(name) for name in different):
        return None
    same = tuple(
        SameVersion(baseline=asked[0][name], candidate=asked[1][name], installed=version)
        for name in different
        if (version := baseline.installed.get(name))
    )
    return SameVersions(baseline=baseline.name, candidate=candidate.name, versions=same) if same else None


def are_alike(baseline: Packages, candidate: Packages) -> bool:
    """Whether two sides have the same Python and the same distributions."""
    return (baseline.python, baseline.installed) == (candidate.python, candidate.installed)


def is_same_release(one: str, other: str) -> bool:
    """Whether two versions are of one release: local suffixes (+cpu) and post-releases repackage it.

    Text that is not a version can be compared with nothing.
    """
    try:
        first, second = Version(one), Version(other)
    except InvalidVersion:
        return True
    return _release(first) == _release(second)


def _release(version: Version) -> tuple[Version, object, object]:
    return Version(version.base_version), version.pre, version.dev


def _asked(side: Packages) -> Mapping[str, str]:
    """What was requested of each distribution, normalised; one that is not installed was not the alternative."""
    needs = [need for text in side.requested for need in versioned(text, side.python)]
    named = {canonicalize_name(need.name): _shown(need) for need in needs}
    return {name: shown for name, shown in named.items() if name in side.installed}


def versioned(text: str, python: str) -> Iterator[Requirement]:
    """The alternatives of a requirement that choose a version for this Python; none for pip's options and paths."""
    surroundings = {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python, "extra": ""}
    for part in text.split(OR):
        with suppress(InvalidRequirement):
            need = Requirement(part)
            applies = need.marker is None or need.marker.evaluate(surroundings)
            if applies and (need.specifier or need.url):
                yield need


def _fits(need: Requirement, installed: Mapping[str, str]) -> bool:
    version = installed.get(canonicalize_name(need.name))
    if version is None:
        return False
    if need.url:
        return _is_of_file(need.url, version)
    try:
        return need.specifier.contains(version, prereleases=True) or _is_repackaged(need, Version(version))
    except InvalidVersion:
        return str(need.specifier) in (f"=={version}", f"==={version}")


def _is_repackaged(need: Requirement, version: Version) -> bool:
    """Whether a post-release is pinned, whose metadata have the plain version, as those of cntk 2.7.post2 do."""
    pinned = exact_version(need)
    if pinned is None or not pinned.is_postrelease or version.is_postrelease:
        return False
    return _release(pinned) == _release(version)


def exact_version(need: Requirement) -> Version | None:
    """The version of an exact pin; None for a range."""
    pins = [one.version for one in need.specifier if one.operator == "==" and not one.version.endswith(".*")]
    return Version(pins[0]) if len(pins) == len(need.specifier) == 1 else None


def _is_of_file(address: str, version: str) -> bool:
    """Whether a version is that in the name of a wheel or an archive; other names, such as a branch's, have none."""
    wanted = version_of_file(address)
    if wanted is None:
        return True
    with suppress(InvalidVersion):
        found = Version(version)
        return wanted in (found, Version(found.public))
    return False


def version_of_file(address: str) -> Version | None:
    """The version in the name of a wheel or a source distribution, None if it has none."""
    file = unquote(urlsplit(address).path).rpartition("/")[2]
    with suppress(InvalidWheelFilename, InvalidVersion):
        return parse_wheel_filename(file)[1]
    with suppress(InvalidSdistFilename, InvalidVersion):
        return parse_sdist_filename(file)[1]
    return None


def _shown(need: Requirement) -> str:
    return f"{need.name} @ {need.url}" if need.url else f"{need.name}{need.specifier}"
