"""Runs that have ended are examined and kept: what prevents the one must not prevent the other."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.reasons import NotExamined
from pytest_dlbench.running.interrupts import undisturbed
from pytest_dlbench.running.run_spec import RunSpec


def examined_and_kept(
    runs: Sequence[tuple[RunSpec, Run]], examine: Callable[[RunSpec, Run], Run], keep: Callable[[Sequence[Run]], None]
) -> Sequence[Run]:
    """The runs as ``examine`` returns them, each with its spec, after ``keep`` was called with all of them.

    If ``examine`` raises, so does this, and those that are not examined by then are kept as invalid ones.
    """
    found: list[Run] = []
    try:
        for spec, run in runs:
            found.append(examine(spec, run))
    # An interrupt, too: to examine a run takes seconds, and the run may have taken hours.
    except BaseException as error:
        with undisturbed():
            keep([*found, *(_not_examined(run, error) for _, run in runs[len(found) :])])
        raise
    with undisturbed():
        keep(found)
    return found


def _not_examined(run: Run, error: BaseException) -> Run:
    """The run, invalid if it finished; of another one nothing would have been examined."""
    if run.outcome is not RunOutcome.FINISHED:
        return run
    return replace(run, invalid=(NotExamined(said=said(error)),))


def said(error: BaseException) -> str:
    """An exception as one line, which any file can hold."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text.encode(errors="replace").decode()
