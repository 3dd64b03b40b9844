"""What all pictures share: the source of rows, the colours of frameworks, the width of the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts.measured import Measured

ROWS = alt.NamedData("rows")
NARROW_ROW, WIDE_ROW = 18, 24
HEIGHT = 300
# Of small pictures.
COLUMNS, SMALL_WIDTH, SMALL_HEIGHT = 4, 140, 90


def framework(cases: Sequence[Measured]) -> alt.Color:
    """One colour per framework, the same in every picture and under every filter."""
    names = sorted({case.case.framework for case in cases})
    return alt.Color("framework:N", title=None, scale=alt.Scale(domain=names))


def framework_of_row(cases: Sequence[Measured]) -> alt.Color:
    """The same without a legend, for rows whose names include the framework."""
    coloured: alt.Color = framework(cases).legend(None)
    return coloured


def label(column: str, title: str | None = None) -> alt.Y:
    """A labelled row for every value, in the order of the data."""
    return alt.Y(
        f"{column}:N", sort=None, title=title, axis=alt.Axis(labelLimit=420, ticks=False, domain=False, grid=True)
    )


def share() -> alt.Scale:
    """The scale of a share in percent: padding would go beyond 100 %, round ends do not."""
    return alt.Scale(zero=False, nice=True)


def hint(*columns: tuple[str, str]) -> list[alt.Tooltip]:
    """A tooltip: columns with their types, and the headings."""
    return [alt.Tooltip(name, title=title) for name, title in columns]


def multiples(picture: alt.LayerChart | alt.FacetChart, column: str) -> Mapping[str, Any]:
    """The specification of a small picture for every value of a column; how many fit in a row is up to the page."""
    facet = alt.Facet(f"{column}:N", title=None)
    panels: Any = picture
    found: dict[str, Any] = panels.facet(facet=facet, data=ROWS, columns=COLUMNS).to_dict()
    found.pop("config", None)
    found["spec"] |= {"width": SMALL_WIDTH, "height": SMALL_HEIGHT}
    return found


def specification(picture: alt.Chart | alt.LayerChart | alt.FacetChart, height: int | alt.Step) -> Mapping[str, Any]:
    """The Vega-Lite specification of a picture as wide as its page; colours and fonts are up to the page."""
    # The height follows from the number of rows if these have a fixed height; only the width has to fit.
    autosize = alt.AutoSizeParams(type="fit" if isinstance(height, int) else "fit-x", contains="padding")
    found: dict[str, Any] = picture.properties(width="container", height=height, autosize=autosize).to_dict()
    found.pop("config", None)
    return found
