"""The order of the workers' tests."""

from pathlib import Path

import pytest

from tests.worker.theano_compiler import ON_THEANO


# Theano compiles under a lock of its folder: two processes at it are no quicker than one, and these share it.
# With two processes of pytest-xdist that take each other's work from the end (worksteal), the first one has these, and
# the second one everything else.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not _is_behind_the_lock(item))


def _is_behind_the_lock(item: pytest.Item) -> bool:
    if Path(__file__).parent not in item.path.parents:
        return False
    callspec = getattr(item, "callspec", None)
    return callspec is not None and any(name in ON_THEANO for name in map(str, callspec.params.values()))
