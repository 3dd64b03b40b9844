"""The order of the workers' tests, and which of them share a process of pytest-xdist."""

from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from tests.worker.theano_compiler import ON_THEANO


# With --dist loadgroup a module's tests of one framework run in one process, and start its worker once. Theano compiles
# under a lock of its folder: two processes are no faster than one, so these tests share one process, which starts
# first. pytest-xdist reads the groups in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if framework := _framework(item):
            group = "theano" if framework in ON_THEANO else f"{item.path.stem}-{framework}"
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _framework(item) not in ON_THEANO)


def _framework(item: pytest.Item) -> str | None:
    """The framework among the parameters of a test in this folder."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or Path(__file__).parent not in item.path.parents:
        return None
    return next((name for name in callspec.params.values() if isinstance(name, str) and name in FRAMEWORKS), None)
