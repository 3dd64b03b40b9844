"""The repository that a folder lies in."""

import subprocess
from pathlib import Path

LONGEST_SECONDS = 10.0


def commit_of(folder: Path) -> str:
    """The commit that is checked out there, shortened; empty where there is no git, or no repository."""
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGEST_SECONDS)
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
