"""Text as tokens: the tokeniser for running text, and vocabularies by frequency.

A word is a run of letters and digits, with apostrophes inside it, in lower case; anything else separates words. A
vocabulary of V tokens has 0 for padding, 1 for the start of a text, 2 for unknown words, and from 3 on the V - 3 most
frequent words of the training split, with ties in the order of code points.
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
        """The numbers of words."""
        return [self.ids.get(word, UNKNOWN) for word in text]

    def lines(self) -> bytes:
        """The words, one per line, starting with number FIRST_WORD, as stored and hashed with the arrays."""
        return "".join(f"{word}\n" for word in self.ids).encode()


def vocabulary(texts: Iterable[Iterable[str]], size: int) -> Vocabulary:
    """The vocabulary of at most ``size`` tokens, including the first three."""
    counts = Counter(word for text in texts for word in text)
    ranked: Sequence[str] = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary(ids={word: number for number, word in enumerate(ranked[: size - FIRST_WORD], FIRST_WORD)})
