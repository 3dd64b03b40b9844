"""What a reader in a hurry must know: a few sentences, each from the figures of a section."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.over_workloads import Comparison
from pytest_dlbench.records.cases import plain_name
from pytest_dlbench.reporting.charts import Measured, frameworks, ranks
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.published import register, verdicts
from pytest_dlbench.reporting.study import conditions, overall, versions, whole
from pytest_dlbench.reporting.study.conditions import many
from pytest_dlbench.reporting.study.document import Paragraph, Section

TITLE = "In short"
# What a framework is chosen by: a metric, what the best one does, and what the others do.
CHOSEN_BY = (
    ("step_time", "takes the shortest step on average", "take {} as long"),
    ("peak_rss", "needs the least memory on average", "need {} as much"),
)

# The same in a word, and how far the last one is from the best.
EXTREMES = {
    "step_time": ("the speed", "the slowest takes {} times as long for a step as the fastest"),
    "peak_rss": ("the memory", "the largest needs {} times as much memory as the smallest"),
}


def section(
    cases: Sequence[Measured],
    alone: Sequence[Measured],
    found: Sequence[register.Verdict],
    baselines: Sequence[Measured] = (),
) -> Section:
    """The extent of the study and its results; those ``alone`` did not run in pairs, others did with ``baselines``."""
    timed = list(filter(whole.has_steady_cores, alone))
    ranked = tuple(_compared(timed)) or tuple(_winners(timed))
    lines = (*ranked, *whole.reached(alone), *versions.summaries(cases), _first_capital(verdicts.summary(found)))
    choice = " ".join((*_matters(timed), *_accuracy(alone)))
    return Section(
        title=TITLE,
        blocks=(
            *([Paragraph(text=choice)] if choice else []),
            Paragraph(text=_extent(conditions.extent(cases, baselines), alone), items=lines),
        ),
    )


def _matters(cases: Sequence[Measured]) -> Iterator[str]:
    """How far the last framework is from the best one over all workloads, in what the workloads show to differ."""
    for device in dict.fromkeys(case.case.device for case in cases):
        compared = {name: overall.comparisons(METRICS[name], cases, device) for name in EXTREMES}
        shown = {name: found for name, found in compared.items() if found and found[-1].is_supported}
        if shown:
            count = many(max(map(len, shown.values())) + 1, "framework")
            ends = (EXTREMES[name][1].format(significant(of[-1].change.estimate)) for name, of in shown.items())
            what = " and ".join(EXTREMES[name][0] for name in shown)
            where = f"On {device} ({ranks.conditions(cases, device)})"
            yield f"{where}, the choice of a framework decides {what}: of {count}, on average, {', and '.join(ends)}."


def _accuracy(cases: Sequence[Measured]) -> Iterator[str]:
    """Whether the accuracy depends on it, where that was tested."""
    tested = whole.with_same_seeds(cases)
    networks = many(len({model for model, _ in tested}), "network")
    differing = len({model for (model, _), one in tested.items() if one.is_different})
    trained = "when all train the whole recipe from the same weights, on the same data in the same order"
    if differing:
        yield f"On {differing:,} of {networks}, accuracies of frameworks differ by more than chance {trained}."
    elif tested:
        (model, dataset), widest = max(tested.items(), key=lambda item: item[1].of_frameworks)
        yield (
            f"No difference in accuracy was found: on {networks}, frameworks differ by no more than chance {trained}."
            f" Only large differences would have been found on {model} ({dataset}), where accuracies with the same seed"
            f" have a standard deviation of {widest.of_frameworks:.1f} pp over frameworks."
        )


def _first_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _extent(extent: conditions.Extent, alone: Sequence[Measured]) -> str:
    trained = (
        f"{_frameworks(extent)} trained {many(len(extent.models), 'network')} on"
        f" {many(len(extent.datasets), 'data set')}, in {many(extent.runs, 'run')} with"
        f" {many(len(extent.seeds), 'seed')}, at scale {', '.join(extent.scales)}."
    )
    short = (
        f" In {extent.shortened:,} of {many(extent.cases, 'case')} the training is shorter than its recipe: these show"
        " how long steps take here, and not how accurate the networks become."
        if extent.shortened
        else ""
    )
    disturbed = (
        f" The machine was busy with other work in {extent.disturbed:,} of {many(extent.runs, 'run')}."
        if extent.disturbed
        else ""
    )
    certified = sum(case.result.certificate is not None for case in alone)
    alike = (
        f" {certified:,} of {many(len(alone), 'case')} outside of pairs have a certificate that the framework trained"
        " the same network as the reference."
        if certified
        else ""
    )
    return trained + short + alike + disturbed


def _frameworks(extent: conditions.Extent) -> str:
    """How many there are, and how many with the versions and environments that were compared."""
    count = many(len(set(map(plain_name, extent.frameworks))), "framework")
    versions = f" in {len(extent.frameworks):,} versions"
    return count + (versions if count != many(len(extent.frameworks), "framework") else "")


def _compared(cases: Sequence[Measured]) -> Iterator[str]:
    """Which framework is the best one over all workloads, by how much, and of which others that is shown."""
    for device in dict.fromkeys(case.case.device for case in cases):
        for name, best, others in CHOSEN_BY:
            if found := overall.comparisons(METRICS[name], cases, device):
                where = _where(found, device, ranks.conditions(cases, device))
                yield f"{where}, {found[0].best} {best}; {_others(found, others)}{_shown(found)}"


def _where(found: Sequence[Comparison], device: str, ran: str) -> str:
    workloads = many(found[0].workloads, "network")
    return f"On {device} ({ran}), over {workloads} that {many(len(found) + 1, 'framework')} trained"


def _others(found: Sequence[Comparison], verb: str) -> str:
    """From which factor to which the others are worse."""
    ends = [f"{significant(one.change.estimate)} times ({one.framework})" for one in (found[0], found[-1])]
    if len(found) == 1:
        return f"{found[0].framework} " + verb.format(f"{significant(found[0].change.estimate)} times")
    return "the others " + verb.format(" to ".join(ends))


def _shown(found: Sequence[Comparison]) -> str:
    unsure = [one.framework for one in found if not one.is_supported]
    if not unsure:
        return ""
    if len(unsure) == len(found):
        return "; so few networks do not show in general that it is better than any other"
    return f"; for {', '.join(unsure)}, so few networks do not show that this holds in general"


def _winners(cases: Sequence[Measured]) -> Iterator[str]:
    """Where frameworks share too few workloads: how often each is the fastest, and how often that is clear."""
    fastest: Counter[str] = Counter()
    clearly: Counter[str] = Counter()
    for group in frameworks.groups(cases):
        (_, first), *others = frameworks.ranked(group)
        fastest[first.case.framework] += 1
        clearly[first.case.framework] += all(frameworks.ratio(case, first).lower > 1 for _, case in others)
    total = fastest.total()
    for name, count in sorted(fastest.items(), key=lambda item: (-item[1], item[0])):
        yield (
            f"{name} has the shortest step in {count:,} of {many(total, 'cell')}, in {clearly[name]:,} of them by more"
            " than its 90 % interval"
        )
