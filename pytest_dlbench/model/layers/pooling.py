"""Pooling over images."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import Inferred, require_image, require_positive
from pytest_dlbench.model.layers.window import Padding, fill_last_windows, require_padding, resolve_pads, slide
from pytest_dlbench.model.shapes import Pair, Shape, pair


@dataclass(frozen=True, slots=True)
class _Pool:
    """A window that slides over each channel separately. Without a stride, windows are adjacent.

    With ``ceil`` the remaining rows and columns at the end get a window, too, as in Caffe.
    """

    prefix: ClassVar[str] = "pool"
    window: int | Pair
    _: KW_ONLY
    stride: int | Pair | None = None
    padding: Padding = "valid"
    ceil: bool = False

    def __post_init__(self) -> None:
        stride = self.window if self.stride is None else self.stride
        require_positive((*pair(self.window), *pair(stride)), "pooling window and stride")
        require_padding(self.padding)
        sides = (0, 0) if isinstance(self.padding, str) else pair(self.padding)
        if any(2 * side > size for side, size in zip(sides, pair(self.window), strict=True)):
            raise ModelError(f"pooling padding must be at most half the window, got {self.padding} for {self.window}")

    def infer(self, shape: Shape) -> Inferred:
        """An image with the same channels; without ``ceil``, rows and columns that do not fill a window are dropped."""
        channels, _, _ = require_image(shape, type(self).__name__)
        window = pair(self.window)
        stride = window if self.stride is None else pair(self.stride)
        pads = resolve_pads(self.padding, shape, window, stride)
        if self.ceil:
            pads = fill_last_windows(shape, window, stride, pads)
        output = (channels, *slide(shape, window, stride, pads))
        return Inferred(output=output, geometry={"window": window, "stride": stride, "padding": pads})


@dataclass(frozen=True, slots=True)
class MaxPool(_Pool):
    """The largest value in each window; padding is never the largest."""

    kind: ClassVar[str] = "max_pool"


@dataclass(frozen=True, slots=True)
class AvgPool(_Pool):
    """The mean of each window; padding is neither summed nor counted."""

    kind: ClassVar[str] = "avg_pool"


@dataclass(frozen=True, slots=True)
class GlobalAvgPool:
    """The mean of each channel, as an image of one row and one column."""

    kind: ClassVar[str] = "avg_pool"
    prefix: ClassVar[str] = "pool"

    def infer(self, shape: Shape) -> Inferred:
        """One value per channel."""
        _, height, width = require_image(shape, "GlobalAvgPool")
        return AvgPool((height, width)).infer(shape)
