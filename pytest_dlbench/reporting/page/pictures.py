"""Charts as PNG and SVG without a browser, for comments on pull requests."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from pytest_dlbench.reporting.charts import CHARTS, Chart, Measured
from pytest_dlbench.reporting.charts.chart import Value, distinct, joined
from pytest_dlbench.storing.files import write_whole

THEMES: dict[str, dict[str, Any]] = json.loads(
    files("pytest_dlbench.reporting.page").joinpath("themes.json").read_text("utf-8")
)
WIDTH = 720
# In pixels: the width of a legend entry, and the height of a line of them.
LEGEND_ENTRY, LEGEND_LINE = 140, 17
MOST = 30
"""How many values of a chart's ``limit`` are drawn: a picture has no button to show all."""
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def write(chart: Chart, cases: Sequence[Measured], folder: Path) -> tuple[Path, ...]:
    """Write one chart to ``<name>.svg`` and ``<name>.png`` in a folder, in the light theme; returns the paths."""
    drawn = specification(chart, cases)
    svg, png = folder / f"{chart.name}.svg", folder / f"{chart.name}.png"
    write_whole(svg, vl_convert.vegalite_to_svg(drawn, vl_version=VEGA_LITE).encode())
    write_whole(png, vl_convert.vegalite_to_png(drawn, vl_version=VEGA_LITE, scale=2.0))
    return svg, png


def remove_others(charts: Iterable[Chart], folder: Path) -> None:
    """Remove the pictures of all other charts, which an earlier report wrote to this folder; no other file."""
    # Without cases, every chart has its name and a reason.
    others = {draw(()).name for draw in CHARTS} - {chart.name for chart in charts}
    for path in [*folder.glob("*.svg"), *folder.glob("*.png")]:
        if path.stem in others:
            path.unlink()


def specification(chart: Chart, cases: Sequence[Measured]) -> dict[str, Any]:
    """The complete Vega-Lite specification of a picture, with its rows."""
    rows, subtitle = _shown(chart, joined(chart, cases))
    light = THEMES["light"]
    title = {"text": chart.title, "subtitle": subtitle, "anchor": "start", "subtitleColor": "#5b6b7b"}
    picture = _with_shown_legends(chart.picture, rows)
    size = {} if "facet" in picture else {"width": WIDTH, "height": _height(picture)}
    return {
        **picture,
        **size,
        "title": title,
        "datasets": {**chart.picture.get("datasets", {}), "rows": rows},
        "config": {**light, "background": "#ffffff", "legend": {**light["legend"], "columns": WIDTH // LEGEND_ENTRY}},
    }


def _with_shown_legends(picture: Mapping[str, Any], rows: Sequence[Mapping[str, Value]]) -> dict[str, Any]:
    """The picture with legends of what it shows; their colours stay those of all values, as page.js has it."""

    def visit(part: Any) -> Any:
        if isinstance(part, list):
            return [visit(one) for one in part]
        if not isinstance(part, dict):
            return part
        domain: Sequence[Value] = (part.get("scale") or {}).get("domain") or ()
        column = str(part.get("field"))
        is_listed = part.get("type") == "nominal" and domain and part.get("legend", {}) is not None
        if not is_listed or not rows or column not in rows[0]:
            return {name: value if name == "datasets" else visit(value) for name, value in part.items()}
        there = {row[column] for row in rows}
        return {**part, "legend": {**part.get("legend", {}), "values": [value for value in domain if value in there]}}

    return dict(visit(picture))


def _height(picture: Mapping[str, Any]) -> Any:
    """The height of the chart, plus the lines of a long legend, which would otherwise leave no room for the plot."""
    encodings = [part.get("encoding", {}) for part in (picture, *picture.get("layer", ()))]
    entries = max(len((encoding.get("color", {}).get("legend") or {}).get("values", ())) for encoding in encodings)
    lines = max(1, ceil(entries / (WIDTH // LEGEND_ENTRY)))
    height = picture["height"]
    return height + LEGEND_LINE * (lines - 1) if isinstance(height, int) else height


def _shown(chart: Chart, rows: list[dict[str, Value]]) -> tuple[list[dict[str, Value]], list[str]]:
    """The rows of the first choice and of the first values, and lines that say so."""
    subtitle = []
    if chart.choose:
        choices = distinct(row[chart.choose] for row in rows)
        rows = [row for row in rows if row[chart.choose] == choices[0]]
        others = f" (1 of {len(choices)})" if len(choices) > 1 else ""
        subtitle.append(f"{choices[0]}{others}")
    if chart.limit:
        values = distinct(row[chart.limit] for row in rows)
        rows = [row for row in rows if row[chart.limit] in values[:MOST]]
        subtitle += [f"the first {MOST} of {len(values)}"] if len(values) > MOST else []
    return rows, subtitle
