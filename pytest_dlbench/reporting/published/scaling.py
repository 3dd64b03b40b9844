"""What several devices gained in published trainings: ratios, never seconds, because the machines differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_dlbench.reporting.published import names
from pytest_dlbench.reporting.published.comparison import SPEEDS, TIMES
from pytest_dlbench.reporting.published.studies import Figure, figures, flaws

# A time of as many iterations as that of one device; others are of one batch, or of epochs.
OF_ITERATIONS = "training_time"
OF_EPOCHS = tuple(metric for metric in TIMES if "epoch" in metric)

_Condition = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """Samples per second of several devices over those of one.

    ``framework`` and ``model`` are ours where we have them. ``is_weak`` says that each device has the batch of one, so
    that the batch of all grows; None if the study does not print the batch.
    """

    figure: Figure
    framework: str | None
    model: str | None
    devices: int
    speedup: float
    is_weak: bool | None
    flaws: tuple[str, ...]

    @property
    def efficiency(self) -> float:
        """The speed-up over the number of devices."""
        return self.speedup / self.devices


def scaled(source: str) -> Iterator[Scaled]:
    """Every published training on several devices whose study has the same on one."""
    alone: dict[_Condition, Figure] = {}
    published = [figure for figure in figures(source) if _speed(figure) is not None and figure.gpus.isdigit()]
    for figure in published:
        if figure.gpus == "1":
            alone.setdefault(_condition(figure), figure)
    for figure in published:
        if int(figure.gpus) > 1 and (one := alone.get(_condition(figure))):
            yield _scaled(figure, one)


def _scaled(figure: Figure, one: Figure) -> Scaled:
    speed, speed_of_one = _speed(figure), _speed(one)
    assert speed is not None
    assert speed_of_one is not None
    is_printed = figure.batch_size.isdigit() and one.batch_size.isdigit()
    return Scaled(
        figure=figure,
        framework=next(iter(names.FRAMEWORKS.get(figure.framework, ())), None),
        model=names.model(figure),
        devices=int(figure.gpus),
        speedup=speed / speed_of_one,
        is_weak=figure.batch_size != one.batch_size if is_printed else None,
        flaws=tuple(dict.fromkeys((*flaws(one), *flaws(figure)))),
    )


def _speed(figure: Figure) -> float | None:
    """A number in proportion to samples per second; None if the figure is no speed."""
    number = figure.number
    if number is None:
        return None
    if figure.metric in SPEEDS:
        return number
    if figure.metric in OF_EPOCHS:
        return 1 / number
    is_of_batches = figure.metric in (*TIMES, OF_ITERATIONS) and figure.batch_size.isdigit()
    return int(figure.batch_size) / number if is_of_batches else None


def _condition(figure: Figure) -> _Condition:
    """What both have in common. A note has the number of iterations."""
    iterations = next((part.strip() for part in figure.note.split(";") if "iterations=" in part), "")
    return (figure.framework, figure.model, figure.dataset, figure.device, figure.metric, iterations)


def sentences(found: Sequence[Scaled]) -> Iterator[str]:
    """What studies found, by network, one sentence for each framework that we have as well."""
    groups: dict[tuple[str, str, str, str], list[Scaled]] = {}
    for one in found:
        if one.framework and one.model:
            key = (one.figure.source, one.model, one.figure.framework, one.figure.device)
            groups.setdefault(key, []).append(one)
    for (source, model, framework, device), several in groups.items():
        gains = ", ".join(
            f"{one.speedup:.2f} on {one.devices} ({100 * one.efficiency:.0f} %)"
            for one in sorted(several, key=lambda one: one.devices)
        )
        yield f"published by {source}: {model}, {framework}, {device}: speed-up {gains}"
