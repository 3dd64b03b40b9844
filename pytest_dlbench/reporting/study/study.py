"""The study as a whole: its sections from journals, and the comparison with the committed files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.reporting.page.gathering import Gathered, gather
from pytest_dlbench.reporting.published import register
from pytest_dlbench.reporting.published.observing import observe
from pytest_dlbench.reporting.study import abstract, conditions, document, in_pairs, row, versions
from pytest_dlbench.reporting.study.document import Commands, Lacking, Paragraph, Section, Study
from pytest_dlbench.reporting.study.findings import findings
from pytest_dlbench.reporting.study.verdicts import claims, flaws
from pytest_dlbench.storing.files import write_whole

JOURNALS = "journals"
TITLE = "Which framework, and why? Five studies, measured again"
REPEAT = (
    "dlbench env build pytorch jax",
    "dlbench data fetch fashion-mnist",
    "pytest bench -m training --dlbench-frameworks pytorch,jax --dlbench-datasets digits28,fashion-mnist",
    "dlbench study --add .dlbench/*.jsonl",
    "dlbench study --check",
)
# They draw the pictures and compute the intervals: others may give other bytes.
TOOLS = ("altair", "numpy", "scipy", "vl-convert-python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The files of a study by their names, what it lacks, and the damage found in its journals."""

    files: Mapping[str, bytes]
    lacking: tuple[Lacking, ...]
    damages: tuple[str, ...]
    cases: int


def make(folder: Path) -> Made:
    """The study of the journals in a folder's ``journals``; raises FileFormatError if there are none."""
    journals = folder / JOURNALS
    if not journals.is_dir():
        raise FileFormatError(
            f"{journals}: there is no such folder; dlbench study {folder} --add .dlbench/*.jsonl puts journals there"
        )
    gathered = gather([journals])
    sides = tuple(case for case in gathered.cases if not case.is_baseline)
    baselines = tuple(case for case in gathered.cases if case.is_baseline)
    seen = observe([journals])
    found = register.verdicts(register.register(), (*seen.cases, *seen.sides))
    # Cases of A/B sessions answer another question than cases of different frameworks.
    alone = tuple(case for case in sides if case.result.pairing is None)
    parts = (*findings(alone), versions.section(gathered.cases))
    to_repeat = row.section(alone)
    lacking = tuple(part for part in (*parts, to_repeat) if isinstance(part, Lacking))
    aside = in_pairs.section(gathered.cases)
    sections = (
        abstract.section(sides, alone, found, baselines),
        conditions.what_was_run(sides, baselines),
        *(part for part in parts if isinstance(part, Section)),
        *([aside] if aside else []),
        claims(found),
        flaws(),
        conditions.threats(sides, baselines, gathered.damages),
        *([_missing(lacking)] if lacking else []),
        *([to_repeat] if isinstance(to_repeat, Section) else []),
        _repeat(gathered),
    )
    files = document.written(Study(title=TITLE, sections=sections))
    return Made(files=files, lacking=lacking, damages=gathered.damages, cases=len(sides))


def write(folder: Path, made: Made) -> None:
    """Write the files, and remove pictures that the study no longer has."""
    for name, content in made.files.items():
        write_whole(folder / name, content)
    for name in _superfluous(folder, made):
        (folder / name).unlink()


def differing(folder: Path, made: Made) -> tuple[str, ...]:
    """The names of files that are missing, that are not the same byte for byte, or that the study does not have."""
    changed = [name for name, content in made.files.items() if _content(folder / name) != content]
    return (*changed, *_superfluous(folder, made))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _superfluous(folder: Path, made: Made) -> list[str]:
    there = sorted(f"pictures/{path.name}" for path in folder.joinpath("pictures").glob("*.svg"))
    return [name for name in there if name not in made.files]


def _missing(lacking: Sequence[Lacking]) -> Section:
    text = "These sections have no data in the journals. The commands record it."
    blocks = [
        block
        for one in lacking
        for block in (Paragraph(text=f"{one.title}: {one.because}."), Commands(lines=(one.command,)))
    ]
    return Section(title="Not recorded yet", blocks=(Paragraph(text=text), *blocks))


def _repeat(gathered: Gathered) -> Section:
    drawn = ", ".join(f"{name} {version(name)}" for name in TOOLS)
    text = "Everything on this page is made from the journals; the last command fails if one byte differs."
    lines = (f"journals: {', '.join(gathered.sessions)}", f"made with {drawn}")
    return Section(title="How to repeat it", blocks=(Paragraph(text=text, items=lines), Commands(lines=REPEAT)))
