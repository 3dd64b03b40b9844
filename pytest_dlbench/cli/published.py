"""``dlbench published``: what studies measured, compared with your own records."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dlbench.cli.output import Commands, command, complain, show
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.extras import require_report
from pytest_dlbench.reporting.published import studies

if TYPE_CHECKING:
    from pytest_dlbench.reporting.published.placing import Matched, Placed
    from pytest_dlbench.reporting.published.scaling import Scaled

MORE = """
Without SOURCE: all studies, how many of their figures can be placed next to ours, and why the others cannot. With
SOURCE: its figures as published, with our metric or the reason for none, and the known flaws of its cells. With
--beside: ranks and ratios between frameworks, theirs and ours, and which rankings were reproduced; then every figure
that the records also have, and why they lack the others. Seconds were measured on other machines. Trainings on several
GPUs are shown as ratios, next to yours with as many workers (--dlbench-workers).

examples:
  dlbench published
  dlbench published hkbu
  dlbench published tartu --beside .dlbench

exit status: 0 shown, 1 no record has a published figure's model, framework and device, or a file is damaged (named; the
rest is shown), 2 usage error or no such study
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
    """0, or 1 if --beside was given and no record matches a published figure, or one is damaged."""
    known = studies.studies()
    if asked.source and asked.source not in known:
        raise OptionError(unknown_name("study", asked.source, "dlbench published", known))
    if asked.beside:
        return _compared(asked.source, asked.beside, is_json=asked.json)
    # Late: NumPy is slow to load, and only needed here.
    from pytest_dlbench.reporting.published import placing, tables  # noqa: PLC0415

    if asked.source:
        figures = placing.placed(asked.source)
        if asked.json:
            return _json([_placed(one) for one in figures])
        gains = tables.scaled(_scaled(asked.source))
        return _print([*tables.study(asked.source, known[asked.source], figures), *(["", *gains] if gains else [])])
    counts = {name: placing.counts(placing.placed(name)) for name in known}
    if asked.json:
        of_studies = {
            name: {"counts": counts[name], "scaling": [_gain(one) for one in _scaled(name)]} for name in known
        }
        return _json({name: {**asdict(study), **of_studies[name]} for name, study in known.items()})
    return _print(tables.studies(known, counts))


def _scaled(source: str | None) -> "list[Scaled]":
    from pytest_dlbench.reporting.published import scaling  # noqa: PLC0415 - loads NumPy

    return [one for name in studies.studies() if source in (None, name) for one in scaling.scaled(name)]


def _gain(one: "Scaled") -> dict[str, Any]:
    return {**asdict(one), "efficiency": one.efficiency}


def _placed(one: "Placed") -> dict[str, Any]:
    place = {"file": one.file, "row": one.row, "place": one.place and asdict(one.place), "absence": one.absence}
    return {**asdict(one.figure), **place, "flaws": studies.flaws(one.figure)}


def _compared(source: str | None, paths: Sequence[Path], *, is_json: bool) -> int:
    require_report("dlbench published --beside")
    # Late: SciPy and Altair are slow to load, and only needed here.
    from pytest_dlbench.reporting.charts import workers  # noqa: PLC0415
    from pytest_dlbench.reporting.charts.published import comparisons  # noqa: PLC0415
    from pytest_dlbench.reporting.page.gathering import gather  # noqa: PLC0415
    from pytest_dlbench.reporting.published import placing, tables  # noqa: PLC0415
    from pytest_dlbench.reporting.published.observing import observe  # noqa: PLC0415

    cases, seen = gather(paths).cases, observe(paths)
    orders = [(case.cell, one) for case, one in comparisons(cases) if source in (None, one.cell.source)]
    scaled, gains = _scaled(source), workers.gains(cases)
    placed = [one for name in studies.studies() if source in (None, name) for one in placing.placed(name)]
    matched = list(placing.match(placed, seen.cases))
    counts = tables.counted(matched, placing.counts(placed))
    is_known = bool(counts[tables.PLACED])
    if is_json:
        _json(
            {
                "orders": [{"ours": cell, **asdict(one), "held": one.held, "flaws": one.flaws} for cell, one in orders],
                "figures": [_matched(one) for one in matched],
                "counts": counts,
                "scaling": [{**_gain(one), "ours": tables.gain(one, gains)} for one in scaled],
            }
        )
    elif is_known:
        _print([*tables.side_by_side(orders), ""] if orders else [])
        _print([*tables.scaled(scaled, gains), ""] if gains else [])
        _print(tables.matched(matched, placing.counts(placed)))
    else:
        _print(["no published figure has the model, the framework and the device of one of these records"])
    return complain(seen.damages) or int(not is_known)


def _matched(one: "Matched") -> dict[str, Any]:
    case = one.case and one.case.case.id
    differences = [asdict(difference) for difference in one.differences]
    return {
        **_placed(one.placed),
        "case": case,
        "ours": one.ours,
        "differences": differences,
        "unmatched": one.unmatched,
    }


def _json(value: object) -> int:
    print(foreign.in_json(json.dumps(value, indent=2, ensure_ascii=False)))
    return 0


def _print(lines: Sequence[str]) -> int:
    show(lines)
    return 0
