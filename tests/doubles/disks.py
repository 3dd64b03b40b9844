"""Disks that refuse to be written to: commands that run another command there."""

import sys

# Root may write to read-only folders as well, unless it gives up the right to (CAP_DAC_OVERRIDE).
_READ_ONLY_COUNTS = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_FULL = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def where_read_only_counts(*command: str) -> list[str]:
    """The command without the right of root to write to read-only folders."""
    return [sys.executable, "-c", _READ_ONLY_COUNTS, *command]


def with_files_up_to(size: int, *command: str) -> list[str]:
    """The command where no file can be larger than this, as if the disk were full then."""
    return [sys.executable, "-c", _FULL, str(size), *command]
