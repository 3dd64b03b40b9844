"""The repository that a folder is in."""

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
