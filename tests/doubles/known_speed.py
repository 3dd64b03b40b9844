"""A plugin for inner sessions: the machine's speed is known. Measuring it takes a second of all processors.

Only inner sessions import it: pytest warns of plugins that were imported before.
"""

import pytest

from pytest_dlbench.running.hosts import local
from pytest_dlbench.workflows import validity
from tests.doubles.speed import known, known_gpu


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """For this session."""
    patch = pytest.MonkeyPatch()
    patch.setattr(local, "machine_speed", known)
    patch.setattr(validity, "gpu_speed", known_gpu)
    config.add_cleanup(patch.undo)
