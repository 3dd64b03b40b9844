"""``dlbench report``: one page about recorded sessions, and its charts as images."""

import argparse
from pathlib import Path

from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.reporting.extras import require_report
from pytest_dlbench.storing.history import History

MORE = """
report.html is one file that opens from disk and needs no network. Every chart is also written as SVG and PNG, into
the folder charts next to it; those of an earlier report that this one does not have are removed.

examples:
  dlbench report .dlbench
  dlbench report nightly.json --history history -o nightly
  dlbench report .dlbench/20261121T*.jsonl --no-pictures

exit status: 0 all shown, 1 a file is damaged (named; the rest is shown), 2 usage error
"""


def declare(commands: Commands) -> None:
    """Add ``report``."""
    text = "Write a page about recorded sessions, with its charts as SVG and PNG."
    parser = command(commands, "report", help_text=text, more=MORE)
    parser.add_argument(
        "paths", metavar="RECORDS", nargs="+", type=Path, help="Journals, files of --dlbench-json, or folders."
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("dlbench-report"),
        help="The folder to write into [dlbench-report].",
    )
    parser.add_argument(
        "--history", metavar="ADDRESS", help="Also show the sessions of this history: a folder, or an fsspec address."
    )
    parser.add_argument("--no-pictures", action="store_true", help="Write only the page, without SVG and PNG.")
    parser.set_defaults(run=_report)


def _report(asked: argparse.Namespace) -> int:
    require_report("dlbench report")
    # Late: Altair and its dependencies are slow to load, and only needed here.
    from pytest_dlbench.reporting.charts import Chart  # noqa: PLC0415
    from pytest_dlbench.reporting.page import page, pictures  # noqa: PLC0415
    from pytest_dlbench.reporting.page.gathering import gather  # noqa: PLC0415

    gathered = gather(asked.paths, History(address=asked.history) if asked.history else None)
    shown = page.write(asked.output / "report.html", gathered)
    charts = [] if asked.no_pictures else [chart for chart in shown if isinstance(chart, Chart)]
    for chart in charts:
        pictures.write(chart, gathered.cases, asked.output / "charts")
    pictures.remove_others(charts, asked.output / "charts")
    path = asked.output / "report.html"
    cases = sum(not case.is_baseline for case in gathered.cases)
    written = {"report": str(path), "cases": cases, "charts": [chart.name for chart in shown]}
    answer(asked, written, [f"{path}: {cases} cases, {len(charts)} charts as SVG and PNG"])
    return complain(gathered.damages)
