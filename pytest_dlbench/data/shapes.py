"""Rectangles, ellipses and triangles on noise, with boxes around them: what a detector learns without a download.

640 images of 96×96 with one to four objects each, drawn by NumPy's legacy generator, whose numbers are the same in
every release; the last 128 are the test split. An object covers at most a fifth of another one's box. ``write`` writes
them in the format of VOC 2012, as JPEG files and annotations.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pytest_dlbench.data.dataset import Arrays, Dataset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_dlbench.data.boxes import Object

KINDS = ("rectangle", "ellipse", "triangle")
SIDE, TRAIN, TEST = 96, 512, 128
MOST_OBJECTS = 4
SMALLEST, LARGEST = 16, 48
# Tries to place an object where it leaves the others visible.
TRIES = 20
MOST_COVERED = 0.2
SEED = 20261123

Drawing = tuple["NDArray[np.uint8]", tuple["Object", ...]]


def drawings(count: int, seed: int) -> Iterator[Drawing]:
    """Images (3×SIDE×SIDE, one byte a pixel) and their objects."""
    import numpy as np

    generator = np.random.RandomState(seed)
    for _ in range(count):
        yield _drawing(generator)


def _drawing(generator: "np.random.RandomState") -> Drawing:
    pixels = generator.randint(0, 96, size=(3, SIDE, SIDE)).astype("uint8")
    objects: list[Object] = []
    for _ in range(generator.randint(1, MOST_OBJECTS + 1)):
        if thing := _placed(generator, objects):
            pixels[:, _covered(thing)] = generator.randint(112, 256, size=(3, 1))
            objects.append(thing)
    return pixels, tuple(objects)


def _placed(generator: "np.random.RandomState", others: "Sequence[Object]") -> "Object | None":
    """An object of a random kind and size that leaves the others visible; None if there is no room."""
    from pytest_dlbench.data.boxes import Object

    kind = int(generator.randint(len(KINDS))) + 1
    for _ in range(TRIES):
        width, height = (int(size) for size in generator.randint(SMALLEST, LARGEST + 1, size=2))
        left, top = int(generator.randint(SIDE - width + 1)), int(generator.randint(SIDE - height + 1))
        thing = Object(left=left, top=top, right=left + width, bottom=top + height, kind=kind)
        if all(_common(thing, other) <= MOST_COVERED * min(_area(thing), _area(other)) for other in others):
            return thing
    return None


def _area(thing: "Object") -> float:
    return (thing.right - thing.left) * (thing.bottom - thing.top)


def _common(one: "Object", other: "Object") -> float:
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    return max(0.0, width) * max(0.0, height)


def _covered(thing: "Object") -> "NDArray[np.bool_]":
    """Which pixels an object covers; it touches all four edges of its box."""
    import numpy as np

    rows, columns = np.mgrid[0:SIDE, 0:SIDE] + 0.5
    across = (columns - thing.left) / (thing.right - thing.left)
    down = (rows - thing.top) / (thing.bottom - thing.top)
    inside = (across > 0) & (across < 1) & (down > 0) & (down < 1)
    if KINDS[thing.kind - 1] == "ellipse":
        inside &= (across - 0.5) ** 2 + (down - 0.5) ** 2 < 0.25
    if KINDS[thing.kind - 1] == "triangle":
        inside &= across > down
    covered: NDArray[np.bool_] = inside
    return covered


def write(folder: Path, count: int, seed: int = SEED) -> None:
    """Write the first ``count`` drawings as a folder of VOC 2012, all of them in its training split."""
    from PIL import Image

    root = folder / "VOCdevkit" / "VOC2012"
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (root / name).mkdir(parents=True, exist_ok=True)
    names = [f"{number:06}" for number in range(count)]
    for name, (pixels, objects) in zip(names, drawings(count, seed), strict=True):
        image = Image.fromarray(pixels.transpose(1, 2, 0))
        image.save(root / "JPEGImages" / f"{name}.jpg", quality=100, subsampling=0)
        (root / "Annotations" / f"{name}.xml").write_bytes(_annotation(objects))
    (root / "ImageSets" / "Main" / "train.txt").write_text("\n".join(names), encoding="utf-8")


def _annotation(objects: "Sequence[Object]") -> bytes:
    root = ET.Element("annotation")
    size = ET.SubElement(root, "size")
    for name, number in (("width", SIDE), ("height", SIDE), ("depth", 3)):
        ET.SubElement(size, name).text = str(number)
    for thing in objects:
        element = ET.SubElement(root, "object")
        ET.SubElement(element, "name").text = KINDS[thing.kind - 1]
        ET.SubElement(element, "difficult").text = str(int(thing.is_difficult))
        box = ET.SubElement(element, "bndbox")
        # VOC counts pixels from 1, and its last ones belong to the box.
        corners = {"xmin": thing.left + 1, "ymin": thing.top + 1, "xmax": thing.right, "ymax": thing.bottom}
        for name, edge in corners.items():
            ET.SubElement(box, name).text = str(edge)
    return ET.tostring(root)


def _make() -> Arrays:
    import numpy as np

    from pytest_dlbench.data.boxes import padded
    from pytest_dlbench.data.pixels import scaled

    images, objects = zip(*drawings(TRAIN + TEST, SEED), strict=True)
    pixels, labels = np.stack(images), padded(objects, MOST_OBJECTS)
    return Arrays(
        train_inputs=scaled(pixels[:TRAIN]),
        train_labels=labels[:TRAIN],
        test_inputs=scaled(pixels[TRAIN:]),
        test_labels=labels[TRAIN:],
    )


DATASETS = (
    Dataset(
        name="shapes",
        version=1,
        shape=(3, SIDE, SIDE),
        classes=len(KINDS),
        train_examples=TRAIN,
        test_examples=TEST,
        make=_make,
        task="boxes",
        label_shape=(MOST_OBJECTS, 6),
    ),
)
