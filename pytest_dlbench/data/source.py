"""The origin of a data set's files, and their checksums."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One official file, an archive or not.

    ``checksum`` ("md5:…" or "sha256:…") is one that several independent projects publish; it is enforced. It is empty
    if none is published: then the checksum of what was received is recorded, but not called official.
    """

    name: str
    url: str
    checksum: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package of the system that installs the official files, packed again by its maintainers.

    ``checksums`` are those of its files, by their names, as the package lists them; they are enforced, too.
    """

    name: str
    folder: str
    checksums: tuple[tuple[str, str], ...]

    @property
    def is_installed(self) -> bool:
        """Whether the package's files are on this machine."""
        return Path(self.folder).is_dir()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The files that data sets are prepared from.

    ``contents`` are patterns of what the files unpack to, as paths below the source's folder; each must match a file,
    and what matches none is not unpacked. ``page`` describes the data and its terms; a source without ``files`` can
    only be imported, because its owners require a login. ``largest_bytes`` is an upper bound of the unpacked size.
    Where ``package`` is installed, fetching needs no network.
    """

    name: str
    about: str
    page: str
    contents: tuple[str, ...]
    files: tuple[File, ...] = ()
    largest_bytes: int = 4 * GIB
    package: Package | None = None

    def wants(self, path: str) -> bool:
        """Whether a path below the folder is one of the contents."""
        return any(fnmatchcase(path, pattern) for pattern in self.contents)

    @property
    def get_command(self) -> str:
        """The command that gets the files."""
        return f"dlbench data {'fetch' if self.files else 'import'} {self.name}{'' if self.files else ' PATH'}"

    @property
    def replace_command(self) -> str:
        """The command that replaces the existing files."""
        return f"{self.get_command} --again" if self.files else self.get_command

    @property
    def advice(self) -> str:
        """How to get the files, for errors about missing files."""
        absent = f"the files of {self.name} are not available"
        if not self.files:
            return f"{absent}\n  to get them: {self.page}\n  then: {self.get_command}"
        packaged = f"\n  without a network: apt install {self.package.name}, then the same" if self.package else ""
        return f"{absent}\n  to get it: {self.get_command}{packaged}\n  or: dlbench data import {self.name} PATH"
