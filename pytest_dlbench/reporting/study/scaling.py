"""How much faster more threads or more workers are: each framework against its fewest in the same session."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting import cautions, foreign
from pytest_dlbench.reporting.charts import Measured, speedup
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study.document import Paragraph, Table

Count = Callable[[Measured], int]
Workload = Callable[[Measured], str]

MARK = "†"
MARKED = (
    "{mark} The case, or the one with the fewest {name}, has a warning that its figures may mislead, listed in the"
    ' section "Threats to validity".'
)
# Said where a case is more than perfect.
TOO_LARGE = (
    " What slows only the one with the fewest makes the speed-up too large: an efficiency above 100 % may have no other"
    " cause."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """The speed-up of a case over the one with the fewest, and its efficiency in percent."""

    case: Measured
    speedup: Interval
    efficiency: float
    has_warnings: bool


def blocks(cases: Sequence[Measured], name: str, count: Count, workload: Workload) -> tuple[Table | Paragraph, ...]:
    """A row for each case that has more than the fewest, and what its mark means, if a row has one.

    ``name`` is what is counted, ``workload`` is without it.
    """
    headings = ("cell", "framework", name, "speed-up, 90 % interval", "efficiency")
    found = list(_gains(cases, count, workload))
    rows = tuple(_row(gain, count, workload) for gain in found)
    caption = f"Samples per second over those of the fewest {name}"
    table = Table(caption=caption, headings=headings, rows=rows, texts=2)
    marked = [gain for gain in found if gain.has_warnings]
    if not marked:
        return (table,)
    more = TOO_LARGE if any(gain.efficiency > 100 for gain in marked) else ""
    return table, Paragraph(text=MARKED.format(mark=MARK, name=name) + more)


def words(cases: Sequence[Measured], name: str, count: Count, workload: Workload) -> dict[str, str]:
    """The speed-ups of the same rows in words, by workload as a chart shows it."""
    found: dict[str, list[str]] = {}
    for gain in _gains(cases, count, workload):
        shown = significant(gain.speedup.estimate)
        text = f"{gain.case.case.framework} with {count(gain.case):,} {name} {shown}"
        found.setdefault(foreign.line(workload(gain.case)), []).append(text)
    return {key: f"speed-up of {'; '.join(texts)}" for key, texts in found.items()}


def _gains(cases: Sequence[Measured], count: Count, workload: Workload) -> Iterator[Gain]:
    for group in _groups(cases, workload):
        fewest, *others = sorted(group, key=count)
        yield from (_gain(case, fewest, count) for case in others if count(case) > count(fewest))


def _groups(cases: Sequence[Measured], workload: Workload) -> Iterator[Sequence[Measured]]:
    """The valid cases of a framework in a session and a workload."""
    found: dict[tuple[str, str, str], list[Measured]] = {}
    for case in cases:
        if case.sound:
            found.setdefault((case.session, workload(case), case.case.framework), []).append(case)
    yield from found.values()


def _gain(case: Measured, fewest: Measured, count: Count) -> Gain:
    found = speedup.gain(case, fewest)
    return Gain(
        case=case,
        speedup=found,
        efficiency=100 * found.estimate * count(fewest) / count(case),
        has_warnings=any(cautions.warnings(one.result) for one in (case, fewest)),
    )


def _row(gain: Gain, count: Count, workload: Workload) -> tuple[str, ...]:
    found = gain.speedup
    shown = "{} [{}, {}]".format(*map(significant, (found.estimate, found.lower, found.upper)))
    mark = f" {MARK}" if gain.has_warnings else ""
    of_case = (workload(gain.case), gain.case.case.framework, f"{count(gain.case):,}")
    return (*of_case, shown, f"{gain.efficiency:.0f} %{mark}")
