"""Revisions of the user's repository as folders of files, made without a trace in the repository and without a network.

Not ``git worktree``, which writes to the repository, nor ``git archive``, which omits submodules and what
``export-ignore`` names: a tree is read into an index of its own, next to the folder that gets its files.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import filelock
import platformdirs

from pytest_dlbench.environments.frameworks import Checkout
from pytest_dlbench.errors import OptionError, nearest
from pytest_dlbench.records import Revision

# How the files as they are, with what is not committed, are named among the revisions.
WORKTREE = "worktree"
# A bisection of a thousand commits needs eleven.
KEPT = 20
COMMAND_SECONDS = 600
# Set by git for its hooks, in which a session may run; they would redirect every command.
OF_HOOKS = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
SUBMODULE = "160000"
# All files, whichever the user's own tree has, and submodules one by one.
WHOLE = ("-c", "core.sparseCheckout=false", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false")


class GitError(Exception):
    """A command of git failed; the message is git's own."""


def default_root() -> Path:
    """The folder of this user's checkouts."""
    return platformdirs.user_cache_path("pytest-dlbench") / "checkouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit of the user's repository."""

    id: str
    subject: str

    @property
    def short(self) -> str:
        """Its abbreviated id."""
        return self.id[:12]


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The user's repository, which is only read. ``folder`` is any folder in it; ``where`` is named in errors."""

    folder: Path
    where: str
    store: Path = field(default_factory=default_root)

    @cached_property
    def root(self) -> Path:
        """The folder of its files; raises OptionError if there is none."""
        try:
            return Path(_git(self.folder, "rev-parse", "--show-toplevel"))
        except GitError as error:
            raise OptionError(
                f"{self.where}: revisions need a git repository, and {self.folder} is in none ({error}); run this in"
                " the repository's folder, or make one: git init && git add . && git commit"
            ) from None

    def commit(self, text: str) -> Commit:
        """The commit that a revision names; raises OptionError."""
        found = self._found(text)
        if not found:
            raise OptionError(self._unknown(text))
        return Commit(id=found, subject=_git(self.root, "show", "--no-patch", "--format=%s", found))

    def between(self, good: str, bad: str) -> tuple[Commit, ...]:
        """The good commit and all later ones up to the bad one, along first parents; raises OptionError."""
        first, last = self.commit(good), self.commit(bad)
        listed = _git(self.root, "rev-list", "--first-parent", "--reverse", last.id).splitlines()
        if first.id not in listed:
            raise OptionError(
                f"{self.where}: {good} ({first.short}) is not among the first parents of {bad} ({last.short}); to find"
                f" one that is: git merge-base {good} {bad}{self._deeper()}"
            )
        later = listed[listed.index(first.id) + 1 :]
        if not later:
            raise OptionError(f"{self.where}: {good} and {bad} are the same commit, {first.short}; expected GOOD..BAD")
        return (first, *map(self.commit, later))

    def checkout(self, text: str) -> Checkout:
        """The files of a revision, or the folder itself for WORKTREE; raises OptionError."""
        return self._worktree() if text == WORKTREE else self._revision(text)

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The files with changes that are not committed, or that git does not know and does not ignore."""
        listed = _git(self.root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        return tuple(sorted(entry[3:].rstrip("/") for entry in listed.split("\0") if entry))

    def _worktree(self) -> Checkout:
        head = self.commit("HEAD")
        for path in _dirty_submodules(self.root):
            raise OptionError(
                f"{self.where}: {WORKTREE}: the submodule {path} has changes that are not committed, which a record"
                f" cannot name; to put them aside: git -C {path} stash --include-untracked"
            )
        revision = Revision(name=WORKTREE, commit=head.id, subject=head.subject, uncommitted=self.changed)
        return Checkout(root=self.root, repository=self.root, revision=revision, content=self._content(head))

    def _content(self, head: Commit) -> str:
        """The same for the same files: the commit, and a digest of what is not committed."""
        if not self.changed:
            return head.id
        whole = hashlib.sha256()
        for name in self.changed:
            path = self.root / name
            content = path.read_bytes() if path.is_file() else b""
            whole.update(f"{name}\0{path.is_file()}\0{len(content)}\0".encode(errors="surrogateescape") + content)
        return f"{head.id}+{whole.hexdigest()[:12]}"

    def _revision(self, text: str) -> Checkout:
        commit = self.commit(text)
        revision = Revision(name=text, commit=commit.id, subject=commit.subject)
        folder = self.store / hashlib.sha256(str(self.root).encode()).hexdigest()[:12] / commit.id
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.parent / "lock"):
            if not folder.is_dir():
                self._make(commit, folder)
            os.utime(folder)
            _hold(folder)
            _prune(folder.parent)
        return Checkout(root=folder, repository=self.root, revision=revision, content=commit.id, left_out=self.changed)

    def _make(self, commit: Commit, folder: Path) -> None:
        """All files of a commit; only a complete folder gets its name."""
        unfinished = folder.with_name(f"{commit.id}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            source = Path(_git(self.root, "rev-parse", "--absolute-git-dir"))
            _Tree(source=source, own=self.root, folder=unfinished).write(commit.id)
            unfinished.rename(folder)
        except (GitError, OSError) as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise OptionError(f"{self.where}: the files of {commit.short} cannot be read: {error}") from None

    def _unknown(self, text: str) -> str:
        """The message about a revision that cannot be found here."""
        names = _git(self.root, "for-each-ref", "--format=%(refname:short)").splitlines()
        problem = f"{self.where}: {text!r} is no revision of {self.root}"
        if deeper := self._deeper():
            return f"{problem}{deeper}"
        # The parts of a side are joined by it, and a branch may have one.
        first, plus, rest = text.partition("+")
        if plus and self._found(first):
            expected = "expected a framework of the suite, set:KEY=VALUE or env:NAME=VALUE"
            return f"{problem}, and no side of {first!r}: {expected} after the +, got {rest!r}"
        # A branch that CI did not check out is there under the name of its remote.
        remote = next((name for name in names if name.endswith(f"/{text}")), "")
        close = remote or nearest(text, names)
        advice = f"; did you mean {close!r}?" if close else ""
        return f"{problem}{advice or '; git log --oneline --all lists what there is'}"

    def _found(self, text: str) -> str:
        """The id of the commit that a revision names; empty if there is none."""
        try:
            # What begins with a dash would be an option.
            return "" if text.startswith("-") else _git(self.root, "rev-parse", "--verify", f"{text}^{{commit}}")
        except GitError:
            return ""

    def _deeper(self) -> str:
        """What to do if the clone has only the newest commits; empty if it has all."""
        if _git(self.root, "rev-parse", "--is-shallow-repository") != "true":
            return ""
        return (
            ": this clone is shallow, it has only the newest commits; to get the others: git fetch --unshallow (GitHub:"
            " fetch-depth: 0 for actions/checkout; GitLab: the variable GIT_DEPTH: 0)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """The files of a repository or a submodule.

    ``source`` has its objects, ``own`` are the user's files, ``folder`` gets those of a commit. ``place`` is what its
    paths begin with in errors.
    """

    source: Path
    own: Path
    folder: Path
    place: str = ""

    def write(self, commit: str) -> None:
        """Write the files of a commit, and of its submodules; raises GitError and OSError."""
        self.folder.mkdir(parents=True)
        index = self.folder.with_name(f"{self.folder.name}.index")
        variables = {"GIT_DIR": str(self.source), "GIT_WORK_TREE": str(self.folder), "GIT_INDEX_FILE": str(index)}
        try:
            _git(self.folder, *WHOLE, "read-tree", "-u", "--reset", commit, variables=variables)
            entries = _git(self.folder, "ls-files", "--stage", "-z", variables=variables).split("\0")
        finally:
            index.unlink(missing_ok=True)
        for entry in entries:
            if entry.startswith(SUBMODULE):
                facts, _, path = entry.partition("\t")
                self._write_submodule(path, facts.split()[1])

    def _write_submodule(self, path: str, commit: str) -> None:
        place, source = f"{self.place}{path}", self._source(path)
        if source is None:
            advice = f"to get it: git submodule update --init --recursive {place}"
            raise GitError(f"the submodule {place} is not checked out; {advice}")
        try:
            # Its own settings name a folder that may not be there.
            variables = {"GIT_DIR": str(source), "GIT_WORK_TREE": str(self.folder)}
            _git(source, "cat-file", "-e", f"{commit}^{{commit}}", variables=variables)
        except GitError:
            advice = f"to get it: git -C {place} fetch origin {commit}"
            raise GitError(f"the submodule {place} has no commit {commit[:12]}; {advice}") from None
        # git made an empty folder for it.
        target = self.folder / path
        target.rmdir()
        _Tree(source=source, own=self.own / path, folder=target, place=f"{place}/").write(commit)

    def _source(self, path: str) -> Path | None:
        """The objects of a submodule: of the user's own, or of one that only older commits have; None without any."""
        if (self.own / path / ".git").exists():
            return Path(_git(self.own / path, "rev-parse", "--absolute-git-dir"))
        variables = {"GIT_DIR": str(self.source), "GIT_WORK_TREE": str(self.folder)}
        common = Path(_git(self.folder, "rev-parse", "--git-common-dir", variables=variables))
        known = (common / "modules" / name for name in _names(self.folder, path))
        return next((folder for folder in known if (folder / "HEAD").is_file()), None)


