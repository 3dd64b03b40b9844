"""Where among ordered versions the first bad one is, when some cannot be asked."""

from collections.abc import Mapping
from enum import StrEnum


class Answer(StrEnum):
    """What is known of one version."""

    GOOD = "good"
    BAD = "bad"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


def bounds(answers: Mapping[int, Answer]) -> tuple[int, int]:
    """The places of the first version that is known to be bad, and of the last good one before it."""
    bad = min(place for place, answer in answers.items() if answer is Answer.BAD)
    return max(place for place, answer in answers.items() if answer is Answer.GOOD and place < bad), bad


def next_place(answers: Mapping[int, Answer]) -> int | None:
    """The version to ask next: the one nearest to the middle of what is open; None when no question is left.

    ``answers`` are by place, the oldest version 0, which is good; the newest is bad.
    """
    good, bad = bounds(answers)
    open_places = [place for place in range(good + 1, bad) if place not in answers]
    return min(open_places, key=lambda place: (abs(2 * place - good - bad), place), default=None)


def suspects(answers: Mapping[int, Answer]) -> range:
    """The places among which the first bad version is: one of them where all versions could be asked."""
    good, bad = bounds(answers)
    return range(good + 1, bad + 1)


def most_questions(versions: int) -> int:
    """How many comparisons it takes at most where all versions answer, with the one of both ends."""
    return 1 + max(0, versions - 2).bit_length()
