"""Vega, Vega-Lite and vega-embed as one script: bundling takes seconds, so it is kept in the user's cache."""

import hashlib
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import platformdirs
import vl_convert

from pytest_dlbench.errors import StorageError
from pytest_dlbench.reporting.page.pictures import VEGA_LITE
from pytest_dlbench.storing.files import write_whole

GLOBALS = "window.vegaEmbed = vegaEmbed;"


@cache
def script() -> str:
    """The text of the script, with a global ``vegaEmbed``."""
    path = kept_at()
    with suppress(OSError, UnicodeDecodeError):
        digest, _, kept = path.read_text("utf-8").partition("\n")
        if digest == _digest(kept):
            return kept
    bundled = str(vl_convert.javascript_bundle(GLOBALS, vl_version=VEGA_LITE))
    # Without it the next page takes longer.
    with suppress(StorageError):
        write_whole(path, f"{_digest(bundled)}\n{bundled}".encode())
    return bundled


def kept_at() -> Path:
    """The file of the script, after a line with its hash."""
    return platformdirs.user_cache_path("pytest-dlbench") / "vega" / f"{version('vl-convert-python')}-{VEGA_LITE}.js"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
