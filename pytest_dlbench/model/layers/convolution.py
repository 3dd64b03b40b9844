"""Convolutions over images."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from pytest_dlbench.model.layers.layer import Inferred, Parameter, require_image, require_positive
from pytest_dlbench.model.layers.window import Padding, require_padding, resolve_pads, slide
from pytest_dlbench.model.shapes import Pair, Shape, pair


@dataclass(frozen=True, slots=True)
class Conv2D:
    """A two-dimensional convolution (a cross-correlation, as every framework computes it).

    ``padding`` is "valid" (none), "same" (``ceil(size / stride)`` outputs), or rows and columns on each side.
    """

    kind: ClassVar[str] = "conv2d"
    prefix: ClassVar[str] = "conv"
    filters: int
    kernel: int | Pair
    _: KW_ONLY
    stride: int | Pair = 1
    padding: Padding = "valid"
    bias: bool = True

    def __post_init__(self) -> None:
        require_positive((self.filters, *pair(self.kernel), *pair(self.stride)), "Conv2D filters, kernel and stride")
        require_padding(self.padding)

    def infer(self, shape: Shape) -> Inferred:
        """An image with one channel for each filter."""
        channels, _, _ = require_image(shape, "Conv2D")
        kernel, stride = pair(self.kernel), pair(self.stride)
        pads = resolve_pads(self.padding, shape, kernel, stride)
        rows, columns = slide(shape, kernel, stride, pads)
        window = kernel[0] * kernel[1]
        weight = Parameter(
            role="weight",
            shape=(self.filters, channels, *kernel),
            fan_in=channels * window,
            fan_out=self.filters * window,
        )
        bias = (Parameter(role="bias", shape=(self.filters,)),) if self.bias else ()
        return Inferred(
            output=(self.filters, rows, columns),
            parameters=(weight, *bias),
            multiply_adds=self.filters * channels * window * rows * columns,
            geometry={"kernel": kernel, "stride": stride, "padding": pads, "bias": self.bias},
        )
