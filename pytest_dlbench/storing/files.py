"""Atomic file writes."""

import os
import tempfile
from pathlib import Path


def create_ignored(folder: Path) -> None:
    """Create a folder that git ignores; one that exists is left as it is, because somebody may want it in git."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    (folder / ".gitignore").write_text("# Written by pytest-dlbench: what it measures here is for this machine.\n*\n")


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically: readers, even after a crash, see either the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).chmod(0o644)
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
