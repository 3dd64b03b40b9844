"""The repository that a folder or a file is in."""

import subprocess
from pathlib import Path

LONGEST_SECONDS = 10.0


def commit_of(folder: Path) -> str:
    """The abbreviated id of the commit that is checked out there; empty without git or a repository."""
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=LONGEST_SECONDS
        )
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def versions_in_conflict(path: Path) -> tuple[bytes, bytes] | None:
    """Both versions of a file that git could not merge, HEAD's first; None if git does not know of a conflict."""
    found = []
    for stage in (2, 3):
        command = ["git", "-C", str(path.parent), "show", f":{stage}:./{path.name}"]
        try:
            found.append(subprocess.run(command, capture_output=True, check=True, timeout=LONGEST_SECONDS).stdout)
        except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
    return found[0], found[1]
