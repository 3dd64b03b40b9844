"""Networks that were trained by their whole recipe on real data: what each framework reaches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean, median

from pytest_dlbench.judging import METRICS, seeds
from pytest_dlbench.judging.comparable import WHOLE
from pytest_dlbench.judging.equivalence import of_framework
from pytest_dlbench.records import CaseOutcome, Run
from pytest_dlbench.records.reasons import Neighbours, UnsteadyCores
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import Measured, frameworks
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study import overall
from pytest_dlbench.reporting.study.conditions import is_shortened, many
from pytest_dlbench.reporting.study.document import Lacking, Paragraph, Section, Table

TITLE = "Whole recipes"
SYNTHETIC = "synthetic"
SESSION = (
    "pytest bench/test_training.py --dlbench-scale full --dlbench-models gatech-lenet --dlbench-datasets fashion-mnist"
    " --dlbench-frameworks all --dlbench-threads 1"
)
LEAD = (
    "All steps of a recipe on real data. Frameworks that train the same network should reach the same accuracy, within"
    " what runs differ by; each accuracy is the mean of the runs, with the lowest and the highest if there are several."
)
BUSY = " (busy)"
BUSY_NOTE = (
    f"Times with{BUSY} are of cases of which other processes, or others on the machine's host, affected at least half"
    " of the runs."
)
# Networks of two convolutions without augmentation, as submitted to the makers of the data:
# github.com/zalandoresearch/fashion-mnist, section Benchmark, which says that they were not verified.
REPORTED = {"fashion-mnist": "Others report 87.6 to 93.2 % for networks of two convolutions without augmentation"}
HEADINGS = ("network, data and device", "framework", "runs", "steps", "accuracy", "step", "training", "peak RSS")
MISSING = (
    f"Of {seeds.LEAST_SEEDS} seeds in each framework that trained it, these are missing,"
    " with the time that they would take:"
)
UNTRAINED = "Frameworks that trained another of these recipes, and have neither trained nor refused this one:"
COVERED = (
    *("network and data", "device and threads", "processor"),
    *("frameworks", "certified", "seeds of each", "runs", "total time"),
)

Cell = tuple[str, str]


def section(cases: Sequence[Measured]) -> Section | Lacking:
    """A sentence for each network and data set, and a table of all cases."""
    found = _of_cells(cases)
    if not found:
        because = f"no network was trained by its whole recipe, at scale {WHOLE}, on real data"
        return Lacking(title=TITLE, because=because, command=SESSION)
    datasets = dict.fromkeys(dataset for _, dataset in found)
    reported = "".join(f" {REPORTED[name]} on {name}." for name in datasets if name in REPORTED)
    lines = tuple(_agreement(cell, members) for cell, members in found.items())
    rows = tuple(_row(case) for members in found.values() for case in members)
    table = Table(caption=TITLE, headings=HEADINGS, rows=rows, texts=2)
    busy = (Paragraph(text=BUSY_NOTE),) if any(map(_was_busy, chain(*found.values()))) else ()
    lead = Paragraph(text=LEAD + reported, items=lines)
    lacking = (*_missing(found), *_untrained(found, cases))
    return Section(title=TITLE, blocks=(lead, _covered(found), *lacking, table, *busy))


def _covered(found: Mapping[Cell, Sequence[Measured]]) -> Table:
    """How many frameworks and seeds each recipe has by number of threads, and how long its runs took together.

    Certified are frameworks of which a certificate says that they train this network on these data as the oracle does.
    """
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for (model, dataset), members in found.items():
        for case in sorted(members, key=lambda case: (case.case.device, case.case.threads, case.case.workers)):
            place = _place(case)
            groups.setdefault((f"{model} · {dataset}", place, case.context.machine.cpu_model), []).append(case)
    rows = tuple((*names, *_counts(members)) for names, members in groups.items())
    return Table(caption="How much of each recipe was run", headings=COVERED, rows=rows, texts=3)


def _missing(found: Mapping[Cell, Sequence[Measured]]) -> Iterator[Paragraph]:
    """The runs that recipes lack, and how long they would take by those that their frameworks have."""
    lines = []
    for (model, dataset), members in found.items():
        of_each = _runs_by_framework(members).values()
        lacking = [(count, of) for of in of_each if (count := seeds.LEAST_SEEDS - _seeds(of)) > 0]
        if lacking:
            runs = many(sum(count for count, _ in lacking), "run")
            seconds = sum(count * median(run.wall_seconds for run in of) for count, of in lacking)
            names = many(len(lacking), "framework")
            lines.append(f"{model} on {dataset}: {runs} of {names}, {figures.duration(seconds)}")
    if lines:
        yield Paragraph(text=MISSING, items=tuple(lines))


def _untrained(found: Mapping[Cell, Sequence[Measured]], cases: Sequence[Measured]) -> Iterator[Paragraph]:
    """The frameworks that did not train a recipe that others trained, without those that do not support it."""
    names_of = {cell: {case.case.framework for case in members} for cell, members in found.items()}
    every = set().union(*names_of.values())
    lines = []
    for (model, dataset), names in names_of.items():
        of_cell = (case for case in cases if (case.case.model, case.case.dataset) == (model, dataset))
        refused = {case.case.framework for case in of_cell if case.result.outcome is CaseOutcome.UNSUPPORTED}
        if lacking := sorted(every - names - refused):
            lines.append(f"{model} on {dataset}: {', '.join(lacking)}")
    if lines:
        yield Paragraph(text=UNTRAINED, items=tuple(lines))


def _runs_by_framework(members: Sequence[Measured]) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {}
    for case in members:
        runs.setdefault(case.case.framework, []).extend(case.sound)
    return runs


def _seeds(runs: Sequence[Run]) -> int:
    return len({run.seed for run in runs})


def _counts(members: Sequence[Measured]) -> tuple[str, ...]:
    runs = _runs_by_framework(members)
    seeds_of = [_seeds(of) for of in runs.values()]
    least, most = min(seeds_of), max(seeds_of)
    every = [run for of in runs.values() for run in of]
    certified = {case.case.framework for case in members if case.result.certificate}
    return (
        f"{len(runs):,}",
        f"{len(certified):,}",
        f"{least}" if least == most else f"{least} to {most}",
        f"{len(every):,}",
        figures.duration(sum(run.wall_seconds for run in every)),
    )


def reached(cases: Sequence[Measured]) -> Iterator[str]:
    """A sentence on the accuracy of each network; none if no recipe was trained whole."""
    for (model, dataset), members in _of_cells(cases).items():
        count = many(len({case.case.framework for case in members}), "framework")
        accuracy = f"{model} reaches an accuracy of {_span(members)} in {count}{_runs_of_each(members)}"
        yield f"Trained by its whole recipe on {dataset}, {accuracy}{_steps(members)}"


def _runs_of_each(members: Sequence[Measured]) -> str:
    """Of how many runs the accuracies are means."""
    least, most = (of(len(case.sound) for case in members) for of in (min, max))
    return f", {f'{least:,} to ' if least < most else ''}{many(most, 'run')} each"


def _steps(members: Sequence[Measured]) -> str:
    """Which framework takes the shortest step and which the longest, on the machine that has most of them.

    Of other machines, and where other processes affected them, times are not compared; of several numbers of threads
    that have as many, those with the fewest are.
    """
    of_kind: dict[tuple[str, str, int, int], list[Measured]] = {}
    for case in members:
        if _was_busy(case):
            continue
        kind = (case.context.machine.name, case.case.device, case.case.threads, case.case.workers)
        of_kind.setdefault(kind, []).append(case)
    most: list[Measured] = min(of_kind.values(), key=lambda of: (-len(of), of[0].case.threads), default=[])
    by_step = sorted(most, key=lambda case: median(frameworks.step_seconds(case)))
    if len(by_step) < 2:
        return ""
    first, last = by_step[0], by_step[-1]
    times = significant(frameworks.ratio(last, first).estimate)
    is_every = len(by_step) == len({case.case.framework for case in members})
    among = "" if is_every else f"of {len(by_step)} with comparable times, "
    longest = f"takes {times} times as long in {last.case.framework}"
    is_of_all = len({case.case.threads for case in members}) == 1
    threads = "" if is_of_all else f"with {many(first.case.threads, 'thread')}, "
    return f"; {among}{threads}a step is shortest in {first.case.framework}, and {longest}"


def _was_busy(case: Measured) -> bool:
    """Whether others, on this machine or its host, affected half of the runs, and so the median of their times."""
    found = (caution for caution in case.result.cautions if isinstance(caution, Neighbours))
    return not has_steady_cores(case) or any(2 * caution.disturbed >= caution.runs for caution in found)


def has_steady_cores(case: Measured) -> bool:
    """Whether the speed of the cores is not known to have varied in half of the runs, by a factor of up to two."""
    found = (caution for caution in case.result.cautions if isinstance(caution, UnsteadyCores))
    return not any(2 * caution.unsteady >= caution.runs for caution in found)


def with_same_seeds(cases: Sequence[Measured]) -> Mapping[Cell, seeds.SharedSeeds]:
    """How far frameworks and seeds are apart, for each network and data set with the same seeds in all frameworks."""
    found = {cell: seeds.compare(_by_seed(members)) for cell, members in _of_cells(cases).items()}
    return {cell: one for cell, one in found.items() if one}


def over_sessions(cases: Sequence[Measured], *, is_timed: bool) -> list[Measured]:
    """The cases, with those of whole recipes in one cell for each network and data set, whatever session they are from.

    How accuracy depends on epochs is the same on all machines. Times are not: ``is_timed`` has cells of their own for
    machines, devices and numbers of threads.
    """
    return [replace(case, cell=_cell(case, is_timed=is_timed)) if is_whole(case) else case for case in cases]


def over_threads(cases: Sequence[Measured]) -> list[Measured]:
    """The cases, with those of whole recipes as of one session on each machine, by which their threads are compared.

    Not those that other processes affected, and only among runs with the same versions.
    """
    return [_on_machine(case) if is_whole(case) and not _was_busy(case) else case for case in cases]


def _on_machine(case: Measured) -> Measured:
    name = case.context.machine.name
    versions = sorted(of_framework(case.sound[0].versions).items())
    session = " · ".join((name, *(f"{package} {version}" for package, version in versions)))
    workload = _joined(case, case.case.device, *_workers(case), name)
    return replace(case, workload=workload, judged=replace(case.judged, session=session))


def _cell(case: Measured, *, is_timed: bool) -> str:
    return _joined(case, *((_place(case), case.context.machine.name) if is_timed else ()))


def _joined(case: Measured, *parts: str) -> str:
    return " · ".join((case.case.model, case.case.dataset, *parts, "whole recipe"))


def _place(case: Measured) -> str:
    """The device, threads and workers of a case."""
    return " · ".join((case.case.device, many(case.case.threads, "thread"), *_workers(case)))


def _workers(case: Measured) -> tuple[str, ...]:
    return (many(case.case.workers, "worker"),) if case.case.workers > 1 else ()


def _of_cells(cases: Sequence[Measured]) -> dict[Cell, list[Measured]]:
    """The cases by network and data set, each from the highest accuracy to the lowest."""
    found: dict[Cell, list[Measured]] = {}
    for case in sorted(filter(is_whole, cases), key=lambda case: (-_accuracy(case), case.label)):
        found.setdefault((case.case.model, case.case.dataset), []).append(case)
    return dict(sorted(found.items()))


def is_whole(case: Measured) -> bool:
    """Whether it trained a whole recipe on real data, and its accuracy is known."""
    one = case.case
    is_asked = one.dataset != SYNTHETIC and not one.settings
    return is_asked and not is_shortened(case) and bool(_accuracies(case))


def _accuracies(case: Measured) -> list[float]:
    return [100 * value for value in METRICS["accuracy"].values(case.sound)]


def _accuracy(case: Measured) -> float:
    return fmean(_accuracies(case))


def _span(members: Sequence[Measured]) -> str:
    ends = dict.fromkeys(f"{_accuracy(case):.1f}" for case in (members[-1], members[0]))
    return f"{' to '.join(ends)} %"


def _agreement(cell: Cell, members: Sequence[Measured]) -> str:
    model, dataset = cell
    runs = many(sum(len(case.sound) for case in members), "run")
    names = many(len({case.case.framework for case in members}), "framework")
    apart = _accuracy(members[0]) - _accuracy(members[-1])
    found = f"{model} on {dataset}: {_span(members)} in {runs} of {names}, at most {apart:.2f} pp apart"
    return found + _with_same_seeds(members)


def _with_same_seeds(members: Sequence[Measured]) -> str:
    """Whether frameworks are further apart than chance, where they have the same seeds; empty if that is not known."""
    found = seeds.compare(_by_seed(members))
    if found is None:
        return ""
    verdict = "the frameworks differ" if found.is_different else "no sign that frameworks differ"
    return (
        f"; standard deviation {found.of_frameworks:.2f} pp over {found.frameworks} frameworks with the same seed,"
        f" {found.of_seeds:.2f} pp over {found.seeds} seeds of the same framework: {verdict}"
        f" (Friedman, p {overall.p_value(found.p_value)})"
    )


def _by_seed(members: Sequence[Measured]) -> dict[str, dict[int, float]]:
    """Accuracies by framework and seed, means if a framework ran on several devices or numbers of threads."""
    found: dict[str, dict[int, list[float]]] = {}
    for case in members:
        for run in case.sound:
            if (value := METRICS["accuracy"].read(run)) is not None:
                found.setdefault(case.case.framework, {}).setdefault(run.seed, []).append(value)
    return {name: {seed: fmean(values) for seed, values in of.items()} for name, of in found.items()}


def _ends(values: Sequence[float]) -> str:
    return f" [{min(values):.2f}, {max(values):.2f}]" if len(values) > 1 else ""


def _row(case: Measured) -> tuple[str, ...]:
    values, sound = _accuracies(case), case.sound
    return (
        case.cell,
        case.case.framework,
        f"{len(sound):,}",
        f"{case.context.steps:,}",
        f"{fmean(values):.2f} %{_ends(values)}",
        f"{figures.seconds(median(frameworks.step_seconds(case)))}{BUSY * _was_busy(case)}",
        figures.duration(median(METRICS["training_time"].values(sound))),
        figures.figure("peak_rss", median(METRICS["peak_rss"].values(sound))),
    )
