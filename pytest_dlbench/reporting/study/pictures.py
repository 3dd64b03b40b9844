"""The charts of a study as SVG: the same bytes from the same figures, and readable without colours."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import vl_convert

from pytest_dlbench.reporting.charts import Chart, Measured
from pytest_dlbench.reporting.page.pictures import VEGA_LITE, specification
from pytest_dlbench.reporting.study.document import Picture

# Part of the renderer, so that widths of texts do not depend on the machine's fonts.
FONT = "Liberation Sans"
# From dark to light in equal steps, so that they differ in print as well.
COLOURS = ("#0b1f3a", "#a3260f", "#2a8fb5", "#dd9f2b", "#b9cfa0")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4), (4, 6))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
SIGNS: Mapping[str, tuple[str, tuple[object, ...]]] = {"line": ("strokeDash", DASHES), "point": ("shape", SHAPES)}
# In an SVG, clip paths and gradients are numbered through the life of the renderer.
NUMBERED = re.compile(r'(?:id="|url\(#|href="#)((?:clip|gradient)[_\d]+)')


def drawn(chart: Chart, cases: Sequence[Measured], *, name: str, alt: str) -> Picture:
    """A chart as a picture; ``alt`` states its figures in words."""
    asked = _readable(specification(chart, cases))
    svg = vl_convert.vegalite_to_svg(asked, vl_version=VEGA_LITE)
    return Picture(name=name, caption=chart.lead, alt=alt, svg=_renumbered(svg) + "\n")


def _readable(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with colours of different lightness, and a dash and a shape for each framework."""
    config = asked["config"]
    colours = {**config["range"], "category": COLOURS, "ordinal": COLOURS}
    shown: dict[str, Any] = _with_signs(dict(asked))
    return {**shown, "config": {**config, "font": FONT, "range": colours}}


def _with_signs(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_signs(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: value if name in ("datasets", "config") else _with_signs(value) for name, value in part.items()}
    colour = found.get("encoding", {}).get("color", {})
    if colour.get("field") != "framework" or "scale" not in colour:
        return found
    mark = found["mark"]["type"] if isinstance(found.get("mark"), dict) else str(found.get("mark"))
    sign, values = SIGNS.get(mark, ("", ()))
    if not sign or sign in found["encoding"]:
        return found
    domain = colour["scale"]["domain"]
    scale = {"domain": domain, "range": [values[place % len(values)] for place in range(len(domain))]}
    return {**found, "encoding": {**found["encoding"], sign: {**colour, "scale": scale}}}


def _renumbered(svg: str) -> str:
    """The same with these ids numbered from 0 in the order of their appearance."""
    names = dict.fromkeys(NUMBERED.findall(svg))
    fresh = {name: f"{name.rstrip('_0123456789')}{place}" for place, name in enumerate(names)}
    return re.sub(r"\b(?:clip|gradient)[_\d]+\b", lambda found: fresh.get(found[0], found[0]), svg)
