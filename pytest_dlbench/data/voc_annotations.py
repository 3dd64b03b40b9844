"""The annotations of VOC 2012: one XML file per image, lists of images for each split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from pytest_dlbench.errors import DataError

KINDS = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One object: its class, and its corners in pixels, counted from 1, both inclusive."""

    kind: str
    left: int
    top: int
    right: int
    bottom: int
    is_difficult: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Photograph:
    """One image: its path, its size in pixels, and the objects in it."""

    path: Path
    width: int
    height: int
    boxes: tuple[Box, ...]


def photographs(folder: Path, split: Literal["train", "val"], kinds: Sequence[str] = KINDS) -> Iterator[Photograph]:
    """The annotated images of a split, in the order of its list; ``folder`` is the source's.

    Raises DataError for an annotation that cannot be read or contains an invalid box.
    """
    root = folder / "VOCdevkit" / "VOC2012"
    for name in (root / "ImageSets" / "Main" / f"{split}.txt").read_text(encoding="utf-8").split():
        yield _photograph(root / "Annotations" / f"{name}.xml", root / "JPEGImages" / f"{name}.jpg", kinds)


def _photograph(annotation: Path, image: Path, kinds: Sequence[str]) -> Photograph:
    try:
        content = annotation.read_bytes()
        if b"<!" in content:
            # Entities can expand to any size, and no official file declares one.
            raise DataError(f"{annotation} declares a document type, which no official file does")
        root = ET.fromstring(content)
        boxes = tuple(_box(element, kinds) for element in root.iterfind("object"))
        width, height = _number(root, "size/width"), _number(root, "size/height")
    except (ET.ParseError, OSError, ValueError) as error:
        raise DataError(f"{annotation} is not an annotation of VOC 2012: {error}") from error
    for box in boxes:
        if not (1 <= box.left < box.right <= width and 1 <= box.top < box.bottom <= height):
            raise DataError(f"{annotation}: {box} is not within {width}×{height} pixels")
    return Photograph(path=image, width=width, height=height, boxes=boxes)


def _box(element: ET.Element, kinds: Sequence[str]) -> Box:
    kind = element.findtext("name", "")
    if kind not in kinds:
        raise ValueError(f"unknown class {kind!r}; known: {', '.join(kinds)}")
    left, top, right, bottom = (_number(element, f"bndbox/{name}") for name in ("xmin", "ymin", "xmax", "ymax"))
    is_difficult = element.findtext("difficult", "0") == "1"
    return Box(kind=kind, left=left, top=top, right=right, bottom=bottom, is_difficult=is_difficult)


def _number(element: ET.Element, path: str) -> int:
    # Some official corners are written with decimals.
    return round(float(element.findtext(path, "nothing")))
