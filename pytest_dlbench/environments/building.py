"""Environments on the disk: built once, whole or not at all, under a lock that outlives a killed builder."""

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

from pytest_dlbench.environments import installing, interpreters
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.interpreters import Interpreter
from pytest_dlbench.environments.mpi_stub import build_mpi_stub
from pytest_dlbench.errors import DlbenchError, EnvironmentBuildError

COMMAND_SECONDS = 1800
LOG_LINES = 20
STAMP = "dlbench-environment.json"
# What follows the installation: (the environment's Python, the log).
STEPS: Mapping[str, Callable[[Path, TextIO], None]] = {"mpi_stub": build_mpi_stub}


class BuildProgress(Protocol):
    """Who wants to know how far it is."""

    def building(self, name: str, doing: str) -> None:
        """An environment is being built, or waited for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A finished environment. ``installed`` are all distributions in it, as ``name==version``."""

    folder: Path
    tool: str
    interpreter: str
    seconds: float
    bytes: int
    finished: str
    installed: tuple[str, ...]

    @property
    def python(self) -> Path:
        """What a worker is started with."""
        return installing.python_of(self.folder)

    @property
    def caches(self) -> Path:
        """Where what runs in it may keep what it compiled."""
        return self.folder / "caches"


def default_root() -> Path:
    """The folder of all environments of this user."""
    return platformdirs.user_cache_path("pytest-dlbench") / "environments"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentStore:
    """Environments in a folder, each under the hash of what is built. ``pythons`` are interpreters that users chose."""

    root: Path = field(default_factory=default_root)
    pythons: Mapping[str, str] = field(default_factory=dict)

    def find(self, environment: Environment) -> Built | None:
        """A finished environment, else None; one whose Python is gone from the machine is not finished."""
        folder = self.root / environment.folder_name
        built = _read(folder)
        is_there = built and os.access(built.python, os.X_OK)
        if not (built and is_there):
            return None
        wanted = self.pythons.get(environment.name)
        # Started, not compared as paths: what was chosen may be a shim, or not there at all.
        chosen = interpreters.probe(wanted) if wanted else None
        is_other = wanted and (chosen is None or not built.python.resolve().samefile(chosen.executable))
        return None if is_other else built

    def interpreter(self, environment: Environment) -> Interpreter:
        """The Python that it would be built with; raises EnvironmentMissingError, or OptionError for a wrong choice."""
        if path := self.pythons.get(environment.name):
            return interpreters.chosen(path, environment.python, f"--dlbench-python {environment.name}")
        if found := interpreters.find(environment.python):
            return found
        raise interpreters.missing(environment.python, environment.name)

    def build(self, environment: Environment, progress: BuildProgress) -> Built:
        """The environment, built now if it is not there. Safe for several processes at once.

        Raises EnvironmentMissingError where there is no Python for it, EnvironmentBuildError with the log's end.
        """
        if built := self.find(environment):
            return built
        interpreter = self.interpreter(environment)
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self.root / environment.folder_name
        waiting = partial(progress.building, environment.name, "another process builds it: waiting")
        with _lock(_beside(folder, "lock"), waiting) as lock:
            if built := self.find(environment):
                return built
            return _Build(environment, interpreter, folder, lock, progress).run()

    def remove(self, folder_name: str) -> bool:
        """Take an environment off the disk; whether there was one."""
        folder = self.root / folder_name
        if not folder.exists():
            return False
        with _lock(_beside(folder, "lock"), lambda: None):
            _erase(folder)
        return True

    def all(self) -> dict[str, Built | None]:
        """Everything in the folder by its name; None for what was never finished."""
        folders = sorted(path for path in self.root.glob("*") if path.is_dir())
        return {folder.name: _read(folder) for folder in folders}


