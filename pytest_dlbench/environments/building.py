"""Environments on disk: built once and atomically, under a lock that outlives a killed builder."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TextIO

import platformdirs

from pytest_dlbench.environments import installing, interpreters, local
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.interpreters import Interpreter
from pytest_dlbench.environments.mpi_stub import build_mpi_stub
from pytest_dlbench.environments.programs import lacking
from pytest_dlbench.errors import DlbenchError, EnvironmentBuildError, EnvironmentMissingError

COMMAND_SECONDS = 1800
LOG_LINES = 20
STAMP = "dlbench-environment.json"
# Functions of (the environment's Python, the log) that run after the installation.
STEPS: Mapping[str, Callable[[Path, TextIO], None]] = {"mpi_stub": build_mpi_stub}


class BuildProgress(Protocol):
    """Receives the progress of builds."""

    def building(self, name: str, doing: str) -> None:
        """Called when an environment is being built or waited for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A finished environment. ``installed`` lists its distributions, as ``name==version``."""

    folder: Path
    tool: str
    interpreter: str
    seconds: float
    bytes: int
    finished: str
    installed: tuple[str, ...]

    @property
    def python(self) -> Path:
        """The Python that workers are started with."""
        return installing.python_of(self.folder)

    @property
    def caches(self) -> Path:
        """The folder for what programs in this environment compile and cache."""
        return self.folder / "caches"


def default_root() -> Path:
    """The folder of this user's environments."""
    return platformdirs.user_cache_path("pytest-dlbench") / "environments"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentStore:
    """Environments in a folder, each named with a hash of its contents. ``pythons`` are the user's own interpreters."""

    root: Path = field(default_factory=default_root)
    pythons: Mapping[str, str] = field(default_factory=dict)

    def find(self, environment: Environment) -> Built | None:
        """The environment if it is finished, else None; without its base Python it does not count as finished."""
        folder = self.root / environment.folder_name
        built = _read(folder)
        is_there = built and os.access(built.python, os.X_OK)
        if not (built and is_there):
            return None
        wanted = self.pythons.get(environment.name)
        # Start it rather than compare paths: the chosen Python may be a shim, or missing.
        chosen = interpreters.probe(wanted) if wanted else None
        is_other = wanted and (chosen is None or not built.python.resolve().samefile(chosen.executable))
        return None if is_other else built

    def interpreter(self, environment: Environment) -> Interpreter:
        """The Python to build it with; raises EnvironmentMissingError, or OptionError for an unsuitable choice."""
        if path := self.pythons.get(environment.name):
            return interpreters.chosen(path, environment.python, f"--dlbench-python {environment.name}")
        if found := interpreters.find(environment.python):
            return found
        raise interpreters.missing(environment.python, environment.name)

    def build(self, environment: Environment, progress: BuildProgress) -> Built:
        """The environment, built if needed. Safe to call from several processes at once.

        Raises EnvironmentMissingError if there is no Python for it or a program is missing, EnvironmentBuildError with
        the end of the log.
        """
        if built := self.find(environment):
            return built
        if problem := local.problem(environment.requirements, environment.python):
            raise EnvironmentBuildError(f"environment {environment.name!r}: {problem}")
        if problem := lacking(f"environment {environment.name!r}", environment.programs):
            raise EnvironmentMissingError(problem)
        interpreter = self.interpreter(environment)
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self.root / environment.folder_name
        waiting = partial(progress.building, environment.name, "another process builds it: waiting")
        with _lock(_sibling(folder, "lock"), waiting) as lock:
            if built := self.find(environment):
                return built
            return _Build(environment, interpreter, folder, lock, progress).run()

    def remove(self, folder_name: str) -> bool:
        """Delete an environment; returns whether there was one."""
        folder = self.root / folder_name
        if not folder.exists():
            return False
        with _lock(_sibling(folder, "lock"), lambda: None):
            _erase(folder)
        return True

    def all(self) -> dict[str, Built | None]:
        """All environments in the folder by name; None for unfinished ones."""
        folders = sorted(path for path in self.root.glob("*") if path.is_dir())
        return {folder.name: _read(folder) for folder in folders}


