"""Frameworks over all workloads, metric by metric, and what the test of one of the studies can say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite

from pytest_dlbench.judging import METRICS, Metric, shown_in
from pytest_dlbench.judging.frameworks import ALPHA, RANKED_DATASETS, holm
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.judging.over_workloads import Comparison, Runs, compare, least_signed_rank, signed_rank
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import Measured, frameworks, ranks
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study.conditions import is_shortened
from pytest_dlbench.reporting.study.document import Lacking, Paragraph, Section, Table

TITLE = "Frameworks over all workloads"
LEAD = (
    "Each framework against the one that is best on average, over the workloads of the ranks. The size of the"
    " difference comes first: the geometric mean of the ratios (of accuracies, the mean difference) with the 95 %"
    " interval of Student's t over workloads, then with that of a hierarchical bootstrap, which draws workloads and"
    " the runs of each, and is too narrow with few workloads. P-values are corrected for all pairs of frameworks"
    " (Holm), intervals are not: one that excludes 1 may belong to a difference that is not shown in general. The"
    " corrected t-test decides what is shown. It uses how large differences are and how much they vary, which ranks do"
    " not, so that the two may single out different frameworks. Wilcoxon's test is added because a study used it; its"
    " heading has the smallest p-value that it can give."
)
OF_RUNS = (
    "The tartu study compares five runs of two frameworks by Wilcoxon's signed-rank test. With five pairs, its p-value"
    f" is at least {least_signed_rank(5):g}, however different they are. The same test on the runs here, paired"
    " by their seeds, next to what intervals show of the same runs:"
)
UNKNOWN = "–"
# Smaller p-values differ in nothing that a reader could use.
LEAST_SHOWN = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Two frameworks in a cell: the seeds that both have, Wilcoxon's p-value, and whether their interval excludes 1."""

    seeds: int
    p_value: float
    differs: bool


def section(cases: Sequence[Measured]) -> Section | Lacking:
    """A table for each device and metric, and one of the tests over runs."""
    devices = dict.fromkeys(case.case.device for case in cases)
    tables = [table for device in devices for table in _tables(cases, device)]
    if not tables:
        because = f"two frameworks with {RANKED_DATASETS} workloads in common are needed"
        command = "pytest bench -m training --dlbench-scale smoke --dlbench-runs 5 --dlbench-models all"
        return Lacking(title=TITLE, because=because, command=command)
    return Section(title=TITLE, blocks=(Paragraph(text=LEAD), *tables, Paragraph(text=OF_RUNS), _over_runs(cases)))


def comparisons(metric: Metric, cases: Sequence[Measured], device: str) -> tuple[Comparison, ...]:
    """Every framework but the best one on a device, best first; none if too few workloads have the metric."""
    found = compare(metric, _runs(metric, ranks.workloads(cases, device)))
    return found if found and found[0].workloads >= RANKED_DATASETS else ()


def _tables(cases: Sequence[Measured], device: str) -> Iterator[Table]:
    """One for each metric that enough workloads of two frameworks have."""
    for metric in _metrics():
        if found := comparisons(metric, cases, device):
            yield _table(metric, found, device)


def _metrics() -> Iterator[Metric]:
    yield METRICS["step_time"]
    yield from shown_in("study", METRICS)


def _runs(metric: Metric, members: Mapping[str, Mapping[str, Measured]]) -> Runs:
    """The figures of all valid runs, of the workloads in which each of them has one."""
    return {name: dict(_of_framework(metric, of)) for name, of in members.items()}


def _of_framework(metric: Metric, members: Mapping[str, Measured]) -> Iterator[tuple[str, Sequence[float]]]:
    for workload, case in members.items():
        values = metric.values(case.sound)
        has_all = len(values) == len(case.sound) and not (metric.needs_whole_recipe and is_shortened(case))
        if has_all and (metric.kind == "points" or min(values) > 0):
            yield workload, values


def _table(metric: Metric, found: Sequence[Comparison], device: str) -> Table:
    first, name = found[0], figures.subject(metric)
    least = p_value(least_signed_rank(first.workloads, first.pairs))
    headings = (
        "framework",
        f"{name} / that of {first.best}" if metric.kind == "ratio" else f"{name} − that of {first.best}",
        "bootstrap",
        "worse in",
        "p, t-test",
        f"p, Wilcoxon (at least {least})",
        "in general",
    )
    rows = tuple(_row(metric, one) for one in found)
    caption = f"Over all workloads on {device}: {name}, {first.workloads} workloads"
    return Table(caption=caption, headings=headings, rows=rows, texts=1)


def _row(metric: Metric, one: Comparison) -> tuple[str, ...]:
    return (
        one.framework,
        _interval(metric, one.change),
        _interval(metric, one.resampled),
        f"{one.worse} of {one.workloads}",
        p_value(one.p_value),
        p_value(one.signed_rank),
        "worse" if one.is_supported else "not shown",
    )


def _interval(metric: Metric, found: Interval) -> str:
    unit = " pp" if metric.kind == "points" else ""
    bounds = (found.lower, found.upper)
    shown = f"[{significant(bounds[0])}, {significant(bounds[1])}]" if all(map(isfinite, bounds)) else f"[{UNKNOWN}]"
    return f"{significant(found.estimate)}{unit} {shown}"


def p_value(value: float) -> str:
    """A p-value as the study shows it."""
    return significant(value, 2) if value >= LEAST_SHOWN else f"below {LEAST_SHOWN:g}"


def _over_runs(cases: Sequence[Measured]) -> Table:
    headings = ("cell", "pairs of frameworks", "runs", "least p, corrected", "found p", "differ by it", "by intervals")
    # A test over one pair of runs could find nothing.
    groups = (group for group in frameworks.groups(cases) if max(len(case.sound) for _, case in group) > 1)
    rows = tuple(map(_tested, groups))
    return Table(caption="Wilcoxon's signed-rank test over runs, and intervals", headings=headings, rows=rows, texts=1)


def _tested(group: Sequence[tuple[int, Measured]]) -> tuple[str, ...]:
    found = [_test(one, other) for (_, one), (_, other) in combinations(group, 2)]
    corrected = holm([one.p_value for one in found])
    seeds = [one.seeds for one in found]
    return (
        group[0][1].cell,
        f"{len(found):,}",
        f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else str(min(seeds)),
        p_value(least_signed_rank(max(seeds), len(found))),
        p_value(min(corrected)),
        f"{sum(value < ALPHA for value in corrected):,}",
        f"{sum(one.differs for one in found):,}",
    )


def _test(one: Measured, other: Measured) -> Tested:
    of_one, of_other = (_by_seed(case) for case in (one, other))
    shared = sorted(of_one.keys() & of_other.keys())
    interval = frameworks.ratio(one, other)
    return Tested(
        seeds=len(shared),
        p_value=signed_rank([of_one[seed] - of_other[seed] for seed in shared]),
        differs=not interval.lower <= 1 <= interval.upper,
    )


def _by_seed(case: Measured) -> Mapping[int, float]:
    metric = frameworks.judged_metric(case)
    return {run.seed: metric.figure(run) for run in case.sound}
