"""Published figures, and ours next to them, as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_dlbench.reporting import figures as shown
from pytest_dlbench.reporting import terminal
from pytest_dlbench.reporting.published.comparison import Comparison, summary
from pytest_dlbench.reporting.published.studies import Figure, Study, flaws


def studies(known: Mapping[str, Study], counts: Mapping[str, int]) -> list[str]:
    """One row per study."""
    grid = terminal.grid("source", "study", right=("figures",))
    for name, study in known.items():
        grid.add_row(name, f"{study.title}; {study.authors}; {study.published}", f"{counts[name]:,}")
    return terminal.lines(grid)


def study(name: str, source: Study, published: Sequence[Figure]) -> list[str]:
    """The sources of a study, one row per figure, and the known flaws."""
    lines = [f"{name}: {source.title}", f"  {source.authors}; {source.published}"]
    lines += [f"  {source.repository}"] if source.repository else []
    lines += [f"  {file}: {what}" for file, what in source.files.items()]
    grid = terminal.grid(
        "framework", "model", "data set", "device", "metric", right=("threads", "GPUs", "batch", "value")
    )
    for figure in published:
        value = f"{figure.value or '–'} {figure.unit}".rstrip()
        place = (figure.framework, figure.model, figure.dataset, figure.device, figure.metric)
        grid.add_row(*place, figure.threads, figure.gpus, figure.batch_size, value)
    return [*lines, "", *terminal.lines(grid), "", "known flaws:", *(f"  {flaw}" for flaw in _known(published))]


def _known(published: Sequence[Figure]) -> Iterator[str]:
    """Each flaw once, with its cells unless all have it."""
    places = dict.fromkeys(_place(figure) for figure in published)
    found: dict[str, dict[str, None]] = {}
    for figure in published:
        for flaw in flaws(figure):
            found.setdefault(flaw, {})[_place(figure)] = None
    for flaw, having in found.items():
        yield flaw if len(having) == len(places) else f"{', '.join(having)}: {flaw}"


def _place(figure: Figure) -> str:
    return f"{figure.model} on {figure.dataset}"


def side_by_side(comparisons: Iterable[tuple[str, Comparison]]) -> list[str]:
    """One row per pair of frameworks and published condition; ours are named by their cell."""
    found = list(comparisons)
    grid = terminal.grid("study", "frameworks", "ours", right=("then", "now", "interval", "rank then", "now", "order"))
    grid.add_column("published for", no_wrap=True)
    for cell, one in found:
        ratios = (shown.significant(one.then), shown.significant(one.now.estimate))
        interval = f"[{shown.significant(one.now.lower)}, {shown.significant(one.now.upper)}]"
        ranks = (f"{one.rank_then} of {one.of}", f"{one.rank_now} of {one.of}")
        pair = f"{one.ours[0]} / {one.ours[1]}"
        grid.add_row(one.cell.source, pair, cell, *ratios, interval, *ranks, one.held.value, one.cell.condition)
    known = dict.fromkeys(f"{one.cell.source}, {one.cell.model}: {flaw}" for _, one in found for flaw in one.flaws)
    orders = summary(one for _, one in found)
    return [*terminal.lines(grid), "", orders, "known flaws of the published cells:", *(f"  {flaw}" for flaw in known)]
