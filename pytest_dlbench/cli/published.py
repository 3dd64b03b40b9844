"""``dlbench published``: what studies measured, compared with your own records."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pytest_dlbench.cli.output import Commands, command, show
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.extras import require_report
from pytest_dlbench.reporting.published import studies, tables

MORE = """
Without SOURCE: all studies. With SOURCE: its figures as published, and the known flaws of its cells. With --beside:
ranks and ratios between frameworks, theirs and ours, and which rankings were reproduced; never seconds, because those
were measured on other machines.

examples:
  dlbench published
  dlbench published hkbu
  dlbench published tartu --beside .dlbench

exit status: 0 shown, 1 no record matches a published figure, 2 usage error or no such study
"""


def declare(commands: Commands) -> None:
    """Add ``published``."""
    text = "Show the published figures of studies, alone or next to your own."
    parser = command(commands, "published", help_text=text, more=MORE)
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="tartu, hkbu, gatech, rosetta or thesis.")
    parser.add_argument(
        "--beside", metavar="RECORDS", nargs="+", type=Path, help="Journals, or folders of journals, to compare with."
    )
    parser.set_defaults(run=_published)


def _published(asked: argparse.Namespace) -> int:
    """0, or 1 if --beside was given and no record matches a published figure."""
    known = studies.studies()
    if asked.source and asked.source not in known:
        raise OptionError(unknown_name("study", asked.source, "dlbench published", known))
    if asked.beside:
        return _compared(asked.source, asked.beside, is_json=asked.json)
    if asked.source:
        figures = studies.figures(asked.source)
        if asked.json:
            return _json([{**asdict(figure), "flaws": studies.flaws(figure)} for figure in figures])
        return _print(tables.study(asked.source, known[asked.source], figures))
    if asked.json:
        return _json({name: asdict(study) for name, study in known.items()})
    return _print(tables.studies(known, {name: len(studies.figures(name)) for name in known}))


def _compared(source: str | None, paths: Sequence[Path], *, is_json: bool) -> int:
    require_report("dlbench published --beside")
    # Late: SciPy and Altair are slow to load, and only needed here.
    from pytest_dlbench.reporting.charts.published import comparisons  # noqa: PLC0415
    from pytest_dlbench.reporting.page.gathering import gather  # noqa: PLC0415

    found = [(case.cell, one) for case, one in comparisons(gather(paths).cases) if source in (None, one.cell.source)]
    if is_json:
        _json([{"ours": cell, **asdict(one), "held": one.held, "flaws": one.flaws} for cell, one in found])
    else:
        none = ["no published cell has this model, device and two of these frameworks"]
        _print(tables.side_by_side(found) if found else none)
    return 0 if found else 1


def _json(value: object) -> int:
    print(foreign.in_json(json.dumps(value, indent=2, ensure_ascii=False)))
    return 0


def _print(lines: Sequence[str]) -> int:
    show(lines)
    return 0
