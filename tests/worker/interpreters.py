"""The Pythons that the worker must run under, each with an environment that holds NumPy and nothing else.

Interpreters are looked for on PATH (``python3.6`` …) and among pyenv's versions. Environments are built once and kept
in the user's cache: the first session here takes a minute, the others nothing.

    python -m tests.worker.interpreters     # the versions that are here, as DLBENCH_REQUIRE_PYTHONS takes them
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

# For each Python the newest NumPy that has wheels for it, and before it what pip needs in order to see them.
PINS: dict[str, tuple[str, ...]] = {
    # The pip that comes with Python 3.6 knows no manylinux2014.
    "3.6": ("pip==21.3.1", "numpy==1.19.5"),
    "3.7": ("numpy==1.21.6",),
    "3.8": ("numpy==1.24.4",),
    "3.9": ("numpy==2.0.2",),
    "3.10": ("numpy==2.2.6",),
    "3.11": ("numpy==2.4.6",),
    "3.12": ("numpy==2.4.6",),
    "3.13": ("numpy==2.4.6",),
}
STAMP = "complete"
BUILD_SECONDS = 600
# ensurepip: Debian's own Python has none, and can make no environment. The real path: not that of an environment which
# this session may stand in, and which the next one will not have.
PROBE = "import ensurepip, os, sys; print('%d.%d.%d' % sys.version_info[:3]); print(os.path.realpath(sys.executable))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python that was started and told its own version: ``release`` is such as 3.6.15."""

    version: str
    release: str
    executable: str


def required() -> frozenset[str]:
    """The versions that must not be missing: DLBENCH_REQUIRE_PYTHONS, with commas between them."""
    return frozenset(filter(None, os.environ.get("DLBENCH_REQUIRE_PYTHONS", "").replace(" ", "").split(",")))


def find(version: str) -> Interpreter | None:
    """The first interpreter of this version that can make an environment, or None."""
    for candidate in _candidates(version):
        # A pyenv shim is there for every version that pyenv knows, and fails for those that are not chosen.
        told = subprocess.run(
            [candidate, "-c", PROBE],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        release, executable = [*told.stdout.splitlines(), "", ""][:2]
        if told.returncode == 0 and release.startswith(f"{version}."):
            return Interpreter(version=version, release=release, executable=executable)
    return None


def _candidates(version: str) -> Iterator[str]:
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for folder in sorted((root / "versions").glob(f"{version}.*")):
        if (folder / "bin" / "python").exists():
            yield str(folder / "bin" / "python")


def environment(interpreter: Interpreter) -> Path:
    """The Python of the environment, which is built now if it is not there in full.

    Safe for several sessions at once. A build that was killed has no stamp, and is made anew.
    """
    pins = PINS[interpreter.version]
    key = hashlib.sha256("\n".join((interpreter.executable, interpreter.release, *pins)).encode()).hexdigest()[:16]
    root = platformdirs.user_cache_path("pytest-dlbench") / "test-environments"
    folder = root / f"python{interpreter.version}-{key}"
    root.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(root / f"{folder.name}.lock"):
        if not (folder / STAMP).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _build(interpreter, pins, folder)
            (folder / STAMP).write_text("\n".join(pins) + "\n")
    return folder / "bin" / "python"


def _build(interpreter: Interpreter, pins: tuple[str, ...], folder: Path) -> None:
    _run([interpreter.executable, "-m", "venv", str(folder)])
    for pin in pins:
        # Wheels only: a NumPy that has to be compiled is a wrong pin.
        _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary=:all:", pin])


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")


def _environment() -> dict[str, str]:
    # pip's own settings stay; PYTHONPATH and its like are those of another Python.
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


if __name__ == "__main__":
    print(",".join(version for version in PINS if find(version)))
