"""Which framework is faster, stated only if the figures support it, with what makes the comparison unfair."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from pytest_dlbench.judging.frameworks import FrameworkRatio, Ranking, compare_frameworks, rank
from pytest_dlbench.judging.outcomes import is_sound
from pytest_dlbench.records import CaseResult

METRIC = "step_time_median"
# In percentage points, the gate's tolerance for accuracy.
ACCURACY_POINTS = 1.0
# More frameworks have too many pairs to read: 24 have 276.
MOST_FRAMEWORKS = 4

Cells = Mapping[tuple[str, str], CaseResult]
"""The cases of one framework by model and data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Frameworks that ran under the same conditions."""

    conditions: str
    cells: Mapping[str, Cells]


def lines(results: Iterable[CaseResult]) -> list[str]:
    """A line per pair of frameworks that share data sets; if a pair is ranked, what differs between them follows."""
    return [line for field in _fields(results) for line in _compared(field)]


def _fields(results: Iterable[CaseResult]) -> Iterator[Field]:
    found: dict[str, dict[str, dict[tuple[str, str], CaseResult]]] = {}
    for result in results:
        case = result.case
        if METRIC in result.figures and is_sound(result) and not result.pairing:
            settings = [f"{name} {value}" for name, value in case.settings.items()]
            conditions = ", ".join([case.device, f"{case.threads} threads", f"scale {case.scale}", *settings])
            found.setdefault(conditions, {}).setdefault(case.framework, {})[case.model, case.dataset] = result
    return (Field(conditions=name, cells=cells) for name, cells in found.items() if len(cells) > 1)


def _compared(field: Field) -> Iterator[str]:
    times = _times(field.cells)
    shared = [ratio for ratio in compare_frameworks(times) if ratio.datasets]
    if not shared:
        return
    yield f"frameworks on {field.conditions}: time of a step, geometric means over data sets"
    if alone := sum(ratio.datasets == 1 for ratio in shared):
        yield f"  not ranked: {alone} pair{'s' * (alone > 1)} with 1 data set in common, too few to generalize"
    several = [ratio for ratio in shared if ratio.datasets > 1]
    shown = several if len(times) <= MOST_FRAMEWORKS else _adjacent(several, times)
    for ratio in shown:
        yield f"  {_claim(ratio)}"
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
            figures = [cells[name][model, dataset].figures[METRIC] for model in common]
            times[name][dataset] = geometric_mean(figures)
    return times


def _is_claimed(ratio: FrameworkRatio) -> bool:
    return ratio.is_supported and not ratio.lower <= 1.0 <= ratio.upper


def _claim(ratio: FrameworkRatio) -> str:
    interval = f"[{ratio.lower:.3g}, {ratio.upper:.3g}]"
    figures = f"ratio {ratio.ratio:.3g} {interval} over {ratio.datasets} data sets, p {ratio.p_value:.2g}"
    if not _is_claimed(ratio):
        return f"{ratio.framework} and {ratio.other} cannot be distinguished: {figures}"
    faster, slower = (ratio.framework, ratio.other) if ratio.ratio < 1 else (ratio.other, ratio.framework)
    return f"{faster} is faster than {slower}: {ratio.framework} / {ratio.other} has the {figures} (Holm)"


def _differences(names: Sequence[str], pair: Sequence[Cells]) -> Iterator[str]:
    """What differs between the two frameworks, apart from the time."""
    shared = sorted(pair[0].keys() & pair[1].keys())
    for name, cells in zip(names, pair, strict=True):
        bare = [cell for cell in shared if not cells[cell].certificate]
        if bare:
            yield f"{name} is not certified to train the same network as the oracle: {_listed(bare)}"
        disturbed = [cell for cell in shared if cells[cell].cautions or cells[cell].warnings]
        if disturbed:
            yield f"{name} has warnings, see below: {_listed(disturbed)}"
    for cell in shared:
        one, other = (cells[cell].figures.get("accuracy") for cells in pair)
        if one is not None and other is not None and 100 * abs(one - other) > ACCURACY_POINTS:
            yield f"accuracy differs on {_listed([cell])}: {names[0]} {100 * one:.2f} %, {names[1]} {100 * other:.2f} %"
    for cell in shared:
        steps = [cells[cell].steps for cells in pair]
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
