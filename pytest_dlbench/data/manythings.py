"""ManyThings: Spanish sentences and their English translations, for models that read one and write the other.

Source: Tatoeba and manythings.org/anki, in the edition that TensorFlow's tutorials keep; the site's own file is larger
and has a third column. One row of tokens holds the Spanish sentence, padded to SOURCE_STEPS, and behind it what the
decoder is given, padded to TARGET_STEPS; the labels are what it is to say. tartu trains on the first 100,000 lines;
this is the first 100,000 pairs that fit these lengths, which are all but a few of those lines, split 80 to 20 by a
seed. As in tartu's split, one English sentence with two translations may be on both sides.
"""

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source

SOURCE_STEPS = 20
TARGET_STEPS = 16
SOURCE_WORDS = 20_000
TARGET_WORDS = 10_000
TRAIN_EXAMPLES = 80_000
TEST_EXAMPLES = 20_000
SEED = 42

SOURCE = Source(
    name="manythings",
    about="119,000 Spanish and English sentences, 2.5 MiB packed",
    page="https://www.manythings.org/anki/",
    contents=("spa-eng/spa.txt",),
    files=(File(name="spa-eng.zip", url="https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"),),
)


def _make() -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.manythings_arrays import read  # noqa: PLC0415

    return read(folder_of(SOURCE) / "spa-eng" / "spa.txt", examples=(TRAIN_EXAMPLES, TEST_EXAMPLES))


DATASETS = (
    Dataset(
        name="manythings",
        version=1,
        shape=(SOURCE_STEPS + TARGET_STEPS,),
        classes=TARGET_WORDS,
        train_examples=TRAIN_EXAMPLES,
        test_examples=TEST_EXAMPLES,
        make=_make,
        task="tokens",
        vocabulary=max(SOURCE_WORDS, TARGET_WORDS),
        label_shape=(TARGET_STEPS,),
        source=SOURCE,
    ),
)
