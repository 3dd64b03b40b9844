"""Seeded synthetic data of any shape that can be learned: images, vectors, flags, boxes, token sequences, pairs.

There are 1,280 training and 320 test examples, or proportionally fewer if those would take more than 128 MiB: as many
as fit, but at least 64 and 32.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING

from pytest_dlbench.data.dataset import Arrays, Dataset, Task
from pytest_dlbench.model import Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAIN_EXAMPLES = 1280
TEST_EXAMPLES = 320
FEWEST_TRAIN_EXAMPLES = 64
FEWEST_TEST_EXAMPLES = 32
MOST_BYTES = 128 * 2**20
SEED = 20261121


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticData:
    """The data set that adapts its shape and classes to the model."""

    name: str = "synthetic"
    shape: None = None
    classes: None = None
    task: None = None
    vocabulary: None = None
    label_shape: Shape = ()
    marks: tuple[str, ...] = ()


ANY_SHAPE = SyntheticData()


@lru_cache(maxsize=256)
def synthetic(
    shape: Shape, classes: int, *, task: Task = "class", vocabulary: int | None = None, label_shape: Shape = ()
) -> Dataset:
    """The synthetic data set for one kind of input and label, as ``Dataset`` describes them.

    Inputs are tokens if there is a ``vocabulary``. With token labels, one label per step means language modelling, and
    fewer labels than steps mean sentence pairs.
    """
    train, test = _examples(shape, prod(label_shape) * 8 if task == "tokens" else classes * 4 if task == "flags" else 8)
    return Dataset(
        name=_name(shape, classes, task, vocabulary, label_shape),
        version=1,
        shape=shape,
        classes=classes,
        train_examples=train,
        test_examples=test,
        make=partial(
            _make,
            shape,
            classes,
            task=task,
            vocabulary=vocabulary,
            label_shape=label_shape,
            examples=(train, test),
        ),
        task=task,
        vocabulary=vocabulary,
        label_shape=label_shape,
    )


def _examples(shape: Shape, label_bytes: int) -> tuple[int, int]:
    fitting = MOST_BYTES // (4 * prod(shape) + label_bytes)
    if fitting >= TRAIN_EXAMPLES + TEST_EXAMPLES:
        return TRAIN_EXAMPLES, TEST_EXAMPLES
    return max(FEWEST_TRAIN_EXAMPLES, fitting * 4 // 5), max(FEWEST_TEST_EXAMPLES, fitting // 5)


def _name(shape: Shape, classes: int, task: Task, vocabulary: int | None, label_shape: Shape) -> str:
    parts = [ANY_SHAPE.name, "x".join(map(str, shape)), str(classes)]
    parts += [f"of{vocabulary}"] if vocabulary else []
    parts += [task] if task != "class" else []
    parts += ["x".join(map(str, label_shape))] if label_shape not in ((), shape) else []
    return "-".join(parts)


# Examples of each class that occurs, if there are more classes than training examples.
EXAMPLES_OF_EACH = 8


def prototypes_under_noise(shape: Shape, classes: int, *, examples: tuple[int, int], seed: int) -> Arrays:
    """Training and test examples: the mean of their class's prototype and uniform noise, in [0, 1].

    If there are more classes than training examples, only the first few classes occur: prototypes of many thousand
    classes would take gigabytes, and a class without examples cannot be learned.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    occurring = classes if classes <= examples[0] else max(1, examples[0] // EXAMPLES_OF_EACH)
    prototypes = generator.uniform(0, 1, size=(occurring, *shape)).astype(np.float32)

    def split(count: int) -> "tuple[NDArray[np.float32], NDArray[np.int64]]":
        labels = generator.permutation(np.arange(count) % occurring).astype(np.int64)
        noise = generator.uniform(0, 1, size=(count, *shape)).astype(np.float32)
        return (prototypes[labels] + noise) / np.float32(2), labels

    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])


def flags_of_patterns(shape: Shape, classes: int, *, examples: tuple[int, int], seed: int) -> Arrays:
    """Noisy images in [0, 1] with a seeded pattern added or subtracted for each flag.

    A flag is 1 if the image, minus its mean of 0.5, has a positive inner product with the flag's pattern.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    patterns = generator.choice(np.array([-1, 1], dtype=np.float32), size=(classes, *shape))

    def split(count: int) -> "tuple[NDArray[np.float32], NDArray[np.float32]]":
        signs = generator.choice(np.array([-1, 1], dtype=np.float32), size=(count, classes))
        noise = generator.uniform(-1, 1, size=(count, *shape)).astype(np.float32)
        # Within ±0.5 for all signs.
        signal = np.tensordot(signs, patterns, axes=1) / np.float32(4 * classes)
        images = signal + noise / np.float32(4)
        scores = np.tensordot(images, patterns, axes=(range(1, 1 + len(shape)), range(1, 1 + len(shape))))
        return images + np.float32(0.5), (scores > 0).astype(np.float32)

    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])


def boxes_on_noise(shape: Shape, classes: int, *, objects: int, examples: tuple[int, int], seed: int) -> Arrays:
    """Noise in [0, 0.5] with up to four brighter rectangles, in a colour for each class.

    Their sides are from a sixth to a half of the image's.
    """
    import numpy as np

    from pytest_dlbench.data.boxes import Object, padded

    generator = np.random.default_rng(seed)
    colours = generator.uniform(0.1, 0.5, size=(classes, shape[0], 1, 1)).astype(np.float32)
    sides = np.array(shape[1:])

    def split(count: int) -> "tuple[NDArray[np.float32], NDArray[np.float32]]":
        images = generator.uniform(0, 0.5, size=(count, *shape)).astype(np.float32)
        placed: list[list[Object]] = [[] for _ in range(count)]
        for image, things in zip(images, placed, strict=True):
            for _ in range(generator.integers(1, min(objects, 4) + 1)):
                kind = int(generator.integers(classes))
                height, width = (generator.uniform(1 / 6, 1 / 2, size=2) * sides).astype(int)
                top, left = (generator.uniform(size=2) * (sides - (height, width))).astype(int)
                image[:, top : top + height, left : left + width] = colours[kind] + np.float32(0.5)
                things.append(Object(left=left, top=top, right=left + width, bottom=top + height, kind=kind + 1))
        return images, padded(placed, objects)

    train, test = (split(count) for count in examples)
    return Arrays(train_inputs=train[0], train_labels=train[1], test_inputs=test[0], test_labels=test[1])


def _make(
    shape: Shape,
    classes: int,
    *,
    task: Task,
    vocabulary: int | None,
    label_shape: Shape,
    examples: tuple[int, int],
) -> Arrays:
    if vocabulary is None and task == "class":
        return prototypes_under_noise(shape, classes, examples=examples, seed=SEED)
    if task == "boxes":
        return boxes_on_noise(shape, classes, objects=label_shape[0], examples=examples, seed=SEED)
    if vocabulary is None and task == "flags":
        return flags_of_patterns(shape, classes, examples=examples, seed=SEED)
    # Imported late because it needs NumPy.
    from pytest_dlbench.data import synthetic_tokens

    return synthetic_tokens.tokens(
        shape, classes, task=task, vocabulary=vocabulary, label_shape=label_shape, examples=examples, seed=SEED
    )
