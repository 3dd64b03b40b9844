"""Commands that train, on a machine whose speed is known."""

import pytest

from pytest_dlbench.workflows import validity
from tests.doubles.speed import known


@pytest.fixture(autouse=True)
def known_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "machine_speed", known)
