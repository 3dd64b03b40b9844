"""Shared libraries that have the names of real ones and answer as a test says, and a worker that finds them."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.worker.sessions import double, session


def compiled(folder: Path, sources: Mapping[str, str]) -> Path:
    """The folder, with a library for each name and source in C."""
    folder.mkdir(parents=True)
    for name, source in sources.items():
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / name)]
        subprocess.run(command, input=source.encode(), check=True)
    return folder


def recorded(builder: str, folder: Path, libraries: Path, device: str = "cpu") -> Mapping[str, str]:
    """The versions that a worker with a double as its builder records, in its own folder, if it finds the libraries."""
    framework = replace(double(builder), variables=(("LD_LIBRARY_PATH", str(libraries)),))
    with session(framework, folder) as asked:
        versions: Mapping[str, str] = asked.hello(device=device).versions
        return versions
