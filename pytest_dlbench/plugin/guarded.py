"""Cells that a gate must not skip: one that has a baseline is a case even where something that it needs is absent."""

from collections.abc import Collection, Iterator, Sequence

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.options import Options
from pytest_dlbench.options.parsers import LOCAL
from pytest_dlbench.planning.matrix import Cell
from pytest_dlbench.records import Case, CaseOutcome
from pytest_dlbench.storing.baselines import read_file
from pytest_dlbench.storing.files import folder_name


def guarded(found: Collection[Cell], axes: Sequence[str], asked: Options) -> set[str]:
    """The ids of those cells, with values on these axes, that have a baseline of this machine class and scale.

    None unless the session is a gate that allows no case to be skipped.
    """
    # The machine class of a host that is not leased yet is not known.
    if not found or not asked.compare or CaseOutcome.SKIPPED in asked.allow or asked.on != LOCAL:
        return set()
    known = {tuple(getattr(case, axis) for axis in axes) for case in _cases(asked)}
    return {cell.id for cell in found if tuple(value.name for value in cell.values) in known}


def _cases(asked: Options) -> Iterator[Case]:
    # Late: every collection would wait for psutil.
    from pytest_dlbench.options import settings  # noqa: PLC0415

    folder = asked.baselines / folder_name(settings.hosts(asked).machine.name)
    for path in sorted(folder.glob("*.json")):
        try:
            case = read_file(path).case
        except FileFormatError:
            # The case that it belongs to reports it.
            continue
        if case.scale == asked.scale:
            yield case
