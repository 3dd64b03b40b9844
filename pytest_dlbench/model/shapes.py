"""Shapes of one sample, channels first: ``(channels, height, width)`` for an image, ``(features,)`` for a vector."""

Shape = tuple[int, ...]
Pair = tuple[int, int]


def show(shape: Shape) -> str:
    """A shape as people write it: ``32×26×26``."""
    return "×".join(str(size) for size in shape)


def pair(size: int | Pair) -> Pair:
    """A size that may be given once for both directions, as ``(vertical, horizontal)``."""
    return (size, size) if isinstance(size, int) else size
