"""What all pictures share: where rows come from, the colours of frameworks, the width of the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts.measured import Measured

ROWS = alt.NamedData("rows")
NARROW_ROW, WIDE_ROW = 18, 24
HEIGHT = 300


def framework(cases: Sequence[Measured]) -> alt.Color:
    """One colour a framework, the same in every picture and under every filter."""
    names = sorted({case.case.framework for case in cases})
    return alt.Color("framework:N", title=None, scale=alt.Scale(domain=names))


def framework_of_row(cases: Sequence[Measured]) -> alt.Color:
    """The same where the name of each row has the framework in it, and a legend would say it again."""
    coloured: alt.Color = framework(cases).legend(None)
    return coloured


def label(column: str, title: str | None = None) -> alt.Y:
    """A row of text at the left for every value, in the order of the rows."""
    return alt.Y(
        f"{column}:N", sort=None, title=title, axis=alt.Axis(labelLimit=420, ticks=False, domain=False, grid=True)
    )


def hint(*columns: tuple[str, str]) -> list[alt.Tooltip]:
    """What a pointer shows: columns with their types, and the headings."""
    return [alt.Tooltip(name, title=title) for name, title in columns]


def specification(picture: alt.Chart | alt.LayerChart | alt.FacetChart, height: int | alt.Step) -> Mapping[str, Any]:
    """The picture in Vega-Lite, as wide as its page; colours and fonts are left to where it is shown."""
    # Rows of a fixed height make a picture as high as they are many; only its width has to fit.
    autosize = alt.AutoSizeParams(type="fit" if isinstance(height, int) else "fit-x", contains="padding")
    found: dict[str, Any] = picture.properties(width="container", height=height, autosize=autosize).to_dict()
    found.pop("config", None)
    return found
