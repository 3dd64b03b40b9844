"""A plugin for inner sessions: the machine's speed is known. Measuring it takes a second of all processors."""

import pytest

from pytest_dlbench.records import MachineSpeed
from pytest_dlbench.workflows import validity


def known(threads: int, precision: str) -> MachineSpeed:
    """What a machine with two processors might have."""
    return MachineSpeed(
        threads=threads, precision=precision, flops_per_second=2e11, copied_bytes_per_second=1e10, launch_seconds=1e-6
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """For this session."""
    patch = pytest.MonkeyPatch()
    patch.setattr(validity, "machine_speed", known)
    config.add_cleanup(patch.undo)
