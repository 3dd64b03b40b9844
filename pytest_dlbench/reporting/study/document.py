"""What a study consists of: sections of paragraphs, tables and pictures, as Markdown and as one HTML page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import jinja2
from markupsafe import Markup

from pytest_dlbench.reporting import foreign

HERE = files("pytest_dlbench.reporting.study")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A few sentences; ``items`` are listed below them."""

    text: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Lines for a shell."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of texts under headings; the first ``texts`` columns are words, the others figures."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawing. ``alt`` says in words what it shows, for those who do not see it."""

    name: str
    caption: str
    alt: str
    svg: str


Block = Paragraph | Commands | Table | Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """A section that the journals have no figures for: why, and a command that records them."""

    title: str
    because: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A title and its sections."""

    title: str
    sections: tuple[Section, ...]


def written(study: Study) -> Mapping[str, bytes]:
    """The files of a study by their names: index.md, study.html, and the pictures."""
    found = {f"pictures/{one.name}.svg": one.svg.encode() for one in _pictures(study)}
    return {"index.md": markdown(study).encode(), "study.html": html(study).encode(), **found}


def markdown(study: Study) -> str:
    """The page in Markdown, which refers to the pictures."""
    lines = [
        "<!-- Made by dlbench study from journals/: change those, or the program, and run it again. -->",
        "",
        f"# {foreign.markdown(study.title)}",
        "",
        "The same on [one page with its pictures](study.html).",
        "",
    ]
    for section in study.sections:
        lines += [f"## {foreign.markdown(section.title)}", ""]
        lines += [line for block in section.blocks for line in (*_markdown(block), "")]
    return "\n".join(lines).rstrip() + "\n"


def html(study: Study) -> str:
    """The same as one HTML page, which needs no network and no script."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(HERE.joinpath("study.html.j2").read_text("utf-8"))
    return (
        template.render(
            study=study,
            style=Markup(HERE.joinpath("study.css").read_text("utf-8")),
            kind=lambda block: type(block).__name__,
            svg=lambda picture: Markup(picture.svg),
        ).rstrip()
        + "\n"
    )


def _pictures(study: Study) -> Iterator[Picture]:
    return (block for section in study.sections for block in section.blocks if isinstance(block, Picture))


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield foreign.markdown(block.text)
            if block.items:
                yield ""
            yield from (f"- {foreign.markdown(item)}" for item in block.items)
        case Commands():
            yield from ("```sh", *map(foreign.line, block.lines), "```")
        case Table():
            yield from _table(block)
        case Picture():
            yield f"![{foreign.markdown(block.alt)}](pictures/{block.name}.svg)"
            yield ""
            yield f"*{foreign.markdown(block.caption)}*"


def _table(table: Table) -> Iterator[str]:
    bars = [*["---"] * table.texts, *["---:"] * (len(table.headings) - table.texts)]
    yield f"**{foreign.markdown(table.caption)}**"
    yield ""
    yield _row(tuple(map(foreign.markdown, table.headings)))
    yield _row(bars)
    yield from (_row(tuple(map(foreign.markdown, row))) for row in table.rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
