"""The cells of the matrix that are skipped, by their reasons. Apart from ``terminal``, which is slow to load."""

from collections import Counter
from collections.abc import Iterable

from pytest_dlbench.records import SkippedCell

MOST_REASONS = 3


def lines(cells: Iterable[SkippedCell], *, is_listed: bool) -> list[str]:
    """One line with the most frequent reasons, or one for each reason if they are to be listed."""
    reasons = _counted(cells)
    if is_listed:
        return [f"skipped: {count:,} × {reason}" for reason, count in sorted(reasons.items())]
    if len(reasons) < 2:
        return [f"skipped: {text}" for text in _most_frequent(reasons)]
    others = len(reasons) - MOST_REASONS
    rest = reasons.total() - sum(count for _, count in reasons.most_common(MOST_REASONS))
    more = f"; {rest:,} for {others:,} other reason{'s' * (others > 1)}, which -rs or -v lists" if others > 0 else ""
    return [f"skipped: {reasons.total():,} cells of the matrix: {'; '.join(_most_frequent(reasons))}{more}"]


def _counted(cells: Iterable[SkippedCell]) -> Counter[str]:
    # Two tests with the same axes skip the same cells.
    return Counter(sorted(reason for _, reason in {(cell.id, cell.reason) for cell in cells}))


def _most_frequent(reasons: Counter[str]) -> list[str]:
    return [f"{count:,} × {reason}" for reason, count in reasons.most_common(MOST_REASONS)]
