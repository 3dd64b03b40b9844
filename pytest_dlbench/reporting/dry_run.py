"""What would run, as a table: one row per case, and the total."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_dlbench.records import SkippedCell
from pytest_dlbench.reporting import figures, skips, terminal

RUNS = "runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case, as far as it is known without running it.

    ``runs`` is 0 if it would not run, ``seconds`` is the time of all its runs. ``state`` begins with RUNS, or says why
    the case would not run.
    """

    case: str
    state: str
    parameters: int | None = None
    multiply_adds: int | None = None
    steps: int | None = None
    recipe_steps: int | None = None
    batch_size: int | None = None
    runs: int = 0
    seconds: float | None = None
    is_measured: bool = False


def table(rows: Sequence[Row], skipped: Iterable[SkippedCell], *, is_verbose: bool) -> list[str]:
    """The rows, the skipped cells (each one if verbose, else one line), and the total."""
    cells = list(skipped)
    shown = [*rows, *(Row(case=cell.id, state=f"skipped: {cell.reason}") for cell in cells if is_verbose)]
    lines = ["", *_grid(shown), ""] if shown else []
    lines += [] if is_verbose else skips.lines(cells, is_listed=False)
    return [*lines, _total(rows)]


def _grid(rows: Iterable[Row]) -> list[str]:
    counts = ("parameters", "multiply-adds", "steps", "batch size", "runs", "expected")
    grid = terminal.grid("case", right=counts)
    grid.add_column("state", no_wrap=True)
    for row in rows:
        grid.add_row(row.case, *_cells(row), row.state)
    return terminal.lines(grid)


def _cells(row: Row) -> list[str]:
    cut = row.steps and row.recipe_steps and row.steps < row.recipe_steps
    return [
        _count(row.parameters),
        _count(row.multiply_adds),
        f"{row.steps:,} of {row.recipe_steps:,}" if cut else f"{row.steps:,}" if row.steps else "–",
        f"{row.batch_size:,}" if row.batch_size else "–",
        str(row.runs or "–"),
        "–" if row.seconds is None else _time(row.seconds, is_measured=row.is_measured),
    ]


def _count(number: int | None) -> str:
    return "–" if number is None else figures.count(number)


def _time(seconds: float, *, is_measured: bool) -> str:
    """Estimates are marked with ~."""
    return f"{'' if is_measured else '~'}{figures.duration(seconds)}"


def _total(rows: Sequence[Row]) -> str:
    running = [row for row in rows if row.state.startswith(RUNS)]
    timed = [row for row in running if row.seconds is not None]
    measured = sum(row.is_measured for row in timed)
    seconds = sum(row.seconds or 0.0 for row in timed)
    parts = [f"{measured} from the journals"] if measured else []
    parts += [f"{len(timed) - measured} estimated"] if measured < len(timed) else []
    parts += [f"{len(running) - len(timed)} of unknown length"] if len(timed) < len(running) else []
    if not running:
        return "total: nothing to run"
    counts = (_many(len(running), "case"), _many(sum(row.runs for row in running), "run"))
    return f"total: {', '.join(counts)}, {_time(seconds, is_measured=measured == len(running))} ({', '.join(parts)})"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
