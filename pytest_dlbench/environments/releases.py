"""Which versions of a package have been released, as pip finds them with the user's own settings."""

import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain

from packaging.version import InvalidVersion, Version

from pytest_dlbench.errors import DlbenchError

TIMEOUT_SECONDS = 120


def released(package: str, pythons: Iterable[str], *, with_previews: bool = False) -> tuple[str, ...]:
    """All versions for any of these Pythons ("3.11"), the oldest first; raises DlbenchError where there are none.

    Builds of one version, such as 2.13.0+cpu beside 2.13.0, count once. Whether a version can be installed is not
    known: that shows when it is built.
    """
    found = set(chain.from_iterable(_told(package, python, with_previews=with_previews) for python in pythons))
    public = {str(Version(text).public) for text in found}
    return tuple(sorted(public, key=Version))


def between(versions: Iterable[str], good: str, bad: str) -> tuple[str, ...]:
    """Those from the one to the other, with both, whether or not they are among them; the oldest first."""
    oldest, newest = Version(good), Version(bad)
    inner = [text for text in versions if oldest < Version(text) < newest]
    return (good, *sorted(inner, key=Version), bad)


def _told(package: str, python: str, *, with_previews: bool) -> list[str]:
    command = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check"]
    command += ["--python-version", python, *(["--pre"] if with_previews else [])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise DlbenchError(f"pip did not tell the versions of {package} within {TIMEOUT_SECONDS} s") from None
    line = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not line:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise DlbenchError(f"pip knows no version of {package} for Python {python}: {last}")
    return [text for text in line[1].split(", ") if _is_version(text)]


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        # Of the first years of the index, before versions had a form.
        return False
    return True
