"""The reference pages, as Markdown, from the tables, records and parsers that the program itself uses."""

import argparse
import os
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import EnumMeta
from inspect import cleandoc, getmembers, isclass, isfunction, isroutine, signature, unwrap
from pathlib import Path

import pytest_dlbench as dlb
from pytest_dlbench import judging, records
from pytest_dlbench.cli import main
from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.judging.scales import smallest_spread
from pytest_dlbench.options import OPTIONS
from pytest_dlbench.options.parsers import flag
from pytest_dlbench.planning import hookspecs
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.plugin import hooks, parametrize
from pytest_dlbench.plugin.fixture import Dlbench, Result
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting.exports import FORMATS
from pytest_dlbench.reporting.figures import figure
from pytest_dlbench.reporting.published import tables, verdicts
from pytest_dlbench.reporting.published.register import register
from pytest_dlbench.storing import recorded

OF_THE_FORMAT = {"Document": recorded.Document, "Recorded": recorded.Recorded}
API = """# The Python API

    import pytest_dlbench as dlb

Everything below is `dlb.NAME`, loaded when it is first used: `import pytest_dlbench` alone imports no NumPy and no
framework. These names are the public API; all others, and all modules of the package, are private and may change in any
release.
"""
CLAIMS = """# Claims of the five studies

What five studies claimed, in our words, and the rule that decides each from your records:

    dlbench claims .dlbench

- A rule compares cases of one session that differ in nothing but what it is about. Several rules must all hold.
- A claim *holds* if every 90 % interval is inside the rule's limits, and everything that it needs was compared.
- It *does not hold* if one interval is outside, at the level divided by the number of comparisons.
- Otherwise it *cannot be decided*, for one of the reasons at the end of this page.

Frameworks have the study's names; those without an equivalent are not compared. Where no figure supports a claim by
itself, as for averages of several cells, it is not in the register. The wording of a study's prose is not quoted: where
the text was not available, the claim is what its table shows.
"""
API_HEADINGS = {
    "model": "Models",
    "model.operators": "Single operators",
    "planning.search_space": "Searches",
    "zoo": "The zoo",
    "environments": "Frameworks and devices",
    "data": "Data sets",
    "planning.matrix": "What fits",
    "judging": "Metrics",
    "judging.equivalence": "Equivalence",
    "sampling.sampler": "Samplers",
    "plugin.fixture": "Tests",
    "records": "Results and records",
    "storing": "Baselines",
    "storing.calibrations": "Calibrations",
    "storing.history": "History",
    "storing.recorded": "Reading journals and documents",
    "errors": "Errors",
}
# What has no docstring of its own.
VALUES = {
    "Shape": "The shape of one example, without the batch.",
    "Purpose": "What is run: `training`, `inference`, `operator` or `search`.",
    "RecurrentKernel": "What computes a recurrent layer: `cudnn`, `onednn`, `fused`, `scan`, `unrolled` or `loop`.",
    "Pass": "What an operator computes in one call: `forward`, `backward_data`, `backward_weights`, `backward` (both"
    " gradients), or `forward_backward`.",
    "Branch": "The layers of one branch of `Add` or `Concat`, in order.",
    "Head": "Any of the heads below.",
    "Optimizer": "Any of the optimizers below.",
    "Schedule": "Any of the learning-rate schedules below.",
    "MODELS": "The models of the zoo, by name.",
    "RECIPES": "Recipes that are a framework's own, by name; any other framework can be trained by them.",
    "FRAMEWORKS": "The built-in frameworks, by name.",
    "DEVICES": "The devices, by name.",
    "DATASETS": "The built-in data sets, by name.",
    "ANY_SHAPE": "The data set `synthetic`, which fits every model.",
    "METRICS": "The metrics, by name.",
    "MakeSampler": "What `pytest_dlbench_samplers` returns: from the worker's process id to its `Sampler`.",
}