class _Build:
    """One build: commands one after the other, all they say in one log."""

    def __init__(
        self, environment: Environment, interpreter: Interpreter, folder: Path, lock: int, progress: BuildProgress
    ) -> None:
        self._environment, self._interpreter, self._folder = environment, interpreter, folder
        self._lock, self._progress = lock, progress
        self._log_path = _beside(folder, "log")

    def run(self) -> Built:
        try:
            return self._run()
        except (OSError, DlbenchError) as error:
            # What there is of it takes room that may be what was wanting; its log stays.
            with suppress(OSError, DlbenchError):
                _erase(self._folder)
            if isinstance(error, EnvironmentBuildError):
                raise
            # A full disk first meets whoever writes first: the installer, its log, or the stamp.
            raise EnvironmentBuildError(
                f"environment {self._environment.name!r} could not be built: {error}\n"
                f"  requirements: {' '.join(self._environment.requirements)}"
            ) from error

    def _run(self) -> Built:
        began = monotonic()
        self._log_path.write_text("")
        tool = self._install()
        for step in self._environment.steps:
            with self._log_path.open("a") as log:
                STEPS[step](installing.python_of(self._folder), log)
        (self._folder / "caches").mkdir()
        return self._stamp(tool, monotonic() - began)

    def _install(self) -> str:
        failed = None
        for tool, commands in installing.ways(self._environment, self._interpreter, self._folder):
            _erase(self._folder)
            if self._environment.build_constraints:
                text = "\n".join(self._environment.build_constraints) + "\n"
                installing.constraints_of(self._folder).write_text(text)
            self._tell(f"building with {tool}, Python {self._interpreter.release}")
            failed = next((command for command in commands if not self._succeeds(command)), None)
            if failed is None:
                return tool
        raise EnvironmentBuildError(self._failure(failed or []))

    def _succeeds(self, command: list[str]) -> bool:
        with self._log_path.open("a") as log:
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
                    # The lock is the child's, too: should we be killed, nobody builds here before it has ended.
                    pass_fds=(self._lock,),
                    check=False,
                )
            except subprocess.TimeoutExpired:
                log.write(f"ended after {COMMAND_SECONDS} s\n")
                return False
            except OSError as error:
                log.write(f"cannot be started: {error}\n")
                return False
        return done.returncode == 0

    def _failure(self, command: list[str]) -> str:
        tail = self._log_path.read_text(errors="replace").splitlines()[-LOG_LINES:]
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
        told = {
            "tool": tool,
            "interpreter": self._interpreter.executable,
            "seconds": round(seconds, 1),
            "bytes": size,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "installed": _installed(self._folder),
        }
        unfinished = self._folder / f".{STAMP}"
        with unfinished.open("w") as file:
            json.dump(told, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        # Last of all, and whole: what has it is finished.
        unfinished.replace(self._folder / STAMP)
        self._tell(f"built in {seconds:.0f} s, {size / 2**20:,.0f} MiB")
        if built := _read(self._folder):
            return built
        raise EnvironmentBuildError(
            f"environment {self._environment.name!r}: {self._folder} vanished while it was built"
        )

    def _tell(self, doing: str) -> None:
        self._progress.building(self._environment.name, doing)


def _installed(folder: Path) -> list[str]:
    names = (path.name for path in folder.glob("lib/python*/site-packages/*.*-info"))
    parts = (name.removesuffix(".dist-info").removesuffix(".egg-info").split("-") for name in names)
    return sorted("==".join(part[:2]) for part in parts)


def _read(folder: Path) -> Built | None:
    try:
        told: dict[str, Any] = json.loads((folder / STAMP).read_bytes())
        return Built(folder=folder, **{**told, "installed": tuple(told["installed"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _erase(folder: Path) -> None:
    # The stamp first: what is half removed is not finished.
    (folder / STAMP).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise DlbenchError(f"{folder} cannot be removed; remove it by hand")


def _beside(folder: Path, suffix: str) -> Path:
    # Not with_suffix: a name such as pytorch-1.0-0a1b would lose its end.
    return folder.with_name(f"{folder.name}.{suffix}")


@contextmanager
def _lock(path: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """The lock of one environment, as a file descriptor that a child may inherit and thereby hold."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
