"""What tests of whole driver processes share."""

import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from pytest_dlbench.running.waits import Patience, Wait

PATIENCE_SECONDS = 30.0


def _in_use(wait: Wait) -> None:
    pytest.fail(f"the device is held: {wait}")


# Of those for whom the device must be free.
IN_VAIN = Patience(waiting=_in_use)


def wait_for(found: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """The result of ``found`` as soon as it is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := found():
            return result
        time.sleep(0.02)
    raise TimeoutError(f"nothing found within {seconds:g} s")


def is_running(process: psutil.Process) -> bool:
    """Whether a process has not ended; a zombie has."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
