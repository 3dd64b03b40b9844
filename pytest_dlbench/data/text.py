"""Text as tokens: the one tokeniser for running text, and vocabularies by frequency.

A word is a run of letters and digits, with apostrophes inside it, in lower case; all else parts words. A vocabulary of
V tokens has 0 for padding, 1 for the start of a text, 2 for every word that it does not know, and from 3 on the V - 3
most frequent words of the training split, of equally frequent ones those that come first in the order of code points.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PADDING, START, UNKNOWN, FIRST_WORD = range(4)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return _WORD.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The number of each known word."""

    ids: Mapping[str, int]

    def numbers(self, text: Iterable[str]) -> list[int]:
        """Words as numbers."""
        return [self.ids.get(word, UNKNOWN) for word in text]

    def lines(self) -> bytes:
        """The words one a line, from that of the number FIRST_WORD: what is kept beside the arrays, and hashed."""
        return "".join(f"{word}\n" for word in self.ids).encode()


def vocabulary(texts: Iterable[Iterable[str]], size: int) -> Vocabulary:
    """The vocabulary of at most ``size`` tokens, the first three included."""
    counts = Counter(word for text in texts for word in text)
    ranked: Sequence[str] = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary(ids={word: number for number, word in enumerate(ranked[: size - FIRST_WORD], FIRST_WORD)})
