"""What all tests share."""

from collections.abc import Iterator

import pytest

from pytest_dlbench.running import lock_folder


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests wait neither for measurements on this machine nor for tests of other checkouts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(lock_folder.VARIABLE, str(tmp_path_factory.mktemp("locks") / "locks"))
        yield


# Slow, and run by itself: pytest tests/campaign.
collect_ignore = ["campaign"]
