"""Git repositories of a test, with as many commits as it needs."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

# The tests' own, whatever the user's are; file: is a transport that git allows submodules only by name.
SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_ALLOW_PROTOCOL": "file",
}


def git(folder: Path, *arguments: str) -> str:
    """The output of a command of git, which must succeed."""
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, env={**os.environ, **SETTINGS}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def create(folder: Path) -> Path:
    """An empty repository."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def commit(folder: Path, subject: str, files: Mapping[str, str]) -> str:
    """Write files and commit everything; returns the id of the commit."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", subject)
    return git(folder, "rev-parse", "HEAD")


def state(folder: Path) -> dict[str, bytes]:
    """Every file of a repository with its content, those of git included."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
