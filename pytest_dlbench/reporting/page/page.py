"""The page: charts, tables and verdicts of a report in one self-contained file."""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from pytest_dlbench.judging import METRICS, Metrics, shown_in
from pytest_dlbench.judging.outcomes import ALWAYS_FAILING
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.reporting import cautions, explain, figures, foreign
from pytest_dlbench.reporting.charts import CHARTS, Chart, Measured, Nothing, Table, changes, history
from pytest_dlbench.reporting.charts.chart import of_case, shown
from pytest_dlbench.reporting.charts.measured import shared
from pytest_dlbench.reporting.columns import heading, is_shown
from pytest_dlbench.reporting.page import decision, vega
from pytest_dlbench.reporting.page.gathering import Gathered
from pytest_dlbench.reporting.page.pictures import THEMES
from pytest_dlbench.storing.files import write_whole

HERE = files("pytest_dlbench.reporting.page")
# Outcomes that need no attention; the others are listed with their reasons.
# Reasons that say nothing about figures: shown on request.
BRIEF = (CaseOutcome.UNSUPPORTED.value, CaseOutcome.SKIPPED.value)
FIRST_STATEMENTS = 8
QUIET = (CaseOutcome.PASSED, CaseOutcome.NO_BASELINE, CaseOutcome.IMPROVED)


def write(path: Path, gathered: Gathered) -> tuple[Chart | Table, ...]:
    """Write the page atomically; returns what it shows."""
    # The other charts need only the cases.
    more = {history.chart: (gathered.past, gathered.metrics), changes.chart: (gathered.metrics,)}
    drawn = [draw(gathered.cases, *more.get(draw, ())) for draw in CHARTS]
    write_whole(path, render(gathered, drawn).encode())
    return tuple(chart for chart in drawn if not isinstance(chart, Nothing))


def render(gathered: Gathered, drawn: Sequence[Chart | Table | Nothing]) -> str:
    """The HTML of the page. Everything from records is escaped, as HTML or as JSON."""
    columns = _columns(gathered.cases, gathered.metrics)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, finalize=_harmless
    )
    scripts = (vega.script(), HERE.joinpath("page.js").read_text("utf-8"))
    return environment.from_string(HERE.joinpath("page.html.j2").read_text("utf-8")).render(
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=Markup(HERE.joinpath("page.css").read_text("utf-8")),
        scripts=[Markup(script) for script in scripts],
        hashes=[_hash(script) for script in scripts],
        themes=_json(THEMES),
        cases=_json({"rows": [_case(case) for case in gathered.cases]}),
        gathered=gathered,
        shared=shared(gathered.cases),
        outcomes=Counter(case.result.outcome.value for case in gathered.cases if not case.is_baseline),
        headline=decision.headline(gathered.cases, gathered.metrics),
        statements=decision.statements(gathered.cases, gathered.metrics),
        first_statements=FIRST_STATEMENTS,
        folded=_folded,
        brief=BRIEF,
        columns=[heading(column, gathered.metrics) for column in columns],
        rows=[_row(case.result, columns, gathered.metrics) for case in gathered.cases],
        noisy=_noisy(gathered.cases),
        warned=_warned(gathered.cases, gathered.metrics),
        reasons=lambda result: explain.paragraphs(result, gathered.metrics),
        verdict=cautions.verdict,
        shown=[(table, isinstance(table, Chart), _data(table)) for table in drawn if not isinstance(table, Nothing)],
        nothing=[chart for chart in drawn if isinstance(chart, Nothing)],
    )


def _noisy(cases: Sequence[Measured]) -> list[tuple[int, Measured]]:
    """The cases that need attention, with their numbers; failures first, then suspects."""
    noisy = [
        (number, case) for number, case in enumerate(cases) if case.result.outcome not in QUIET and not case.is_baseline
    ]

    def urgency(pair: tuple[int, Measured]) -> tuple[bool, bool]:
        outcome = pair[1].result.outcome
        return outcome not in ALWAYS_FAILING, outcome is not CaseOutcome.SUSPECT

    return sorted(noisy, key=urgency)


def _folded(lines: Sequence[str]) -> str:
    """The last line that says something: of a traceback, the error itself."""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _warned(cases: Sequence[Measured], metrics: Metrics) -> list[tuple[int, Measured, Sequence[str]]]:
    """The cases whose figures may mislead, with their numbers and the warnings."""
    found = [(number, case, cautions.warnings(case.result, metrics)) for number, case in enumerate(cases)]
    return [one for one in found if one[2]]


def _case(case: Measured) -> dict[str, Any]:
    return {"case": case.label, **of_case(case), "outcome": case.outcome}


def _columns(cases: Sequence[Measured], metrics: Metrics) -> list[str]:
    """The metrics of these cases, including those of hooks, installed or not."""
    known = {name: None for case in cases for name in case.result.figures}
    default = [metric.name for metric in shown_in("page", metrics) if is_shown(metric, known)]
    return [*default, *(name for name in known if name not in METRICS and name not in default)]


def _row(result: CaseResult, columns: Sequence[str], metrics: Metrics) -> list[str]:
    cells = [figures.cell(name, result.figures[name], metrics) if name in result.figures else "–" for name in columns]
    return [*cells, f"{result.certificate.deviation:.0e}" if result.certificate else "–"]


def _data(table: Table) -> Markup:
    data: dict[str, Any] = {"name": table.name, "columns": table.columns, "rows": list(map(shown, table.rows))}
    if isinstance(table, Chart):
        data |= {"picture": table.picture, "choose": table.choose, "limit": table.limit}
    return _json(data)


def _harmless(value: Any) -> Any:
    """Text without control characters; what is markup already is ours."""
    return foreign.block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _json(value: Mapping[str, Any]) -> Markup:
    """JSON for a script element: it cannot end the element, nor begin a comment."""
    text = msgspec.json.encode(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _hash(script: str) -> str:
    """The hash of a script for the page's security policy, which allows these scripts and nothing from a record."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
