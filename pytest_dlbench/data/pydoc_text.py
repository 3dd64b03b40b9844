"""The prose of pydoc's topics: paragraphs without repetition, and the split of each topic."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pydoc_data.topics import topics
from typing import Literal

from pytest_dlbench.data.text import words

Split = Literal["train", "valid", "test"]
FEWEST_WORDS = 8
END_OF_PARAGRAPH = "<eos>"
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:?!()]")

# One of the first 3,000 seeds that put several topics of either group into the test split, in Python 3.11 to 3.13.
SALT = 1267
# Topics about values and their behaviour; the others are about writing programs.
OBJECTS = frozenset(
    [
        "attribute-access",
        "bltin-code-objects",
        "bltin-ellipsis-object",
        "bltin-null-object",
        "bltin-type-objects",
        "callable-types",
        "context-managers",
        "customization",
        "formatstrings",
        "numeric-types",
        "objects",
        "sequence-types",
        "specialattrs",
        "specialnames",
        "string-methods",
        "truth",
        "types",
        "typesfunctions",
        "typesmapping",
        "typesmethods",
        "typesmodules",
        "typesseq",
        "typesseq-mutable",
    ]
)
# In neither group: the commands of the debugger.
ASIDE = frozenset({"debugger"})


def paragraphs(texts: Mapping[str, str] = topics) -> dict[str, list[str]]:
    """The prose paragraphs of every topic, in the order of the topics' names, without repetitions."""
    seen: set[tuple[str, ...]] = set()
    found: dict[str, list[str]] = {}
    for topic in sorted(texts):
        found[topic] = []
        for paragraph in texts[topic].split("\n\n"):
            key = tuple(words(paragraph))
            if key not in seen and _is_prose(paragraph):
                seen.add(key)
                found[topic].append(" ".join(paragraph.split()))
    return found


def split_of(topic: str) -> Split:
    """The split of a topic, by its name alone: about 10 % each are for testing and validation."""
    share = int.from_bytes(sha256(f"{SALT}{topic}".encode()).digest()[:4]) % 10
    return "test" if share == 0 else "valid" if share == 1 else "train"


def tokens(paragraph: str) -> list[str]:
    """Words in lower case and punctuation marks, numbers as N, and END_OF_PARAGRAPH at the end."""
    found = _TOKEN.findall(paragraph.lower())
    return [*("N" if token.isdigit() else token for token in found), END_OF_PARAGRAPH]


def _is_prose(paragraph: str) -> bool:
    """Sentences, not code, grammar or a table: enough words, few other characters."""
    characters = [character for character in paragraph if not character.isspace()]
    letters = sum(character.isalpha() for character in characters)
    return len(words(paragraph)) >= FEWEST_WORDS and letters >= 0.8 * len(characters)
