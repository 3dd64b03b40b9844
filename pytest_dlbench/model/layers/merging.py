"""Layers with several inputs: branches that split at one point and merge again."""

from dataclasses import dataclass
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Layer
from pytest_dlbench.model.shapes import Shape, show

Branch = tuple[Layer, ...]
"""The layers from the split to the merge; an empty branch is the input itself."""


@dataclass(frozen=True, slots=True, init=False)
class _Merge:
    """``Add(left, right)``: every branch gets the same input, and the merge gets the output of each."""

    kind: ClassVar[str]
    prefix: ClassVar[str]
    branches: tuple[Branch, ...]

    def __init__(self, *branches: Branch) -> None:
        if len(branches) < 2:
            raise ModelError(f"{type(self).__name__} needs two branches or more, each a tuple of layers")
        object.__setattr__(self, "branches", branches)

    def with_branches(self, *branches: Branch) -> "_Merge":
        """The same merge with other branches."""
        return type(self)(*branches)


@dataclass(frozen=True, slots=True, init=False)
class Add(_Merge):
    """The elementwise sum of all branches: a residual connection if one of them is empty."""

    kind: ClassVar[str] = "add"
    prefix: ClassVar[str] = "add"

    def merge(self, shapes: tuple[Shape, ...]) -> Inferred:
        """The common shape of all branches."""
        if len(set(shapes)) > 1:
            raise DoesNotFit(f"Add needs branches of the same shape, got {', '.join(map(show, shapes))}")
        return Inferred(output=shapes[0], geometry={})


@dataclass(frozen=True, slots=True, init=False)
class Concat(_Merge):
    """Concatenates all branches: channels of images, features of vectors and of each step of sequences."""

    kind: ClassVar[str] = "concat"
    prefix: ClassVar[str] = "concat"

    def merge(self, shapes: tuple[Shape, ...]) -> Inferred:
        """The sum of the branches' channels."""
        axis = 0 if len(shapes[0]) != 2 else 1
        if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1 or len({*map(len, shapes)}) > 1:
            raise DoesNotFit(f"Concat needs branches that differ only in channels, got {', '.join(map(show, shapes))}")
        together = sum(shape[axis] for shape in shapes)
        first = shapes[0]
        return Inferred(output=(*first[:axis], together, *first[axis + 1 :]), geometry={})
