"""Models, environments, data sets and journals as lines of text, for the ``dlbench`` command."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from pytest_dlbench.data import Dataset, Source
from pytest_dlbench.environments import Environment
from pytest_dlbench.environments.building import Built
from pytest_dlbench.model import Network
from pytest_dlbench.model.shapes import show
from pytest_dlbench.records import CaseResult, Run
from pytest_dlbench.reporting import tables, terminal
from pytest_dlbench.reporting.columns import Layout
from pytest_dlbench.storing import Damage, Entry


def models(networks: Iterable[Network]) -> list[str]:
    """One row per model."""
    grid = terminal.grid("model", "sources", right=("input", "parameters", "multiply-adds", "network"))
    for network in networks:
        model = network.model
        counts = (f"{network.parameter_count:,}", f"{network.multiply_adds:,}", network.digest)
        grid.add_row(model.name, ", ".join(model.sources), show(model.input_shape), *counts)
    return terminal.lines(grid)


def layers(network: Network) -> list[str]:
    """One row per layer, and the totals."""
    grid = terminal.grid("layer", "definition", right=("output", "parameters", "multiply-adds"))
    for placed in network.layers:
        parameters = sum(prod(parameter.shape) for parameter in placed.inferred.parameters)
        output, work = show(placed.inferred.output), placed.inferred.multiply_adds
        grid.add_row(placed.name, str(placed.layer), output, f"{parameters:,}", f"{work:,}")
    grid.add_row("total", "", "", f"{network.parameter_count:,}", f"{network.multiply_adds:,}")
    return terminal.lines(grid)


def environments(
    rows: Iterable[tuple[Environment, Sequence[str], Built | str]], others: Mapping[str, Built | None]
) -> list[str]:
    """One row per declared environment, and whatever else is in their folder."""
    grid = terminal.grid("environment", "frameworks", "state", right=("Python", "size"))
    for environment, frameworks, state in rows:
        size = f"{state.bytes / 2**20:,.0f} MiB" if isinstance(state, Built) else ""
        shown = f"built by {state.tool} in {state.seconds:.0f} s" if isinstance(state, Built) else state
        grid.add_row(environment.name, ", ".join(frameworks), shown, environment.python, size)
    lines = terminal.lines(grid)
    for name, built in others.items():
        lines.append(f"also there: {name} ({'not finished' if built is None else 'other pins'})")
    return lines


def datasets(rows: Iterable[tuple[Dataset, str]], others: Iterable[tuple[Source, str]]) -> list[str]:
    """One row per data set, and one for files that no data set uses yet."""
    grid = terminal.grid("data set", "state", "labels", right=("shape", "classes", "vocabulary", "train", "test"))
    for dataset, state in rows:
        vocabulary = f"{dataset.vocabulary:,}" if dataset.vocabulary else ""
        counts = (f"{dataset.train_examples:,}", f"{dataset.test_examples:,}")
        row = (dataset.name, state, dataset.task, show(dataset.shape), f"{dataset.classes:,}", vocabulary, *counts)
        grid.add_row(*row)
    for source, state in others:
        grid.add_row(source.name, state, "", "", "", "", "", "")
    return terminal.lines(grid)


def journal(entries: Iterable[Entry | Damage]) -> tuple[list[str], list[str]]:
    """The judged cases as the session showed them, the runs of cases that were not judged, and damaged lines."""
    results: list[CaseResult] = []
    damages: list[str] = []
    open_runs: dict[str, list[Run]] = {}
    for entry in entries:
        if isinstance(entry, Damage):
            damages.append(entry.message)
        elif entry.run:
            open_runs.setdefault(entry.run.case, []).append(entry.run)
        elif entry.result:
            # Without new runs it replaces the last one: the test failed after the case was judged.
            if open_runs.pop(entry.result.case.id, None) is None:
                earlier = [place for place, known in enumerate(results) if known.case.id == entry.result.case.id]
                results = [known for place, known in enumerate(results) if place not in earlier[-1:]]
            results.append(entry.result)
    lines = tables.tables([tables.Row(result=result) for result in results], Layout())
    for case, runs in open_runs.items():
        outcomes = ", ".join(f"run {run.index + 1} {run.outcome}" for run in runs)
        lines.append(f"not judged: {case}: {outcomes}")
    return lines, damages
