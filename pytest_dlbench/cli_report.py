"""``dlbench report``: one page of what sessions have recorded, and its charts as pictures."""

import argparse
import sys
from pathlib import Path

from pytest_dlbench.extras import require_report


def declare(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``report``."""
    parser = commands.add_parser(
        "report",
        help="Write a page of what sessions have recorded, with its charts as SVG and PNG.",
        description="Write report.html, which opens from the disk and needs no network, and each of its charts as SVG"
        " and PNG. 0 when all is well, 1 when a line of a journal is damaged (it is named, the others are shown).",
    )
    parser.add_argument("paths", metavar="RECORDS", nargs="+", type=Path, help="Journals, or folders of journals.")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("dlbench-report"), help="Where to [dlbench-report]."
    )
    parser.add_argument("--no-pictures", action="store_true", help="The page alone, without SVG and PNG.")
    parser.set_defaults(run=_report)


def _report(asked: argparse.Namespace) -> int:
    require_report("dlbench report")
    # Late: Altair and what it needs are slow to load, and needed for this alone.
    from pytest_dlbench.reporting.charts import Chart  # noqa: PLC0415
    from pytest_dlbench.reporting.page import page, pictures  # noqa: PLC0415
    from pytest_dlbench.reporting.page.gathering import gather  # noqa: PLC0415

    gathered = gather(asked.paths)
    shown = page.write(asked.output / "report.html", gathered)
    charts = [] if asked.no_pictures else [chart for chart in shown if isinstance(chart, Chart)]
    for chart in charts:
        pictures.write(chart, gathered.cases, asked.output / "charts")
    for damage in gathered.damages:
        print(damage, file=sys.stderr)
    print(f"{asked.output / 'report.html'}: {len(gathered.cases)} cases, {len(charts)} charts as SVG and PNG")
    return 1 if gathered.damages else 0
