"""Ranks and ratios between frameworks, published and ours; never seconds, because the machines differ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.published import names
from pytest_dlbench.reporting.published.studies import Figure, figures, flaws, studies

# Metrics that are training times or speeds; elapsed times in the logs are of different numbers of epochs.
TIMES = (
    "time_per_minibatch",
    "training_time_10_epochs",
    "training_time_5_epochs",
    "training_time_3_epochs",
    "seconds_per_epoch",
)
SPEEDS = ("training_speed_avg",)
ELAPSED, EPOCHS = "last_elapsed_time_in_log", "epochs_logged"


_Condition = tuple[str, str, bool, str, int | None, str]


class Held(StrEnum):
    """Whether our order of two frameworks is the published one."""

    YES = "held"
    NO = "did not hold"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Published times of several frameworks under one condition, by their published names.

    ``threads`` is None if the study does not state them, or for a GPU.
    """

    source: str
    model: str
    is_gpu: bool
    place: str
    threads: int | None
    condition: str
    seconds: Mapping[str, float]
    flaws: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One framework compared with the fastest published one that we have as well.

    ``then`` is the published ratio of times, 1 or more, ``now`` ours with its interval. The ranks are among the
    frameworks that both have; 1 is the fastest.
    """

    cell: Cell
    framework: str
    quickest: str
    ours: tuple[str, str]
    then: float
    now: Interval
    rank_then: int
    rank_now: int
    of: int

    @property
    def held(self) -> Held:
        """Decided by the interval, unless that contains 1. Equal published times have no order."""
        if self.then == 1 or self.now.lower <= 1 <= self.now.upper:
            return Held.UNDECIDED
        return Held.YES if self.now.lower > 1 else Held.NO

    @property
    def flaws(self) -> tuple[str, ...]:
        """The known flaws of either cell."""
        known = (*self.cell.flaws[self.quickest], *self.cell.flaws[self.framework])
        return tuple(dict.fromkeys(known))


def cells() -> tuple[Cell, ...]:
    """All published conditions under which two or more frameworks trained one of our models."""
    groups: dict[_Condition, dict[str, tuple[float, tuple[str, ...]]]] = {}
    for source in studies():
        for figure, seconds in _times(figures(source)):
            # Training on several GPUs is a different question.
            if (model := names.model(figure)) and figure.gpus in ("0", "1"):
                groups.setdefault(_condition(figure, model), {})[figure.framework] = (seconds, flaws(figure))
    return tuple(_cell(key, found) for key, found in groups.items() if len(found) > 1)


def _cell(key: _Condition, found: Mapping[str, tuple[float, tuple[str, ...]]]) -> Cell:
    source, model, is_gpu, place, threads, condition = key
    return Cell(
        source=source,
        model=model,
        is_gpu=is_gpu,
        place=place,
        threads=threads,
        condition=condition,
        seconds={framework: seconds for framework, (seconds, _) in found.items()},
        flaws={framework: known for framework, (_, known) in found.items()},
    )


def _times(published: Sequence[Figure]) -> Iterator[tuple[Figure, float]]:
    """Figures that are times, or speeds converted to times; for logs, the time per epoch."""
    epochs = {_place(figure): figure.number for figure in published if figure.metric == EPOCHS}
    for figure in published:
        number = figure.number
        if number is None:
            continue
        if figure.metric in TIMES:
            yield figure, number
        elif figure.metric in SPEEDS:
            yield figure, 1 / number
        elif figure.metric == ELAPSED and (count := epochs.get(_place(figure))):
            yield figure, number / count


def _place(figure: Figure) -> tuple[str, ...]:
    return (figure.framework, figure.model, figure.dataset, figure.device, figure.gpus)


def _condition(figure: Figure, model: str) -> _Condition:
    threads = int(figure.threads) if figure.threads.isdigit() else None
    place = [figure.device, *([] if threads is None else [f"{threads} thread{'s' * (threads != 1)}"])]
    batch = [f"batch {figure.batch_size}"] if figure.batch_size.isdigit() else []
    condition = ", ".join((*place, *batch, figure.dataset, figure.metric))
    return (figure.source, model, figure.gpus == "1", ", ".join(place), threads, condition)


def compare(cell: Cell, ours: Mapping[str, Mapping[str, Interval]]) -> Iterator[Comparison]:
    """Compare a published cell with our ratios: ``ours[a][b]`` is the time of a over that of b."""
    known = {name: found for name in cell.seconds if (found := names.framework(name, set(ours)))}
    if len(set(known.values())) < 2:
        return
    then = sorted(known, key=lambda name: cell.seconds[name])
    fastest = then[0]
    now = sorted(known, key=lambda name: ours[known[name]][known[fastest]].estimate)
    for rank, name in enumerate(then[1:], start=2):
        yield Comparison(
            cell=cell,
            framework=name,
            quickest=fastest,
            ours=(known[name], known[fastest]),
            then=cell.seconds[name] / cell.seconds[fastest],
            now=ours[known[name]][known[fastest]],
            rank_then=rank,
            rank_now=now.index(name) + 1,
            of=len(known),
        )


def summary(comparisons: Iterable[Comparison]) -> str:
    """How many published orders held."""
    held = [comparison.held for comparison in comparisons]
    counts = (f"{held.count(answer)} {answer}" for answer in Held)
    return f"of {len(held)} published orders of two frameworks, {', '.join(counts)}"
