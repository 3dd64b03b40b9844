"""Cells that a gate must not skip: one that has a baseline is a case even where something that it needs is absent."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.model import Purpose
from pytest_dlbench.options import Options
from pytest_dlbench.options.parsers import LOCAL
from pytest_dlbench.planning.matrix import AXES, Cell
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.storing import BaselineStore

if TYPE_CHECKING:
    from pytest_dlbench.planning.plan import RunSettings


def guards(asked: Options) -> bool:
    """Whether no case may be skipped. The machine class of a host that is not leased yet is not known."""
    return asked.compare and CaseOutcome.SKIPPED not in asked.allow and asked.on == LOCAL


def guarded(
    cells: Iterable[Cell],
    axes: Sequence[str],
    points: "Sequence[Callable[[RunSettings], RunSettings]]",
    purpose: Purpose,
    asked: Options,
) -> set[str]:
    """The ids of the cells that have a baseline of this machine class at one of the points that the settings have.

    Only cells of all axes name a case: what a test fills in itself is not known before it runs.
    """
    if tuple(axes) != AXES:
        return set()
    # Late: every collection would wait for psutil.
    from pytest_dlbench.options import settings  # noqa: PLC0415
    from pytest_dlbench.running.progress import Silent  # noqa: PLC0415

    store = BaselineStore(folder=asked.baselines)
    common = settings.run_settings(asked, settings.hosts(asked), Silent())
    found = set()
    for cell in cells:
        framework, model, dataset, device = cell.values
        where = cast("Framework", framework), (model.name, dataset.name), cast("Device", device)
        cases = [point(common).case(purpose, *where, ()) for point in points]
        if any(store.path(case, common.machine).is_file() for case in cases):
            found.add(cell.id)
    return found
