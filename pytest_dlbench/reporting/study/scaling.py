"""How much faster more threads or more workers are: each framework against its fewest in the same session."""

from collections.abc import Callable, Iterator, Sequence

from pytest_dlbench.reporting.charts import Measured, speedup
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study.document import Table


def table(
    cases: Sequence[Measured], name: str, count: Callable[[Measured], int], workload: Callable[[Measured], str]
) -> Table:
    """A row for each case that has more than the fewest; ``name`` is what is counted, ``workload`` is without it."""
    headings = ("cell", "framework", name, "speed-up, 90 % interval", "efficiency")
    rows = tuple(row for group in _groups(cases, workload) for row in _rows(group, count, workload))
    return Table(caption=f"Samples per second over those of the fewest {name}", headings=headings, rows=rows, texts=2)


def _groups(cases: Sequence[Measured], workload: Callable[[Measured], str]) -> Iterator[Sequence[Measured]]:
    """The valid cases of a framework in a session and a workload."""
    found: dict[tuple[str, str, str], list[Measured]] = {}
    for case in cases:
        if case.sound:
            found.setdefault((case.session, workload(case), case.case.framework), []).append(case)
    yield from found.values()


def _rows(
    group: Sequence[Measured], count: Callable[[Measured], int], workload: Callable[[Measured], str]
) -> Iterator[tuple[str, ...]]:
    fewest, *others = sorted(group, key=count)
    for case in others:
        if count(case) > count(fewest):
            found = speedup.gain(case, fewest)
            shown = (significant(value) for value in (found.estimate, found.lower, found.upper))
            efficiency = 100 * found.estimate * count(fewest) / count(case)
            gain = "{} [{}, {}]".format(*shown)
            yield (workload(case), case.case.framework, f"{count(case):,}", gain, f"{efficiency:.0f} %")
