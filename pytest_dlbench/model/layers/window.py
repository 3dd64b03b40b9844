"""Windows that slide over an image, for convolution and pooling."""

from typing import Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import DoesNotFit
from pytest_dlbench.model.shapes import Pair, Shape, pair, show

Padding = Literal["valid", "same"] | int | Pair
Pads = tuple[Pair, Pair]


def require_padding(padding: Padding) -> None:
    """Raise ModelError for an invalid padding."""
    if isinstance(padding, str) and padding not in ("valid", "same"):
        raise ModelError(f"padding must be 'valid', 'same', a number or a pair of numbers, got {padding!r}")
    if not isinstance(padding, str) and min(pair(padding)) < 0:
        raise ModelError(f"padding must not be negative, got {padding!r}")


def resolve_pads(padding: Padding, image: Shape, kernel: Pair, stride: Pair) -> Pads:
    """Rows before and after, then columns before and after.

    ``same`` gives ``ceil(size / stride)`` outputs; an odd row or column is added at the end, as in TensorFlow and XLA.
    """
    if padding == "same":
        vertical, horizontal = (_same(*sizes) for sizes in zip(image[1:], kernel, stride, strict=True))
        return vertical, horizontal
    rows, columns = (0, 0) if isinstance(padding, str) else pair(padding)
    return (rows, rows), (columns, columns)


def _same(size: int, kernel: int, stride: int) -> Pair:
    outputs = -(-size // stride)
    total = max(0, (outputs - 1) * stride + kernel - size)
    return total // 2, total - total // 2


def fill_last_windows(image: Shape, kernel: Pair, stride: Pair, pads: Pads) -> Pads:
    """More padding at the ends, so that the remaining rows and columns get a window that starts in them.

    A window that would cover only padding is dropped (Caffe's and PyTorch's rule).
    """
    vertical, horizontal = (_fill(*sizes) for sizes in zip(image[1:], kernel, stride, pads, strict=True))
    return vertical, horizontal


def _fill(size: int, kernel: int, stride: int, pad: Pair) -> Pair:
    before, after = pad
    outputs = -(-(size + before + after - kernel) // stride) + 1
    if (outputs - 1) * stride >= size + before:
        outputs -= 1
    return before, max(after, (outputs - 1) * stride + kernel - size - before)


def slide(image: Shape, kernel: Pair, stride: Pair, pads: Pads) -> Pair:
    """The number of window positions, (vertical, horizontal); remaining rows and columns at the end are not visited."""
    sizes = tuple(size + sum(pad) for size, pad in zip(image[1:], pads, strict=True))
    if any(have < need for have, need in zip(sizes, kernel, strict=True)):
        raise DoesNotFit(f"a window of {show(kernel)} does not fit into {show(image)} (padded {show(sizes)})")
    vertical, horizontal = (
        (size - window) // step + 1 for size, window, step in zip(sizes, kernel, stride, strict=True)
    )
    return vertical, horizontal
