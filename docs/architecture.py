"""Draws the package's layers from its imports: ``python docs/architecture.py OUT.svg``.

The site does so when it is built. The layers are those of the import contract in pyproject.toml, the arrows are read
from the code. An arrow between whose ends others lead is not drawn; one that points upwards is red.
"""

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "pytest_dlbench"
# The worker is a program of its own: no import crosses this border.
WORKER = "worker"

Edge = tuple[str, str]
Layers = Sequence[Sequence[str]]

WIDTH, ROW, TOP, LEFT = 980, 92, 24, 150
BOX_WIDTH, BOX_HEIGHT, BEND_WIDTH = 132, 46, 26


def layers() -> Layers:
    """The folders of each layer, top first, from the contract that import-linter checks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    return [[name.strip().removeprefix(f"{PACKAGE}.") for name in row.split("|")] for row in contract["layers"]]


def imports() -> Counter[Edge]:
    """How many import statements lead from each folder to each other one, those inside functions included."""
    found: Counter[Edge] = Counter()
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        folder = folder_of(path.relative_to(ROOT / PACKAGE).parts)
        if folder != WORKER:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.update((folder, other) for other in imported(tree) if folder and other not in ("", folder))
    return found


def modules() -> Counter[str]:
    """The number of modules in each folder."""
    paths = (path.relative_to(ROOT / PACKAGE).parts for path in (ROOT / PACKAGE).rglob("*.py"))
    return Counter(folder_of(parts) for parts in paths)


def folder_of(parts: Sequence[str]) -> str:
    """The folder, or module of the root, that a path belongs to; empty for the package itself."""
    return parts[0].removesuffix(".py").replace("__init__", "")


def imported(tree: ast.AST) -> Iterator[str]:
    """The folders that a module imports from."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            names = [f"{PACKAGE}.{each.name}" for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        for name in names:
            first, _, rest = name.partition(".")
            if first == PACKAGE and rest:
                yield rest.split(".")[0]


