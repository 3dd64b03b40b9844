"""Reads pixi.lock: the packages from Python's indexes, which a virtual environment can have, and the version of Python.

A package of conda is refused unless Python itself needs it, or it only installs others: a virtual environment would
lack it.
"""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
from packaging.utils import canonicalize_name

from pytest_dlbench.environments.locks import Pin
from pytest_dlbench.errors import OptionError

FORMATS = (4, 5, 6, 7)
ENVIRONMENT = "default"
# What conda calls this machine.
HERE = f"linux-{ {'x86_64': '64', 'i686': '32'}.get(platform.machine(), platform.machine()) }"
# They install packages, and have no effect on what a program computes; python_abi has no files.
NEUTRAL = frozenset({"pip", "setuptools", "wheel", "uv", "python_abi"})
SHOWN = 5
ARCHIVES = (".whl", ".tar.gz", ".zip")
ITS_PYTHON = 'build it with "pixi install", and name its Python: environment=".pixi/envs/default/bin/python"'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """What an environment's list says of a package, or the list of packages. Older formats have ``kind``."""

    conda: str = ""
    conda_source: str = ""
    pypi: str = ""
    kind: str = ""
    url: str = ""
    path: str = ""
    name: str = ""
    version: str = ""
    index: str = ""
    depends: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return self.conda_source or self.conda or self.pypi or self.url or self.path

    @property
    def is_of_conda(self) -> bool:
        return bool(self.conda or self.conda_source)

    @property
    def named(self) -> str:
        """Its name, if only its file has it: NAME-VERSION-BUILD.conda."""
        return self.name or self.address.rpartition("/")[2].rsplit("-", 2)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Environment:
    packages: Mapping[str, tuple[_Package, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Platform:
    name: str
    subdir: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    version: int
    environments: Mapping[str, _Environment]
    packages: tuple[_Package, ...] = ()
    platforms: tuple[_Platform, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a virtual environment needs: a Python such as "3.12", empty if the file has none, and pip's requirements."""

    python: str
    requirements: tuple[str, ...]


def read(path: Path, where: str) -> Pinned:
    """What a pixi.lock pins for this machine in its default environment; raises OptionError."""
    content = _content(path, where)
    described = {package.address: package for package in content.packages}
    listed = [described.get(package.address, package) for package in _listed(content, f"{where}: {path}")]
    # In older formats only the list of the environment says what kind it is.
    of_conda = [one for one in listed if one.is_of_conda or one.kind == "conda"]
    if others := sorted({one.named for one in of_conda} - _of_python(of_conda)):
        named = ", ".join(others[:SHOWN]) + (f" and {len(others) - SHOWN} more" if len(others) > SHOWN else "")
        raise OptionError(
            f"{where}: {path}: a virtual environment cannot have its conda packages {named}; {ITS_PYTHON}"
        )
    pythons = [".".join(_version(one).split(".")[:2]) for one in of_conda if one.named == "python"]
    pins = [pin for one in listed if one not in of_conda for pin in _pin(one, path, where)]
    return Pinned(python=next(iter(pythons), ""), requirements=tuple(pin.requirement for pin in pins))


def _content(path: Path, where: str) -> _Content:
    try:
        content = msgspec.yaml.decode(path.read_bytes(), type=_Content)
    except ImportError:
        raise OptionError(f'{where}: {path} needs PyYAML to be read: pip install "pytest-dlbench[pixi]"') from None
    except msgspec.MsgspecError as error:
        raise OptionError(f"{where}: {path} is no lock file of pixi: {error}; write it with pixi lock") from None
    if content.version not in FORMATS:
        known = f"{FORMATS[0]} to {FORMATS[-1]}"
        raise OptionError(f"{where}: {path} has format {content.version}; known are {known}; or {ITS_PYTHON}")
    return content


def _listed(content: _Content, what: str) -> tuple[_Package, ...]:
    """The packages of the default environment for this machine."""
    if ENVIRONMENT not in content.environments:
        names = ", ".join(sorted(content.environments))
        raise OptionError(f"{what} has no environment {ENVIRONMENT!r}, only {names}; {ITS_PYTHON}")
    platforms = content.environments[ENVIRONMENT].packages
    called = [HERE, *(one.name for one in content.platforms if one.subdir == HERE)]
    for name in called:
        if name in platforms:
            return platforms[name]
    known = ", ".join(sorted(platforms)) or "no platform"
    raise OptionError(f"{what} has nothing for {HERE}, only {known}; add it: pixi workspace platform add {HERE}")


def _of_python(packages: list[_Package]) -> set[str]:
    """The names of Python, of what it needs, of what that needs, and of what has no effect."""
    needs = {one.named: {need.split()[0] for need in one.depends} for one in packages}
    found, left = set(NEUTRAL), {"python"}
    while left:
        found |= left
        left = {need for name in left for need in needs.get(name, ())} - found
    return found


def _version(package: _Package) -> str:
    """The version, if only the name of the file has it."""
    return package.version or package.address.rpartition("/")[2].rsplit("-", 2)[1]


def _pin(package: _Package, path: Path, where: str) -> Iterator[Pin]:
    """The package in pip's notation; nothing for the project itself, whose files are where the program is."""
    name, address = canonicalize_name(package.name), package.address
    local = (path.parent / address).resolve()
    if address.startswith("git+"):
        yield Pin(name=name, version=_of_git(address))
    elif "://" in address:
        # The usual index does not have local versions, such as 2.13.0+cpu, nor what another index has.
        is_elsewhere = "+" in package.version or package.index or address.startswith("direct+")
        yield Pin(name=name, version=address.removeprefix("direct+") if is_elsewhere else package.version)
    elif address.endswith(ARCHIVES):
        yield Pin(name=name, version=local.as_uri())
    elif local != path.parent.resolve():
        raise OptionError(
            f"{where}: {path}: {package.name} is the folder {address}, whose content may change; {ITS_PYTHON}"
        )


def _of_git(address: str) -> str:
    """A repository with its commit after "#", in pip's notation."""
    parts = urlsplit(address)
    folder = "".join(f"#subdirectory={one}" for one in parse_qs(parts.query).get("subdirectory", ()))
    return f"{parts.scheme}://{parts.netloc}{parts.path}@{parts.fragment}{folder}"
