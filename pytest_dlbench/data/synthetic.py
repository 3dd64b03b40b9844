"""Made-up data of any shape that can be learned: images, vectors, flags, token sequences and sentence pairs, seeded.

There are 1,280 training and 320 test examples, or fewer, in the same proportion, where those would take more than
128 MiB: as many as fit, but never fewer than 64 and 32.
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
    """The data set that takes the shape and the classes of whatever model it meets."""

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

    Inputs are tokens where there is a ``vocabulary``. With labels that are tokens, a label for each step makes a
    language to predict, and fewer labels than steps make sentence pairs.
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


# Where there are more classes than training examples: examples of each class that occurs.
EXAMPLES_OF_EACH = 8


def prototypes_under_noise(shape: Shape, classes: int, *, examples: tuple[int, int], seed: int) -> Arrays:
    """Training and test examples: the mean of their class's prototype and of uniform noise, in [0, 1].

    Where there are more classes than training examples only the first few classes occur: a prototype for each of many
    thousand would take gigabytes, and could not be learned from no example.
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
    """Images with a seeded pattern added for each flag or taken away, under noise, in [0, 1].

    A flag is 1 where the image, less its mean of 0.5, and the flag's pattern have a positive inner product.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    patterns = generator.choice(np.array([-1, 1], dtype=np.float32), size=(classes, *shape))

    def split(count: int) -> "tuple[NDArray[np.float32], NDArray[np.float32]]":
        signs = generator.choice(np.array([-1, 1], dtype=np.float32), size=(count, classes))
        noise = generator.uniform(-1, 1, size=(count, *shape)).astype(np.float32)
        # Within ±0.5 whatever the signs.
        signal = np.tensordot(signs, patterns, axes=1) / np.float32(4 * classes)
        images = signal + noise / np.float32(4)
        scores = np.tensordot(images, patterns, axes=(range(1, 1 + len(shape)), range(1, 1 + len(shape))))
        return images + np.float32(0.5), (scores > 0).astype(np.float32)

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
    if vocabulary is None and task == "flags":
        return flags_of_patterns(shape, classes, examples=examples, seed=SEED)
    # Late: it needs NumPy.
    from pytest_dlbench.data import synthetic_tokens

    return synthetic_tokens.tokens(
        shape, classes, task=task, vocabulary=vocabulary, label_shape=label_shape, examples=examples, seed=SEED
    )
