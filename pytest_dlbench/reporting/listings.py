"""Models, environments, data sets and journals as lines of text, for the ``dlbench`` command."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from pytest_dlbench.data import Dataset
from pytest_dlbench.environments import Environment
from pytest_dlbench.environments.building import Built
from pytest_dlbench.judging import described
from pytest_dlbench.model import Network
from pytest_dlbench.model.shapes import show
from pytest_dlbench.records import CaseResult, MetricFacts, Run
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


def libraries(rows: Iterable[tuple[str, Sequence[str], str]]) -> list[str]:
    """One row per framework: what --dlbench-set library=NAME may ask for, or why nothing."""
    grid = terminal.grid("framework", "libraries", "why none", right=())
    for framework, names, reason in rows:
        grid.add_row(framework, ", ".join(names), reason)
    return terminal.lines(grid)


def datasets(rows: Iterable[tuple[Dataset, str]]) -> list[str]:
    """One row per data set."""
    grid = terminal.grid("data set", "state", "labels", right=("shape", "classes", "vocabulary", "train", "test"))
    for dataset, state in rows:
        vocabulary = f"{dataset.vocabulary:,}" if dataset.vocabulary else ""
        counts = (f"{dataset.train_examples:,}", f"{dataset.test_examples:,}")
        row = (dataset.name, state, dataset.task, show(dataset.shape), f"{dataset.classes:,}", vocabulary, *counts)
        grid.add_row(*row)
    return terminal.lines(grid)


def journal(entries: Iterable[Entry | Damage]) -> tuple[list[str], list[str]]:
    """The judged cases as the session showed them, the runs of cases that were not judged, and damaged lines."""
    damages: list[str] = []
    results: dict[tuple[str, int], CaseResult] = {}
    places: Counter[str] = Counter()
    facts: dict[str, MetricFacts] = {}
    open_runs: dict[str, list[Run]] = {}
    for entry in entries:
        if isinstance(entry, Damage):
            damages.append(entry.message)
        elif entry.run:
            open_runs.setdefault(entry.run.case, []).append(entry.run)
        elif entry.result:
            name = entry.result.case.id
            # Without runs it replaces the last one: the test failed after the case was judged.
            is_amended = not entry.runs and name not in open_runs and places[name]
            places[name] += 0 if is_amended else 1
            results[name, places[name]] = entry.result
            facts |= {one.name: one for one in entry.metrics}
            open_runs.pop(name, None)
        elif entry.resumed:
            # What is concluded again replaces what was concluded before.
            places.clear()
    layout = Layout(metrics=described(facts.values()))
    lines = tables.tables([tables.Row(result=result) for result in results.values()], layout)
    for case, runs in open_runs.items():
        outcomes = ", ".join(f"run {run.index + 1} {run.outcome}" for run in runs)
        lines.append(f"not judged: {case}: {outcomes}")
    return lines, damages
