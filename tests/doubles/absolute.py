"""A hook's metric that needs no baseline: 0 is right."""

from pytest_dlbench.judging import Metric
from pytest_dlbench.records import Run


def lost_share(run: Run) -> float | None:
    """The share that a run lost of something; None if it does not have the metric."""
    return run.hooked.get("lost")


LOST = Metric(
    name="lost", unit="share", better="lower", kind="points", value=lost_share, is_absolute=True, tolerance=2.0
)