class _Build:
    """One build: a sequence of commands, with all output in one log."""

    def __init__(
        self, environment: Environment, interpreter: Interpreter, folder: Path, lock: int, progress: BuildProgress
    ) -> None:
        self._environment, self._interpreter, self._folder = environment, interpreter, folder
        self._lock, self._progress = lock, progress
        self._log_path = _sibling(folder, "log")

    def run(self) -> Built:
        try:
            return self._run()
        except (OSError, DlbenchError) as error:
            # Its remains take up space, which may be what ran out; the log stays.
            with suppress(OSError, DlbenchError):
                _erase(self._folder)
            if isinstance(error, EnvironmentBuildError):
                raise
            # A full disk can first fail the installer, its log, or the stamp.
            raise EnvironmentBuildError(
                f"environment {self._environment.name!r} could not be built: {error}\n"
                f"  requirements: {' '.join(self._environment.requirements)}"
            ) from error

    def _run(self) -> Built:
        began = monotonic()
        self._log_path.write_text("", "utf-8")
        tool = self._install()
        for step in self._environment.steps:
            with self._log_path.open("a", encoding="utf-8") as log:
                STEPS[step](installing.python_of(self._folder), log)
        (self._folder / "caches").mkdir()
        return self._stamp(tool, monotonic() - began)

    def _install(self) -> str:
        failed = None
        for tool, commands in installing.ways(self._environment, self._interpreter, self._folder):
            _erase(self._folder)
            if self._environment.build_constraints:
                text = "\n".join(self._environment.build_constraints) + "\n"
                installing.constraints_of(self._folder).write_text(text, "utf-8")
            self._report(f"building with {tool}, Python {self._interpreter.release}")
            failed = next((command for command in commands if not self._succeeds(command)), None)
            if failed is None:
                return tool
        raise EnvironmentBuildError(self._failure(failed or []))

    def _succeeds(self, command: list[str]) -> bool:
        with self._log_path.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            try:
                done = subprocess.run(
                    command,
                    env=installing.variables(self._environment, self._folder),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=COMMAND_SECONDS,
                    # The child inherits the lock: if this process is killed, nobody builds here before it has ended.
                    pass_fds=(self._lock,),
                    check=False,
                )
            except subprocess.TimeoutExpired:
                log.write(f"timed out after {COMMAND_SECONDS} s\n")
                return False
            except OSError as error:
                log.write(f"cannot be started: {error}\n")
                return False
        return done.returncode == 0

    def _failure(self, command: list[str]) -> str:
        tail = self._log_path.read_text("utf-8", "replace").splitlines()[-LOG_LINES:]
        lines = [
            f"environment {self._environment.name!r} (Python {self._interpreter.release}) could not be built:",
            f"  requirements: {' '.join(self._environment.requirements)}",
            f"  failed: {' '.join(command)}",
            f"  the end of {self._log_path}:",
            *(f"  | {line}" for line in tail),
        ]
        return "\n".join(lines)

    def _stamp(self, tool: str, seconds: float) -> Built:
        size = sum(file.lstat().st_size for file in self._folder.rglob("*"))
        content = {
            "tool": tool,
            "interpreter": self._interpreter.executable,
            "seconds": round(seconds, 1),
            "bytes": size,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "installed": _installed(self._folder),
        }
        unfinished = self._folder / f".{STAMP}"
        with unfinished.open("w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        # Written last and atomically: an environment with a stamp is finished.
        unfinished.replace(self._folder / STAMP)
        self._report(f"built in {seconds:.0f} s, {size / 2**20:,.0f} MiB")
        if built := _read(self._folder):
            return built
        raise EnvironmentBuildError(
            f"environment {self._environment.name!r}: {self._folder} vanished while it was built"
        )

    def _report(self, doing: str) -> None:
        self._progress.building(self._environment.name, doing)


def _installed(folder: Path) -> list[str]:
    names = (path.name for path in folder.glob("lib/python*/site-packages/*.*-info"))
    parts = (name.removesuffix(".dist-info").removesuffix(".egg-info").split("-") for name in names)
    return sorted("==".join(part[:2]) for part in parts)


def _read(folder: Path) -> Built | None:
    try:
        content: dict[str, Any] = json.loads((folder / STAMP).read_bytes())
        return Built(folder=folder, **{**content, "installed": tuple(content["installed"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _erase(folder: Path) -> None:
    # The stamp first: a partly removed environment is not finished.
    (folder / STAMP).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise DlbenchError(f"{folder} cannot be removed; remove it by hand")


def _sibling(folder: Path, suffix: str) -> Path:
    # Not with_suffix, which would cut a name such as pytorch-1.0-0a1b.
    return folder.with_name(f"{folder.name}.{suffix}")


@contextmanager
def _lock(path: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """Locks one environment; gives a file descriptor, with which a child process can inherit the lock."""
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
