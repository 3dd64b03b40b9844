"""Data sets, before and after preparation."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_dlbench.data.source import Source
from pytest_dlbench.errors import DataError
from pytest_dlbench.model import Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PARTS = ("train_inputs", "train_labels", "test_inputs", "test_labels")

Task = Literal["class", "flags", "tokens", "boxes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Float32 inputs that are created piece by piece, because the whole would not fit in memory.

    ``pieces`` yields arrays whose lengths add up to ``shape[0]`` and which agree with ``shape`` in other dimensions.
    """

    shape: Shape
    pieces: Callable[[], Iterator["NDArray[np.float32]"]]

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """A data set in memory, or in pieces to come.

    Inputs are images N×C×H×W as float32 in [0, 1], vectors N×features as float32, or tokens N×steps as int32. Labels
    are int64: N for classes, N×steps for tokens; or float32 N×classes for flags that are 0 or 1; or float32
    N×objects×6 for boxes, as ``data.boxes`` describes them.
    ``extras`` are additional files by their paths: a vocabulary, a validation split, images. The digest includes them.
    """

    train_inputs: "NDArray[np.float32 | np.int32] | Rows"
    train_labels: "NDArray[np.int64 | np.float32]"
    test_inputs: "NDArray[np.float32 | np.int32] | Rows"
    test_labels: "NDArray[np.int64 | np.float32]"
    extras: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            inputs, labels = getattr(self, f"{split}_inputs"), getattr(self, f"{split}_labels")
            if len(inputs) != len(labels) or not len(labels):
                raise DataError(f"the {split} split has {len(inputs)} examples and {len(labels)} labels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A data set that can be prepared. ``version`` changes when ``make`` would create different arrays.

    ``edition`` names what else the arrays depend on, such as the release of Python; each has a folder of its own.

    ``shape`` is that of one input. ``vocabulary`` is the number of tokens, counted from 0, if inputs are tokens.
    ``task`` says what a label is: a class, one token of ``classes`` for each step (``label_shape``), a flag for each
    class, or boxes around objects (``label_shape``). ``source`` has the files that ``make`` reads, or is None; without
    them ``make`` raises DataMissingError.
    """

    name: str
    version: int
    shape: Shape
    classes: int
    train_examples: int
    test_examples: int
    make: Callable[[], Arrays]
    marks: tuple[str, ...] = ()
    task: Task = "class"
    vocabulary: int | None = None
    label_shape: Shape = ()
    source: Source | None = None
    edition: str = ""

    @property
    def folder_name(self) -> str:
        """The name of the folder of prepared arrays in the cache."""
        return "-".join(filter(None, (self.name, f"v{self.version}", self.edition)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A data set on disk as .npy files, ready to be memory-mapped; ``digest`` hashes their content."""

    dataset: Dataset
    folder: Path
    digest: str

    def part(self, name: str) -> Path:
        """The file of a part, one of PARTS."""
        return self.folder / f"{name}.npy"
