"""The order of the workers' tests."""

from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from tests.worker.theano_compiler import ON_THEANO

FOLDERS = {Path(__file__).parent, Path(__file__).parents[1] / "equivalence"}


# With --dist worksteal each process of pytest-xdist begins with a contiguous part. Theano compiles under a lock of its
# folder, so that two processes are no faster than one: these tests come first, and one process has them all. The tests
# of a module follow each other framework by framework, so that a framework's worker starts once.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(key=lambda item: (_framework(item) not in ON_THEANO, places[item.path], _framework(item)))


def _framework(item: pytest.Item) -> str:
    """The framework among the parameters of a test in FOLDERS; empty if there is none."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or not FOLDERS & {*item.path.parents}:
        return ""
    return next((name for name in callspec.params.values() if isinstance(name, str) and name in FRAMEWORKS), "")
