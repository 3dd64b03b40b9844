"""Finds the first bad one of ordered versions, of which some cannot be tested."""

from collections.abc import Mapping
from enum import StrEnum


class Answer(StrEnum):
    """The result for one version."""

    GOOD = "good"
    BAD = "bad"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


def bounds(answers: Mapping[int, Answer]) -> tuple[int, int]:
    """The indices of the last good version before the first bad one, and of that bad one."""
    bad = min(place for place, answer in answers.items() if answer is Answer.BAD)
    return max(place for place, answer in answers.items() if answer is Answer.GOOD and place < bad), bad


def next_place(answers: Mapping[int, Answer]) -> int | None:
    """The version to test next: the untested one nearest to the middle; None if none is left.

    ``answers`` are by index; version 0, the oldest, is good, and the newest is bad.
    """
    good, bad = bounds(answers)
    open_places = [place for place in range(good + 1, bad) if place not in answers]
    return min(open_places, key=lambda place: (abs(2 * place - good - bad), place), default=None)


def suspects(answers: Mapping[int, Answer]) -> range:
    """The indices among which the first bad version is; a single one if all versions could be tested."""
    good, bad = bounds(answers)
    return range(good + 1, bad + 1)


def most_questions(versions: int) -> int:
    """The maximum number of comparisons if all versions can be tested, including that of both ends."""
    return 1 + max(0, versions - 2).bit_length()
