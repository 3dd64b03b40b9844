"""Made-up data of any shape that can be learned: images, vectors, flags, token sequences and sentence pairs, seeded.

There are 1,280 training and 320 test examples, or fewer, in the same proportion, where those would take more than
128 MiB: as many as fit, but never fewer than 64 and 32.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod

from pytest_dlbench.data.dataset import Arrays, Dataset, Task
from pytest_dlbench.model import Shape

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


def _make(
    shape: Shape,
    classes: int,
    *,
    task: Task,
    vocabulary: int | None,
    label_shape: Shape,
    examples: tuple[int, int],
) -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data import synthetic_arrays, synthetic_tokens  # noqa: PLC0415

    if vocabulary is None and task == "class":
        return synthetic_arrays.prototypes_under_noise(shape, classes, examples=examples, seed=SEED)
    if vocabulary is None and task == "flags":
        return synthetic_arrays.flags_of_patterns(shape, classes, examples=examples, seed=SEED)
    return synthetic_tokens.tokens(
        shape, classes, task=task, vocabulary=vocabulary, label_shape=label_shape, examples=examples, seed=SEED
    )
