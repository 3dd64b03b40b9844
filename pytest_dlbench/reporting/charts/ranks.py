"""Mean ranks of frameworks over many workloads, and the critical difference."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.judging.frameworks import ALPHA, RANKED_DATASETS, Ranking, rank
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.frameworks import groups, step_seconds
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "ranks", "Ranks over all workloads"
LEAD = (
    "Each framework's mean rank by the time of a step, 1 for the fastest, with half a critical difference to either"
    " side: frameworks whose lines overlap do not differ significantly (Nemenyi, 5 %). All workloads are of one machine"
    " and one scale: other processors and other sizes of batches give other ranks."
)
COLUMNS = {
    "device": "device",
    "framework": "framework",
    "rank": "mean rank",
    "lower": "from",
    "upper": "to",
    "difference": "critical difference",
    "workloads": "workloads",
    "p_value": "p (Friedman)",
}
Times = Mapping[str, Mapping[str, float]]


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Mean ranks by device; a workload is a network with its data set, and counts once."""
    devices = dict.fromkeys(case.case.device for case in cases)
    ranked = {device: found for device in devices if (found := rank(_times(cases, device)))}
    if not ranked:
        because = f"ranks need three frameworks with {RANKED_DATASETS} or more workloads"
        return Nothing(name=NAME, title=TITLE, because=because)
    rows = tuple(row for device, found in ranked.items() for row in _rows(device, found))
    notes = tuple(_note(device, found, conditions(cases, device)) for device, found in ranked.items())
    return Chart(
        name=NAME,
        title=TITLE,
        lead=LEAD,
        columns=COLUMNS,
        rows=rows,
        notes=notes,
        picture=_picture(cases),
        choose="device",
    )


def workloads(cases: Sequence[Measured], device: str) -> Mapping[str, Mapping[str, Measured]]:
    """The cases on a device by framework and workload, of frameworks with enough workloads.

    All are of one machine, scale and number of threads, those with the most such frameworks: ratios between frameworks
    depend on all three. Of several sessions or settings of a workload only the one with most frameworks counts:
    counting a workload twice would overstate the evidence.
    """
    chosen: dict[tuple[str, str, int, int], dict[str, Mapping[str, Measured]]] = {}
    for group in groups(cases):
        first = group[0][1]
        case = first.case
        if case.device == device:
            label, *_ = case.id.partition(f"-{case.framework}-")
            workload = f"{label} {case.model} {case.dataset}"
            members = {member.case.framework: member for _, member in group}
            of_kind = chosen.setdefault((first.context.machine.name, case.scale, case.threads, case.workers), {})
            of_kind[workload] = max(of_kind.get(workload, {}), members, key=len)
    ranked = [_of_enough(of_kind) for of_kind in chosen.values()]
    return max(ranked, key=lambda found: (len(found), sum(map(len, found.values()))), default={})


def _of_enough(chosen: Mapping[str, Mapping[str, Measured]]) -> Mapping[str, Mapping[str, Measured]]:
    """The same by framework, of those with enough workloads."""
    counts = Counter(framework for members in chosen.values() for framework in members)
    return {
        framework: {workload: members[framework] for workload, members in chosen.items() if framework in members}
        for framework, count in counts.items()
        if count >= RANKED_DATASETS
    }


def conditions(cases: Sequence[Measured], device: str) -> str:
    """Under what the workloads ran: the machine, the number of threads, the scale and the sizes of batches."""
    members = [case for of in workloads(cases, device).values() for case in of.values()]
    if not members:
        return ""
    first, sizes = members[0], sorted({case.context.batch_size for case in members if case.context.batch_size})
    threads = f"{first.case.threads:,} thread{'' if first.case.threads == 1 else 's'}"
    machine = first.context.machine
    on = (machine.cpu_model, threads) if device == "cpu" else machine.gpus[:1]
    ends = " to ".join(f"{size:,}" for size in dict.fromkeys((*sizes[:1], *sizes[-1:])))
    batches = (f"batches of {ends}",) if ends else ()
    return ", ".join((*on, f"scale {first.case.scale}", *batches))


def _times(cases: Sequence[Measured], device: str) -> Times:
    """Seconds of a step by framework and workload."""
    return {
        framework: {workload: median(step_seconds(case)) for workload, case in members.items()}
        for framework, members in workloads(cases, device).items()
    }


def _rows(device: str, found: Ranking) -> Iterator[Row]:
    half = found.critical_difference / 2
    for framework, mean in sorted(found.mean_ranks.items(), key=lambda item: item[1]):
        shared = (found.critical_difference, found.datasets, found.p_value)
        yield (device, framework, mean, mean - half, mean + half, *shared)


def _note(device: str, found: Ranking, ran: str) -> str:
    conclusion = "no difference is significant" if found.p_value >= ALPHA else "some frameworks differ"
    return f"{device} ({ran}): {found.datasets} workloads; Friedman p {found.p_value:.2g}: {conclusion}."


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    title, scale = "mean rank, 1 is the fastest", alt.Scale(zero=False, nice=False, padding=12)
    base = alt.Chart(look.ROWS).encode(y=look.label("framework"), color=look.framework_of_row(cases))
    line = base.mark_rule(strokeWidth=2).encode(x=alt.X("lower:Q", title=title, scale=scale), x2="upper:Q")
    hint = look.hint(("framework:N", "framework"), ("rank:Q", "mean rank"), ("workloads:Q", "workloads"))
    dot = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=alt.X("rank:Q", title=title, scale=scale), tooltip=hint
    )
    return look.specification(alt.layer(line, dot), alt.Step(look.WIDE_ROW))
