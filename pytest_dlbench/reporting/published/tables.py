"""Published figures, and ours next to them, as text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_dlbench.reporting import figures as shown
from pytest_dlbench.reporting import terminal
from pytest_dlbench.reporting.published.comparison import Comparison, summary
from pytest_dlbench.reporting.published.names import FRAMEWORKS
from pytest_dlbench.reporting.published.placing import (
    Absence,
    Caveat,
    Condition,
    Matched,
    Placed,
    Unmatched,
    counts,
)
from pytest_dlbench.reporting.published.scaling import Scaled
from pytest_dlbench.reporting.published.studies import Figure, Study, flaws

# Why a published figure cannot stand next to one of ours.
ABSENT: Mapping[str, str] = {
    Absence.NOT_PRINTED: "the study prints no figure: a dash, nothing, or a digit is lost",
    Absence.ZERO: "the study prints 0, which no training can have",
    Absence.IDLE_GPU: "memory or power of a GPU that was idle, because a processor trained",
    Absence.CONDITION: "a condition of other figures, such as the number of epochs in a log",
    Absence.DERIVED: "a difference of two other figures",
    Absence.NO_MODEL: "the network cannot be rebuilt: neither text nor code defines it",
    Absence.NO_EQUIVALENT: "the framework has no equivalent (Caffe, Torch, Knet, R, Auto-Keras)",
    Absence.SEVERAL_GPUS: "several GPUs trained together; workers train on processors only",
}
UNMATCHED: Mapping[str, str] = {
    Unmatched.NO_GPU: "measured on a GPU, and no record of this network is from one",
    Unmatched.NOT_RUN: "no record of this network in this framework",
    Unmatched.OTHER_DATA: "an accuracy on another data set than those of the records",
    Unmatched.CUT_SHORT: "the trainings ended before the recipe did (--dlbench-scale full trains all of it)",
    Unmatched.NOT_RECORDED: "the records lack the figure",
}
CAVEATS: Mapping[str, str] = {
    Caveat.MACHINE: "another machine",
    Caveat.MEAN_AND_PEAK: "their mean, our peak",
    Caveat.SHARE_AND_CORES: "their share of the machine, our number of processors",
    Caveat.SYSTEM_AND_PROCESS: "their whole system, our processes",
    Caveat.PER_EPOCH: "their seconds per epoch, our samples per second",
    Caveat.PER_1000: "their seconds for 1,000 images, our samples per second",
    Caveat.PER_1280: "their seconds for 1,280 images, our samples per second",
}
CONDITIONS: Mapping[str, str] = {
    Condition.BATCH_SIZE: "batch size",
    Condition.THREADS: "threads",
    Condition.DATASET: "data set",
    Condition.EPOCHS: "epochs",
}
PLACED = "placed"


def studies(known: Mapping[str, Study], by_study: Mapping[str, Counter[str]]) -> list[str]:
    """One row per study, then why figures cannot be placed next to ours."""
    grid = terminal.grid("source", "study", right=("figures", "can be placed", "cannot"))
    for name, study in known.items():
        of_study = by_study[name]
        of = (of_study.total(), of_study[PLACED], of_study.total() - of_study[PLACED])
        grid.add_row(name, f"{study.title}; {study.authors}; {study.published}", *(f"{count:,}" for count in of))
    total = sum(by_study.values(), Counter[str]())
    return [*terminal.lines(grid), "", *_counted(total, "published figures")]


def _counted(total: Counter[str], what: str) -> list[str]:
    """How many figures are placed, and how many are not for each reason."""
    reasons = {**ABSENT, **UNMATCHED}
    lines = [f"of {total.total():,} {what}, {total[PLACED]:,} can be placed next to ours; the others cannot:"]
    return [*lines, *(f"  {count:>6,}  {reasons[name]}" for name, count in total.most_common() if name != PLACED)]


def matched(found: Sequence[Matched], absent: Counter[str]) -> list[str]:
    """One row for each published figure that the records also have, then why the others are missing."""
    grid = terminal.grid("study", "framework", "published", "metric", "ours", right=("theirs", "of ours"))
    grid.add_column("differs in")
    for one in found:
        if one.case is None or one.ours is None or one.placed.place is None:
            continue
        figure, place = one.placed.figure, one.placed.place
        condition = f"{figure.model} on {figure.dataset}, {figure.device}"
        shown_ours = shown.figure(place.metric, one.ours)
        differs = ", ".join((*(CAVEATS[caveat] for caveat in place.caveats), *_conditions(one)))
        theirs = f"{figure.value} {figure.unit}".rstrip()
        grid.add_row(
            figure.source, figure.framework, condition, figure.metric, one.case.case.id, theirs, shown_ours, differs
        )
    return [*terminal.lines(grid), "", *_counted(counted(found, absent), "published figures")]


def _conditions(one: Matched) -> Iterator[str]:
    """What differs, and how: ``batch size 1,024 (ours 32)``."""
    for found in one.differences:
        yield f"{CONDITIONS[found.condition]} {found.theirs} (ours {found.ours})"


def counted(found: Sequence[Matched], absent: Counter[str]) -> Counter[str]:
    """All published figures: those with ours as placed, the others by the reason."""
    total = Counter({name: count for name, count in absent.items() if name != PLACED})
    total.update(PLACED if one.unmatched is None else one.unmatched.value for one in found)
    return total


def study(name: str, source: Study, placed: Sequence[Placed]) -> list[str]:
    """The sources of a study, one row per figure with its metric or why it has none, and the known flaws."""
    published = [one.figure for one in placed]
    lines = [f"{name}: {source.title}", f"  {source.authors}; {source.published}"]
    lines += [f"  {source.repository}"] if source.repository else []
    lines += [f"  {file}: {what}" for file, what in source.files.items()]
    grid = terminal.grid(
        "framework", "model", "data set", "device", "metric", right=("threads", "GPUs", "batch", "value")
    )
    grid.add_column("our metric")
    for one in placed:
        figure = one.figure
        value = f"{figure.value or '–'} {figure.unit}".rstrip()
        place = (figure.framework, figure.model, figure.dataset, figure.device, figure.metric)
        ours = one.place.metric if one.place else f"({one.absence})"
        grid.add_row(*place, figure.threads, figure.gpus, figure.batch_size, value, ours)
    reasons = _counted(counts(placed), f"figures of {name}")
    flawed = [f"  {flaw}" for flaw in _known(published)]
    return [*lines, "", *terminal.lines(grid), "", *reasons, "", "known flaws:", *flawed]


BATCH: Mapping[bool | None, str] = {True: "grows", False: "kept", None: "not printed"}
Gains = Mapping[tuple[str, str, int], float]
"""Our speed-ups on processors, by framework, model and number of workers."""


def scaled(found: Sequence[Scaled], ours: Gains | None = None) -> list[str]:
    """One row for each published training on several GPUs, next to as many workers of ours if there are any."""
    if not found:
        return []
    grid = terminal.grid(
        "study", "framework", "network", "GPU", "batch of all", right=("GPUs", "speed-up", "efficiency")
    )
    if ours is not None:
        grid.add_column("ours, workers on processors", justify="right")
    for one in found:
        figure, found_here = one.figure, gain(one, ours or {})
        place = (figure.source, figure.framework, _place(figure), figure.device, BATCH[one.is_weak])
        ratios = (str(one.devices), f"{one.speedup:.2f}", f"{100 * one.efficiency:.0f} %")
        grid.add_row(*place, *ratios, *([] if ours is None else [f"{found_here:.2f}" if found_here else "–"]))
    return ["several GPUs, as ratios of samples per second:", *terminal.lines(grid)]


def gain(one: Scaled, ours: Gains) -> float | None:
    """Our speed-up with as many workers, of the same network in a framework that the published name stands for."""
    names = FRAMEWORKS.get(one.figure.framework, ())
    return next((ours[key] for name in names if (key := (name, one.model or "", one.devices)) in ours), None)


def _known(published: Sequence[Figure]) -> Iterator[str]:
    """Each flaw once, with its cells unless all have it."""
    places = dict.fromkeys(_place(figure) for figure in published)
    found: dict[str, dict[str, None]] = {}
    for figure in published:
        for flaw in flaws(figure):
            found.setdefault(flaw, {})[_place(figure)] = None
    for flaw, having in found.items():
        yield flaw if len(having) == len(places) else f"{', '.join(having)}: {flaw}"


def _place(figure: Figure) -> str:
    return f"{figure.model} on {figure.dataset}"


def side_by_side(comparisons: Iterable[tuple[str, Comparison]]) -> list[str]:
    """One row per pair of frameworks and published condition; ours are named by their cell."""
    found = list(comparisons)
    grid = terminal.grid("study", "frameworks", "ours", right=("then", "now", "interval", "rank then", "now", "order"))
    grid.add_column("published for", no_wrap=True)
    for cell, one in found:
        ratios = (shown.significant(one.then), shown.significant(one.now.estimate))
        interval = f"[{shown.significant(one.now.lower)}, {shown.significant(one.now.upper)}]"
        ranks = (f"{one.rank_then} of {one.of}", f"{one.rank_now} of {one.of}")
        pair = f"{one.ours[0]} / {one.ours[1]}"
        grid.add_row(one.cell.source, pair, cell, *ratios, interval, *ranks, one.held.value, one.cell.condition)
    known = dict.fromkeys(f"{one.cell.source}, {one.cell.model}: {flaw}" for _, one in found for flaw in one.flaws)
    orders = summary(one for _, one in found)
    return [*terminal.lines(grid), "", orders, "known flaws of the published cells:", *(f"  {flaw}" for flaw in known)]
