"""Convolutions over images."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Parameter, require_image, require_positive
from pytest_dlbench.model.layers.window import Padding, require_padding, resolve_pads, slide
from pytest_dlbench.model.shapes import Pair, Shape, pair


@dataclass(frozen=True, slots=True)
class Conv2D:
    """A two-dimensional convolution (a cross-correlation, as every framework computes it).

    ``padding`` is "valid" (none), "same" (``ceil(size / stride)`` outputs), or rows and columns on each side.
    ``groups`` divides channels and filters into groups; each filter sees only the channels of its group.
    """

    prefix: ClassVar[str] = "conv"
    filters: int
    kernel: int | Pair
    _: KW_ONLY
    stride: int | Pair = 1
    padding: Padding = "valid"
    bias: bool = True
    groups: int = 1

    def __post_init__(self) -> None:
        sizes = (self.filters, *pair(self.kernel), *pair(self.stride), self.groups)
        require_positive(sizes, "Conv2D filters, kernel, stride and groups")
        require_padding(self.padding)
        if self.filters % self.groups:
            raise ModelError(f"Conv2D: {self.filters} filters cannot be divided into {self.groups} groups")

    @property
    def kind(self) -> str:
        """A separate kind with groups, because not every framework has grouped convolutions."""
        return "conv2d" if self.groups == 1 else "grouped_conv2d"

    def infer(self, shape: Shape) -> Inferred:
        """An image with one channel per filter."""
        channels, _, _ = require_image(shape, "Conv2D")
        kernel, stride = pair(self.kernel), pair(self.stride)
        pads = resolve_pads(self.padding, shape, kernel, stride)
        rows, columns = slide(shape, kernel, stride, pads)
        if channels % self.groups:
            raise DoesNotFit(f"{channels} channels cannot be divided into {self.groups} groups")
        inputs, outputs = channels // self.groups, self.filters // self.groups
        window = kernel[0] * kernel[1]
        weight = Parameter(
            role="weight",
            shape=(self.filters, inputs, *kernel),
            fan_in=inputs * window,
            fan_out=outputs * window,
        )
        bias = (Parameter(role="bias", shape=(self.filters,)),) if self.bias else ()
        grouped = {} if self.groups == 1 else {"groups": self.groups}
        return Inferred(
            output=(self.filters, rows, columns),
            parameters=(weight, *bias),
            multiply_adds=self.filters * inputs * window * rows * columns,
            geometry={"kernel": kernel, "stride": stride, "padding": pads, "bias": self.bias, **grouped},
        )
