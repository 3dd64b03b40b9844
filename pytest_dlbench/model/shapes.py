"""Shapes of one sample, channels first: ``(channels, height, width)`` for an image, ``(features,)`` for a vector."""

Shape = tuple[int, ...]
Pair = tuple[int, int]


def show(shape: Shape) -> str:
    """A shape for messages: ``32×26×26``."""
    return "×".join(str(size) for size in shape)


def pair(size: int | Pair) -> Pair:
    """``(vertical, horizontal)`` from a pair, or from one size for both directions."""
    return (size, size) if isinstance(size, int) else size
