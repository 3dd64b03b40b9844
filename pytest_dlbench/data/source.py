"""Where the files of a data set come from, and by what they are known."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One official file, an archive or not.

    ``checksum`` ("md5:…" or "sha256:…") is one that several independent projects publish; it is enforced. Empty where
    nobody publishes one: then what comes is recorded, and called no more than that.
    """

    name: str
    url: str
    checksum: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The files that data sets are prepared from.

    ``contents`` are patterns of what the files unpack to, as paths below the source's folder; each must match a file,
    and what matches none is not unpacked. ``page`` is where people read about the data and its terms; a source without
    ``files`` can only be imported, for its owners ask for a login. ``largest_bytes`` is more than it ever unpacks to.
    """

    name: str
    about: str
    page: str
    contents: tuple[str, ...]
    files: tuple[File, ...] = ()
    largest_bytes: int = 4 * GIB

    def wants(self, path: str) -> bool:
        """Whether a path below the folder is one of the contents."""
        return any(fnmatchcase(path, pattern) for pattern in self.contents)

    @property
    def way_here(self) -> str:
        """The command that brings it."""
        return f"dlbench data {'fetch' if self.files else 'import'} {self.name}{'' if self.files else ' PATH'}"

    @property
    def way_back(self) -> str:
        """The command that brings it in the place of what is there."""
        return f"{self.way_here} --again" if self.files else self.way_here

    @property
    def advice(self) -> str:
        """What an error says where the files are not here."""
        absent = f"the files of {self.name} are not here"
        if not self.files:
            return f"{absent}\n  to get them: {self.page}\n  then: {self.way_here}"
        return f"{absent}\n  to get it: {self.way_here}\n  or: dlbench data import {self.name} PATH"
