"""A two-dimensional convolution of images."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pytest_dlbench.model.operators.operator import Operator
from pytest_dlbench.model.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution(Operator):
    """A cross-correlation without bias; pairs are (height, width).

    Canonical layouts are batch × channels × height × width and filters × channels × height × width. Padding is with
    zeros, on either side.
    """

    kind: ClassVar[str] = "convolution"
    image: tuple[int, int]
    channels: int
    batch: int
    filters: int
    kernel: tuple[int, int]
    padding: tuple[int, int]
    stride: tuple[int, int]

    @property
    def size(self) -> str:
        """Sizes in DeepBench's order: width, height, channels, batch, filters, kernel, padding, stride."""
        parts = (self.kernel, self.padding, self.stride)
        kernel, padding, stride = ("x".join(map(str, reversed(part))) for part in parts)
        image = "x".join(map(str, (*reversed(self.image), self.channels)))
        return f"convolution-{image}-n{self.batch}-k{self.filters}-f{kernel}-p{padding}-s{stride}"

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Images and filters."""
        return {
            "data": (self.batch, self.channels, *self.image),
            "weights": (self.filters, self.channels, *self.kernel),
        }

    @property
    def output(self) -> Shape:
        """One image of the positions for each filter."""
        positions = tuple(
            (image + 2 * padding - kernel) // stride + 1
            for image, padding, kernel, stride in zip(self.image, self.padding, self.kernel, self.stride, strict=True)
        )
        return self.batch, self.filters, *positions

    @property
    def multiply_adds(self) -> int:
        """Of the direct algorithm; others need fewer."""
        batch, filters, height, width = self.output
        return batch * filters * height * width * self.fan_in

    @property
    def fan_in(self) -> int:
        """The weights of a filter."""
        return self.channels * self.kernel[0] * self.kernel[1]
