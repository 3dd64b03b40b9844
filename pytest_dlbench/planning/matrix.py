"""The matrix: values of the axes become cells with ids and marks; skipped cells have a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Protocol

from pytest_dlbench.model import Model, Purpose, Shape, infer
from pytest_dlbench.model.shapes import show
from pytest_dlbench.records import SkippedCell

AXES = ("framework", "model", "dataset", "device")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much one run trains at most: a number of examples, and of multiply-adds in their forward passes.

    On GPUs that is the least, and runs are longer until their timed steps last ``least_seconds``.
    """

    examples: float
    multiply_adds: float
    least_seconds: float


# A quick run takes seconds on two CPU cores: the second limit is for networks that are too large for the first. A GPU
# would need milliseconds for it, in which no clock, sensor or neighbour can be judged.
# The only limit of full is the recipe's own length.
SCALES: Mapping[str, Scale] = {
    "smoke": Scale(examples=640, multiply_adds=4e10, least_seconds=1.0),
    "quick": Scale(examples=2880, multiply_adds=1.6e11, least_seconds=5.0),
    "full": Scale(examples=inf, multiply_adds=inf, least_seconds=0.0),
}


class Value(Protocol):
    """A value of an axis: a framework, a model, a data set or a device."""

    @property
    def name(self) -> str:
        """Its part of the id."""
        ...

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of its cells."""
        ...


class Data(Value, Protocol):
    """The properties of a data set that a model must fit; None fits every model."""

    @property
    def shape(self) -> Shape | None:
        """The shape of one sample."""
        ...

    @property
    def classes(self) -> int | None:
        """The number of classes; labels start at 0."""
        ...

    @property
    def task(self) -> str | None:
        """What a label is: "class", "tokens", "flags" or "boxes"."""
        ...

    @property
    def vocabulary(self) -> int | None:
        """The number of distinct tokens, if inputs are tokens."""
        ...

    @property
    def label_shape(self) -> Shape:
        """The shape of an example's labels; () for a single label."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of the axes that a test asks for, in the order of AXES."""

    values: tuple[Value, ...]

    @property
    def id(self) -> str:
        """Names joined as pytest joins them."""
        return "-".join(value.name for value in self.values)


def cells(
    axes: Mapping[str, Sequence[Value]], absent: Mapping[str, str] | None = None, purpose: Purpose = "training"
) -> tuple[list[Cell], list[SkippedCell]]:
    """All combinations that fit together, and those that are skipped; ``absent`` says why a value is not available."""
    taken, skipped = [], []
    reasons = _misfits(axes.get("model", ()), axes.get("dataset", ()), purpose)
    positions = [list(axes).index(axis) for axis in ("model", "dataset") if axis in axes]
    for values in product(*axes.values()):
        cell = Cell(values=values)
        reason = reasons.get(tuple(values[position].name for position in positions))
        reason = reason or next((absent[value.name] for value in values if absent and value.name in absent), None)
        if reason:
            skipped.append(SkippedCell(id=cell.id, reason=reason))
        else:
            taken.append(cell)
    return taken, skipped


def _misfits(models: Sequence[Value], datasets: Sequence[Value], purpose: Purpose) -> dict[tuple[str, ...], str]:
    """Why pairs of model and data set do not fit together, by their names; each pair is checked once."""
    pairs = {
        (model.name, data.name): misfit(model, data, purpose)  # type: ignore[arg-type]
        for model, data in product(models, datasets)
    }
    return {names: reason for names, reason in pairs.items() if reason}


def misfit(model: Model, data: Data, purpose: Purpose = "training") -> str:
    """Why a model cannot be trained on a data set, or applied to it; empty if it can."""
    head = model.head
    if purpose == "training" and not head.is_trained:
        return f"{model.name} is applied and not trained"
    if data.shape is None:
        return ""
    takes, given = _input(model.input_shape, model.vocabulary), _input(data.shape, data.vocabulary)
    if purpose == "inference":
        return "" if takes == given else f"{model.name} takes {takes}, {data.name} has {given}"
    if data.task == "tokens" and infer(model).label_shape != data.label_shape:
        return f"{model.name} gives {show(infer(model).output)}, {data.name} has labels of {show(data.label_shape)}"
    pairs = (
        ("takes", takes, given),
        ("is trained for", f"{head.classes} {_TASKS[head.task]}", f"{data.classes} {_TASKS[data.task or 'class']}"),
        ("takes labels of", *_rows(model, data)),
    )
    return next((f"{model.name} {verb} {own}, {data.name} has {its}" for verb, own, its in pairs if own != its), "")


def _rows(model: Model, data: Data) -> tuple[str, str]:
    """The shapes of labels with a row for each object, which fit only if both have as many."""
    if model.head.task != "boxes" or data.task != "boxes":
        return "", ""
    return show(infer(model).label_shape), show(data.label_shape)


_TASKS = {"class": "classes", "tokens": "tokens at each step", "flags": "flags", "boxes": "kinds of objects"}


def _input(shape: Shape, vocabulary: int | None) -> str:
    return show(shape) if vocabulary is None else f"{show(shape)} tokens of {vocabulary:,}"
