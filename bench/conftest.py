"""The values that this suite gives the axes, and which of its cases run by default, in which order."""

import pytest

from .fixtures import golden_losses, selection
from .fixtures.dataset import dataset
from .fixtures.device import device
from .fixtures.framework import framework
from .fixtures.model import model
from .fixtures.recipe import recipe

__all__ = ["dataset", "device", "framework", "model", "recipe"]


# First, so that -m and -k select among what the suite has.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only what is asked for, the quickest figures first."""
    selection.deselect(config, items, [item for item in selection.own(items) if not selection.is_asked(config, item)])
    selection.deselect(config, items, [item for item in selection.own(items) if not golden_losses.has_some(item)])
    selection.note(config, items)
    items.sort(key=selection.position)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Which frameworks and models were collected by default."""
    return selection.report(config, items)
