"""A small process next to the driver that ends the driver's workers if the driver is killed.

A worker ends itself with its driver. A worker's children do not, nor can a killed driver end them. The guard holds the
driver's locks on devices as well: they are released only once nothing runs on the device.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_dlbench.sampling import survivors


@contextmanager
def guarded(locks: Sequence[int]) -> Iterator[None]:
    """If this process is killed in the block, so is every process of its runs; ``locks`` are open until then."""
    driver = survivors.driver_id()
    if not driver:
        yield
        return
    # Isolated and without site-packages: it starts in 10 ms. In its own session, which no terminal interrupts.
    command = [sys.executable, "-I", "-S", str(Path(survivors.__file__)), driver]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        pass_fds=tuple(locks),
        cwd="/",
        start_new_session=True,
    ) as guard:
        assert guard.stdin is not None
        try:
            yield
        finally:
            # It may have been killed.
            with suppress(BrokenPipeError):
                guard.stdin.write(survivors.ENDED_WELL)
