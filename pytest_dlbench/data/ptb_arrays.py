"""The arrays of Penn Treebank: words between blanks, sentences on lines."""

from collections.abc import Iterable
from pathlib import Path

from pytest_dlbench.data.dataset import Arrays
from pytest_dlbench.data.sequences import as_file, windows
from pytest_dlbench.errors import DataError

END_OF_SENTENCE = "<eos>"


def read(folder: Path, *, steps: int, most_words: int) -> Arrays:
    """Windows of both splits, and the validation split beside them; numbers from 0 by first appearance in training.

    Raises DataError for more words than ``most_words``, and for a word that training does not have.
    """
    texts = {split: list(_tokens(folder / f"ptb.{split}.txt")) for split in ("train", "valid", "test")}
    ids = {word: number for number, word in enumerate(dict.fromkeys(texts["train"]))}
    if len(ids) > most_words:
        raise DataError(f"{folder}/ptb.train.txt has {len(ids):,} different words, Mikolov's file {most_words:,}")
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
        raise DataError(f"{path} is no UTF-8 text: {error}; get it again") from error


def _numbers(tokens: Iterable[str], ids: dict[str, int], split: str) -> list[int]:
    try:
        return [ids[token] for token in tokens]
    except KeyError as error:
        raise DataError(
            f"ptb.{split}.txt has the word {error}, which ptb.train.txt lacks; is it another edition?"
        ) from error