def write(folder: Path) -> None:
    """Write all pages; a page that did not change keeps its time, so that Sphinx does not read it again."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "api": api,
        "options": options,
        "commands": commands,
        "plugin": plugin_parts,
        "outcomes": outcomes,
        "metrics": metrics,
        "records": record_fields,
        "claims": claims,
    }
    for name, page in pages.items():
        path, text = folder / f"{name}.md", "\n".join(page()) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def api() -> Iterator[str]:
    """Every public name with the first sentence of its docstring."""
    yield API
    for module, names in dlb.PUBLIC.items():
        yield from ("", f"## {API_HEADINGS[module]}", "")
        yield from _row("name", "what it is")
        yield from _row("---", "---")
        for name in names:
            yield from _row(f"`{name}`", VALUES.get(name) or _summary(getattr(dlb, name)))


def _summary(value: object) -> str:
    """The first paragraph of a class's or a function's own docstring."""
    own = unwrap(value) if callable(value) else value
    text = own.__doc__ if isclass(own) or isroutine(own) else None
    return cleandoc(text or "").split("\n\n")[0].replace("``", "`")


def options() -> Iterator[str]:
    """Every row of the table of options."""
    yield "# Options of pytest"
    yield ""
    yield "Each option is a flag of `pytest` and, with underscores, a key of its ini file. The command line takes"
    yield "precedence."
    yield ""
    yield from _row("flag", "ini key", "default", "meaning")
    yield from _row(*["---"] * 4)
    for option in OPTIONS:
        metavar = f"[{option.metavar}]" if option.without_value else option.metavar
        value = "" if option.parse is flag else f" {metavar}"
        default = "" if option.parse is flag or not option.default else f"`{option.default}`"
        # The number of cores of the machine that built this page means nothing to a reader.
        default = "all cores" if option.name == "threads" else default
        yield from _row(f"`{option.flag}{value}`", f"`{option.key}`", default, option.help)


def commands() -> Iterator[str]:
    """The help of every command."""
    # argparse wraps lines to the width of the terminal.
    os.environ["COLUMNS"] = "100"
    yield "# The dlbench command"
    yield ""
    yield "`dlbench completion bash` (or zsh, tcsh) prints the script that completes it in a shell."
    yield from _commands(main.parser())


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    children = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in children:
        for child in action.choices.values():
            yield from _commands(child)
    if not children:
        yield from ("", f"## {parser.prog}", "", "```text", parser.format_help().rstrip(), "```")


def plugin_parts() -> Iterator[str]:
    """Fixtures, methods of the dlbench fixture, hooks and markers."""
    yield "# Fixtures, hooks and markers"
    yield from ("", "## Fixtures", "")
    yield from _row("fixture", "value")
    yield from _row("---", "---")
    for name in ("framework", "model", "dataset", "device", "recipe", "dlbench"):
        fixture = getattr(hooks, name)
        yield from _row(f"`{name}`", cleandoc(fixture.__doc__))
    yield from ("", "## Methods of `dlbench`", "")
    for name, method in getmembers(Dlbench, isfunction):
        if not name.startswith("_"):
            yield from _described(f"dlbench.{name}", method)
    yield from ("", "## Methods of its results", "")
    yield from _described("result.require", Result.require)
    yield from ("", "## Hooks", "", "Implement them in a `conftest.py` or in a plugin of your own.", "")
    for name, hook in getmembers(hookspecs, isfunction):
        yield from _described(name, hook)
    yield from ("", "## Markers", "")
    yield from _row("marker", "which cases have it")
    yield from _row("---", "---")
    for name, meaning in parametrize.mark_lines(KNOWN):
        yield from _row(f"`{name}`", meaning)


def _described(name: str, function: object) -> Iterator[str]:
    parameters = [str(parameter) for parameter in signature(function).parameters.values() if parameter.name != "self"]
    # Without the modules that types come from, and the quotes of those that are not imported.
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", f"{name}({', '.join(parameters)})").replace("'", "")
    yield from ("```text", text, "```", "", cleandoc(function.__doc__ or "").replace("``", "`"), "")


def outcomes() -> Iterator[str]:
    """What every outcome of a case does to its test."""
    yield "# Outcomes of a case"
    yield from ("", cleandoc(CaseOutcome.__doc__ or ""), "")
    yield from _row("outcome", "its test", "with --dlbench-compare", "with --dlbench-strict")
    yield from _row(*["---"] * 4)
    for outcome in CaseOutcome:
        usual = "skips" if outcome in judging.SKIPPING else "passes"
        effects = [
            "fails"
            if judging.fails(outcome, is_gate=is_gate, is_strict=is_strict, allowed=frozenset(), is_shadow=False)
            else usual
            for is_gate, is_strict in ((False, False), (True, False), (False, True))
        ]
        yield from _row(f"`{outcome}`", *effects)
    yield from (
        "",
        "`--dlbench-allow` names outcomes that may pass the gate; with `--dlbench-shadow` verdicts never fail a test.",
    )


def metrics() -> Iterator[str]:
    """Every metric, and the formats that they are exported in."""
    yield "# Metrics and formats"
    yield ""
    yield "The smallest spread is a lower limit for the standard deviation of a difference."
    yield ""
    headings = ("metric", "heading", "of", "unit", "better", "compared as", "default tolerance", "smallest spread")
    yield from _row(*headings, "shown by default in")
    yield from _row(*["---"] * (len(headings) + 1))
    for metric in METRICS.values():
        known = (f"`{metric.name}`", metric.heading, metric.purpose or "both", metric.unit, metric.better, metric.kind)
        judged = "not judged" if metric.tolerance is None else _tolerance(metric, metric.tolerance)
        views = ", ".join(view.replace("_", " ") for view in metric.default_views)
        yield from _row(*known, judged, _amount(metric, smallest_spread(metric)), views)
    yield from ("", "## Formats of `dlbench export`", "")
    yield from _row("format", "what it is for")
    yield from _row("---", "---")
    for row in FORMATS.values():
        yield from _row(f"`{row.name}`", row.help)


def _tolerance(metric: Metric, amount: float) -> str:
    share = _amount(metric, amount)
    return f"{share}, at least {figure(metric.name, metric.least_change)}" if metric.least_change else share


def _amount(metric: Metric, amount: float) -> str:
    return f"{amount:g}pp" if metric.kind == "points" else f"{100 * amount:g}%"


def record_fields() -> Iterator[str]:
    """Every record and enumeration of the stored formats."""
    yield "# Record fields"
    yield ""
    yield "Journals hold `Run` and `CaseResult`, `--dlbench-json` a `Document`, baselines a `Baseline`."
    yield "`dlbench export schema` prints the JSON schema of a `Document`."
    own = dict(getmembers(records, is_dataclass))
    for name, kind in {**OF_THE_FORMAT, **own}.items():
        yield from ("", f"## {name}", "", cleandoc(kind.__doc__ or ""), "")
        yield from _row("field", "type", "default")
        yield from _row("---", "---", "---")
        for field in fields(kind):
            default = "" if field.default is MISSING else f"`{field.default!r}`"
            type_name = field.type if isinstance(field.type, str) else _type_name(field.type)
            yield from _row(f"`{field.name}`", f"`{type_name}`", default or _made(field))
    for name, kind in getmembers(records, lambda value: isinstance(value, EnumMeta)):
        yield from ("", f"## {name}", "", cleandoc(kind.__doc__ or ""), "", ", ".join(f"`{value}`" for value in kind))


def _type_name(kind: object) -> str:
    """As it is written in the code: without the modules that names come from."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return re.sub(r"\b(?:[a-z_]+\.)+", "", text)


def _made(field: object) -> str:
    return "" if getattr(field, "default_factory", MISSING) is MISSING else "empty"


def _row(*cells: str) -> Iterator[str]:
    yield "| " + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells) + " |"


def claims() -> Iterator[str]:
    """The register of claims, and the reasons for which they and published figures stay open."""
    yield CLAIMS
    yield from verdicts.reference(register())
    yield from ("", "## Why a claim cannot be decided", "")
    yield from _row("obstacle", "meaning")
    yield from _row("---", "---")
    for obstacle, why in verdicts.WHY.items():
        yield from _row(f"`{obstacle.value}`", why)
    yield from ("", "## Why a published figure has no place next to ours", "")
    yield from _row("reason", "meaning")
    yield from _row("---", "---")
    for reason, why in {**tables.ABSENT, **tables.UNMATCHED}.items():
        yield from _row(f"`{reason}`", why)