def _names(folder: Path, path: str) -> Iterator[str]:
    """The name of the submodule at a path, which .gitmodules has."""
    with suppress(GitError):
        listed = _git(folder, "config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        for line in listed.splitlines():
            key, _, value = line.partition(" ")
            if value == path:
                yield key.removeprefix("submodule.").removesuffix(".path")


def _dirty_submodules(root: Path) -> Iterator[str]:
    """Submodules with changes of their own, or at another commit than the one that is committed."""
    listed = _git(root, "status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--untracked-files=no")
    for entry in listed.split("\0"):
        # "1 .M SC.. …": the third field says of a submodule whether its commit, a file or an untracked file differs.
        fields = entry.split(" ", 8)
        if fields[0] == "1" and fields[2].startswith("S") and fields[2] != "S...":
            yield fields[8]


# Shared locks on checkouts in use, held until this process ends.
_HELD: dict[Path, filelock.BaseFileLock] = {}


def _hold(folder: Path) -> None:
    """Keep other sessions from removing a checkout while this process lives."""
    if folder not in _HELD:
        lock = filelock.FileLock(f"{folder}.{os.getpid()}.user")
        lock.acquire()
        _HELD[folder] = lock


def _prune(folder: Path) -> None:
    """Remove the checkouts of a repository that were not used for longest, unless a session uses them."""
    used = {user.name.partition(".")[0] for user in folder.glob("*.user") if _is_used(user)}
    found = [path for path in folder.iterdir() if re.fullmatch(r"[0-9a-f]{40,64}", path.name)]
    for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        if path.name not in used:
            shutil.rmtree(path, ignore_errors=True)


def _is_used(user: Path) -> bool:
    """Whether the process that left this file lives; the file of one that has ended is removed."""
    if any(Path(lock.lock_file) == user for lock in _HELD.values()):
        return True
    lock = filelock.FileLock(user)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        return True
    lock.release()
    user.unlink(missing_ok=True)
    return False


def _git(folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """The output of a command of git without its last line feed; raises GitError."""
    inherited = {name: value for name, value in os.environ.items() if name not in OF_HOOKS}
    # Neither questions nor the network: what a partial clone lacks is an error. No lock for what is only read.
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            env={**inherited, **quiet, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(str(error)) from error
    if done.returncode:
        raise GitError(_last_line(done.stderr.splitlines()))
    return done.stdout.removesuffix("\n")


def _last_line(lines: Sequence[str]) -> str:
    return next((line.removeprefix("fatal: ") for line in reversed(lines) if line.strip()), "git failed")
