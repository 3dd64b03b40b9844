"""How long frameworks take: the ratio of each case, then what that says in general, and what makes it unfair."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.frameworks import FrameworkRatio, Ranking, compare_frameworks, of_runs, rank
from pytest_dlbench.judging.outcomes import is_sound
from pytest_dlbench.reporting import sentences
from pytest_dlbench.reporting.tables import Row

METRIC = METRICS["step_time"]
# In percentage points, the gate's tolerance for accuracy.
ACCURACY_POINTS = 1.0
# More frameworks have too many pairs to read: 24 have 276.
MOST_FRAMEWORKS = 4
# Further cells are on the page.
MOST_CELLS = 12

Cells = Mapping[tuple[str, str], Row]
"""The cases of one framework by model and data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Frameworks that ran under the same conditions."""

    conditions: str
    cells: Mapping[str, Cells]


def lines(rows: Iterable[Row]) -> list[str]:
    """A sentence per cell, then a line per pair of frameworks that share data sets.

    If a pair is ranked, what differs between the two follows.
    """
    return [line for field in _fields(rows) for line in (*_cells(field), *_compared(field))]


def _fields(rows: Iterable[Row]) -> Iterator[Field]:
    found: dict[str, dict[str, dict[tuple[str, str], Row]]] = {}
    for row in rows:
        result, case = row.result, row.result.case
        if METRIC.name in result.figures and is_sound(result) and not result.pairing:
            settings = [f"{name} {value}" for name, value in case.settings.items()]
            settings += [f"{case.workers} workers"] if case.workers > 1 else []
            conditions = ", ".join([case.device, f"{case.threads} threads", f"scale {case.scale}", *settings])
            found.setdefault(conditions, {}).setdefault(case.framework, {})[case.model, case.dataset] = row
    return (Field(conditions=name, cells=cells) for name, cells in found.items() if len(cells) > 1)


def _cells(field: Field) -> Iterator[str]:
    """The statement: each cell by itself, with intervals from its runs."""
    cells = dict.fromkeys(cell for found in field.cells.values() for cell in found)
    rivals = {cell: {name: found[cell] for name, found in field.cells.items() if cell in found} for cell in cells}
    several = {cell: of_cell for cell, of_cell in rivals.items() if len(of_cell) > 1}
    if several:
        yield f"frameworks on {field.conditions}, cell by cell, with 90 % intervals"
    for cell, of_cell in list(several.items())[:MOST_CELLS]:
        yield f"  {_listed([cell])}: {_sentence(of_cell)}"
    if len(several) > MOST_CELLS:
        yield f"  and {len(several) - MOST_CELLS} more cells: dlbench report shows all"


def _sentence(rows: Mapping[str, Row]) -> str:
    times = {name: _seconds(row) for name, row in rows.items()}
    quickest, *others = sorted(times, key=lambda name: median(times[name]))
    found = [(name, of_runs(METRIC, times[name], times[quickest])) for name in others]
    return sentences.of_frameworks(quickest, found, sentences.TIMED[METRIC.name])


def _seconds(row: Row) -> Sequence[float]:
    """The times of the runs, or their median where only that is known."""
    return row.values.get(METRIC.name) or (row.result.figures[METRIC.name],)


def _compared(field: Field) -> Iterator[str]:
    """In general: over data sets."""
    times = _times(field.cells)
    shared = [ratio for ratio in compare_frameworks(times) if ratio.datasets]
    if not shared:
        return
    several = [ratio for ratio in shared if ratio.datasets > 1]
    if not several:
        return
    yield f"in general, on {field.conditions}: geometric means over data sets"
    shown = several if len(times) <= MOST_FRAMEWORKS else _adjacent(several, times)
    for ratio in shown:
        yield f"  {_claim(ratio, times)}"
        if _is_claimed(ratio):
            pair = (field.cells[ratio.framework], field.cells[ratio.other])
            yield from (f"    {line}" for line in _differences((ratio.framework, ratio.other), pair))
    if len(shown) < len(several):
        yield f"  not shown: {len(several) - len(shown)} pairs of frameworks that are not adjacent in speed"
    if ranking := rank(times):
        yield f"  {_ranks(ranking)}"


def _adjacent(ratios: Sequence[FrameworkRatio], times: Mapping[str, Mapping[str, float]]) -> list[FrameworkRatio]:
    """The pairs of frameworks that are adjacent when sorted by their times."""
    known = [name for name, of in times.items() if of]
    place = {name: number for number, name in enumerate(sorted(known, key=lambda n: geometric_mean(times[n].values())))}
    near = [ratio for ratio in ratios if abs(place[ratio.framework] - place[ratio.other]) == 1]
    return sorted(near, key=lambda ratio: min(place[ratio.framework], place[ratio.other]))


def _times(cells: Mapping[str, Cells]) -> dict[str, dict[str, float]]:
    """Step times by framework and data set, over the models that all frameworks trained on it: data sets count once."""
    datasets = sorted({dataset for found in cells.values() for _, dataset in found})
    times: dict[str, dict[str, float]] = {framework: {} for framework in cells}
    for dataset in datasets:
        models = {name: {model for model, of in found if of == dataset} for name, found in cells.items()}
        trained = {name: known for name, known in models.items() if known}
        common = sorted(set.intersection(*trained.values()))
        for name in trained if common else ():
            figures = [cells[name][model, dataset].result.figures[METRIC.name] for model in common]
            times[name][dataset] = geometric_mean(figures)
    return times


def _is_claimed(ratio: FrameworkRatio) -> bool:
    return ratio.is_supported and not ratio.lower <= 1.0 <= ratio.upper


def _claim(ratio: FrameworkRatio, times: Mapping[str, Mapping[str, float]]) -> str:
    interval = f"[{ratio.lower:.3g}, {ratio.upper:.3g}]"
    figures = f"ratio {ratio.ratio:.3g} {interval} over {ratio.datasets} data sets, p {ratio.p_value:.2g}"
    pair = f"{ratio.framework} / {ratio.other}"
    if not _is_claimed(ratio):
        return f"{pair}: {figures}, {_why_open(ratio, times)}"
    faster, slower = (ratio.framework, ratio.other) if ratio.ratio < 1 else (ratio.other, ratio.framework)
    return f"{faster} is faster than {slower}: {pair} has the {figures} (Holm)"


def _why_open(ratio: FrameworkRatio, times: Mapping[str, Mapping[str, float]]) -> str:
    """Why nothing general is claimed, although the cells may differ clearly."""
    one, other = times[ratio.framework], times[ratio.other]
    faster = sum(one[dataset] < other[dataset] for dataset in one.keys() & other.keys())
    if faster in (0, ratio.datasets):
        slower = ratio.other if faster else ratio.framework
        return f"{slower} takes longer on each of them, which are too few to say so of others"
    return f"{ratio.framework} is faster on {faster} of them and slower on {ratio.datasets - faster}"


def _differences(names: Sequence[str], pair: Sequence[Cells]) -> Iterator[str]:
    """What differs between the two frameworks, apart from the time."""
    shared = sorted(pair[0].keys() & pair[1].keys())
    for name, cells in zip(names, pair, strict=True):
        bare = [cell for cell in shared if not cells[cell].result.certificate]
        if bare:
            yield f"{name} is not certified to train the same network as the oracle: {_listed(bare)}"
        disturbed = [cell for cell in shared if cells[cell].result.cautions or cells[cell].result.warnings]
        if disturbed:
            yield f"{name} has warnings, see below: {_listed(disturbed)}"
    for cell in shared:
        one, other = (cells[cell].result.figures.get("accuracy") for cells in pair)
        if one is not None and other is not None and 100 * abs(one - other) > ACCURACY_POINTS:
            yield f"accuracy differs on {_listed([cell])}: {names[0]} {100 * one:.2f} %, {names[1]} {100 * other:.2f} %"
    for cell in shared:
        steps = [cells[cell].result.steps for cells in pair]
        if steps[0] != steps[1]:
            yield f"steps differ on {_listed([cell])}: {names[0]} {steps[0]}, {names[1]} {steps[1]}"


def _listed(cells: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{model} on {dataset}" for model, dataset in cells)


def _ranks(ranking: Ranking) -> str:
    ordered = sorted(ranking.mean_ranks.items(), key=lambda item: item[1])
    ranks = ", ".join(f"{name} {mean:.2f}" for name, mean in ordered)
    return (
        f"mean ranks over {ranking.datasets} data sets: {ranks}; Friedman p {ranking.p_value:.2g}, differences"
        f" below {ranking.critical_difference:.2f} are not significant (Nemenyi)"
    )
