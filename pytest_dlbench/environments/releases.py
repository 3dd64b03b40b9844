"""The released versions of a package, as pip finds them with the user's own settings."""

import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain

from packaging.version import InvalidVersion, Version

from pytest_dlbench.errors import DlbenchError

TIMEOUT_SECONDS = 120


def released(package: str, pythons: Iterable[str], *, with_previews: bool = False) -> tuple[str, ...]:
    """All versions for any of these Pythons ("3.11"), the oldest first; raises DlbenchError if there are none.

    Builds of one version, such as 2.13.0 and 2.13.0+cpu, count once. Whether a version can be installed is known only
    when it is built.
    """
    found = set(chain.from_iterable(_listed(package, python, with_previews=with_previews) for python in pythons))
    public = {str(Version(text).public) for text in found}
    return tuple(sorted(public, key=Version))


def between(versions: Iterable[str], good: str, bad: str) -> tuple[str, ...]:
    """The versions from ``good`` to ``bad``, always including both; the oldest first."""
    oldest, newest = Version(good), Version(bad)
    inner = [text for text in versions if oldest < Version(text) < newest]
    return (good, *sorted(inner, key=Version), bad)


def _listed(package: str, python: str, *, with_previews: bool) -> list[str]:
    command = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check"]
    command += ["--python-version", python, *(["--pre"] if with_previews else [])]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise DlbenchError(f"pip did not list the versions of {package} within {TIMEOUT_SECONDS} s") from None
    line = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not line:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise DlbenchError(f"pip finds no version of {package} for Python {python}: {last}")
    return [text for text in line[1].split(", ") if _is_version(text)]


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        # From the early years of the index, before versions had a fixed format.
        return False
    return True