def implied(edges: set[Edge]) -> set[Edge]:
    """The edges between whose ends another way leads."""
    targets: dict[str, set[str]] = {}
    for source, target in edges:
        targets.setdefault(source, set()).add(target)

    def reachable(start: str) -> set[str]:
        return {far for near in targets.get(start, ()) for far in {near} | reachable(near)}

    return {(a, c) for a, c in edges if any(c in reachable(b) for b in targets[a] - {c})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The middle of a box, or of a bend of an arrow that passes a layer."""

    x: float
    y: float


def routed(rows: Layers, edges: set[Edge]) -> tuple[list[list[str]], dict[Edge, list[str]]]:
    """The rows with a bend for each arrow that passes them, and the stations of each arrow."""
    level = {name: number for number, row in enumerate(rows) for name in row}
    filled = [list(row) for row in rows]
    routes: dict[Edge, list[str]] = {}
    for source, target in sorted(edges):
        bends = [f"{source}>{target}@{number}" for number in range(level[source] + 1, level[target])]
        for number, bend in enumerate(bends, start=level[source] + 1):
            filled[number].append(bend)
        routes[source, target] = [source, *bends, target]
    return filled, routes


def placed(rows: Sequence[list[str]], routes: Mapping[Edge, list[str]]) -> dict[str, Place]:
    """Boxes and bends in each row, in the order that crosses least: each near the middle of its neighbours."""
    neighbours: dict[str, set[str]] = {}
    for stations in routes.values():
        for one, other in pairwise(stations):
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)
    spots: dict[str, Place] = {}
    for number, row in enumerate(rows):
        spots |= spread(row, number)
    for _ in range(24):
        for order in (range(len(rows)), reversed(range(len(rows)))):
            for number in order:
                row = rows[number]
                row.sort(key=lambda name: (mean([spots[each].x for each in neighbours.get(name, {name})]), name))
                spots |= spread(row, number)
    return spots


def spread(row: Sequence[str], number: int) -> dict[str, Place]:
    """One row, centred."""
    widths = [BEND_WIDTH if ">" in name else BOX_WIDTH for name in row]
    gap = min(40.0, (WIDTH - LEFT - sum(widths)) / (len(row) + 1))
    x = LEFT + (WIDTH - LEFT - sum(widths) - gap * (len(row) - 1)) / 2
    spots = {}
    for name, width in zip(row, widths, strict=True):
        spots[name] = Place(x=x + width / 2, y=TOP + ROW * number + BOX_HEIGHT / 2)
        x += width + gap
    return spots


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def drawing() -> str:
    """The picture, as SVG."""
    rows, counted, sizes = layers(), imports(), modules()
    level = {name: number for number, row in enumerate(rows) for name in row}
    known = {edge for edge in counted if edge[0] in level and edge[1] in level}
    upwards = {(source, target) for source, target in known if level[source] >= level[target]}
    downwards = known - upwards
    drawn = downwards - implied(downwards)
    filled, routes = routed(rows, drawn)
    spots = placed(filled, routes)
    height = TOP + ROW * len(rows) + 64
    return "\n".join(
        [
            *frame(height),
            *bands(rows),
            *(arrow([spots[each] for each in routes[edge]], edge, counted[edge], "#4a6785") for edge in sorted(drawn)),
            *(arrow([spots[a], spots[b]], (a, b), counted[a, b], "#c0392b") for a, b in sorted(upwards)),
            *(box(name, spots[name], sizes[name]) for row in rows for name in row),
            *worker(height, spots),
            "</svg>",
            "",
        ]
    )


def frame(height: int) -> Iterator[str]:
    """The picture's opening, its arrowhead and its ground."""
    label = f"The layers of {PACKAGE}, and who imports whom"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img"'
    yield f'font-family="system-ui, sans-serif" aria-label="{label}">'
    yield '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield '<path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>'
    yield f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>'


def bands(rows: Layers) -> Iterator[str]:
    """A stripe for each layer, with its number."""
    for number in range(len(rows)):
        y = TOP + ROW * number - 12
        yield f'<rect x="8" y="{y}" width="{WIDTH - 16}" height="{BOX_HEIGHT + 24}" rx="6" fill="#f3f6f9"/>'
        yield f'<text x="24" y="{y + 40}" font-size="14" fill="#66788a">layer {number + 1}</text>'


def box(name: str, spot: Place, size: int) -> str:
    """A folder, and how many modules it has."""
    x, y = spot.x - BOX_WIDTH / 2, spot.y - BOX_HEIGHT / 2
    count = f"{size} module{'s' if size != 1 else ''}"
    return (
        f'<g><rect x="{x:.0f}" y="{y:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="#fff" '
        f'stroke="#2c4a68" stroke-width="1.5"/><text x="{spot.x:.0f}" y="{spot.y - 2:.0f}" text-anchor="middle" '
        f'font-size="15" font-weight="600" fill="#12263a">{escape(name)}</text><text x="{spot.x:.0f}" '
        f'y="{spot.y + 15:.0f}" text-anchor="middle" font-size="11" fill="#66788a">{count}</text></g>'
    )


def arrow(stations: Sequence[Place], edge: Edge, count: int, colour: str) -> str:
    """A curve from the lower edge of a box, past the boxes between, to the upper edge of another."""
    first, *between, last = stations
    half = BOX_HEIGHT / 2
    down = half if last.y > first.y else -half
    path, x, y = f"M{first.x:.0f} {first.y + down:.0f}", first.x, first.y + down
    for spot in between:
        path += curve(x, y, spot.x, spot.y - half) + f"L{spot.x:.0f} {spot.y + half:.0f}"
        x, y = spot.x, spot.y + half
    path += curve(x, y, last.x, last.y - down)
    title = f"<title>{edge[0]} imports {edge[1]} ({count}×)</title>"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4" marker-end="url(#tip)">{title}</path>'


def curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """An S from one point to another, vertical at both ends."""
    middle = (y + to_y) / 2
    return f"C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}"


def worker(height: int, spots: Mapping[str, Place]) -> Iterator[str]:
    """The other program, below everything, and the pipes to it."""
    x, y, width = LEFT - 10, height - 58, 330
    start = spots["running"]
    yield (
        f'<path d="M{start.x - BOX_WIDTH / 2:.0f} {start.y:.0f}H{x + 6}V{y - 1}" fill="none" stroke="#7d5ba6" '
        'stroke-width="1.4" stroke-dasharray="5 4" marker-end="url(#tip)"/>'
    )
    yield (
        f'<g><rect x="{x}" y="{y}" width="{width}" height="46" rx="6" fill="#f6f0fb" stroke="#7d5ba6" '
        f'stroke-width="1.5"/><text x="{x + width / 2}" y="{y + 20}" text-anchor="middle" font-size="15" '
        f'font-weight="600" fill="#3b2459">worker/dlworker</text><text x="{x + width / 2}" y="{y + 37}" '
        'text-anchor="middle" font-size="11" fill="#66788a">a process and Python of its own; JSON lines over pipes'
        "</text></g>"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawing(), encoding="utf-8")
