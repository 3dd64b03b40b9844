"""A session as Markdown, the verdict first: the summary that GitHub shows for a job."""

from collections.abc import Iterable, Sequence

from pytest_dlbench.judging import METRICS, Metric, Metrics, shown_in
from pytest_dlbench.records import CaseOutcome, CaseResult, SkippedCell
from pytest_dlbench.reporting import cautions, explain, figures, foreign, last_line, skips, terminal

# GitHub drops a summary of more than 1 MiB entirely.
MOST_ROWS = 500


def summary(
    results: Sequence[CaseResult], skipped: Iterable[SkippedCell], heading: str, metrics: Metrics = METRICS
) -> str:
    """The job summary. ``heading`` says where and how the session measured."""
    lines = [f"## dlbench: {last_line.counts(results)}", "", foreign.markdown(heading), ""]
    if named := explain.revisions(results):
        lines += [*(f"- {foreign.markdown(line)}" for line in named), ""]
    lines += _findings(results, metrics)
    lines += _warnings(results, metrics)
    lines += _table(results, metrics)
    lines += [f"- {foreign.markdown(line)}" for line in skips.lines(skipped, is_listed=False)]
    return "\n".join(lines).rstrip() + "\n"


def _findings(results: Sequence[CaseResult], metrics: Metrics) -> list[str]:
    """Regressions with the metrics that regressed, then every other case that did not pass, with its reason."""
    lines: list[str] = []
    for outcome in last_line.WORST_FIRST:
        for result in results:
            if result.outcome is outcome and outcome is not CaseOutcome.PASSED:
                lines += [f"**{outcome}: {foreign.markdown(result.case.id)}**", "", *_reasons(result, metrics), ""]
    # Thousands of cases may have the same reason, such as a missing baseline.
    return lines if len(lines) <= MOST_ROWS else [*lines[:MOST_ROWS], "", "… and more: see the log", ""]


def _warnings(results: Sequence[CaseResult], metrics: Metrics) -> list[str]:
    """Why figures may mislead, and what seems to contradict."""
    found = [
        f"- warning: {foreign.markdown(terminal.name(result.case))}: {foreign.markdown(warning)}"
        for result in results
        for warning in cautions.warnings(result, metrics)
    ]
    more = [f"- {len(found) - MOST_ROWS:,} more warnings: see the log"] if len(found) > MOST_ROWS else []
    return [*found[:MOST_ROWS], *more, ""] if found else []


def _reasons(result: CaseResult, metrics: Metrics) -> list[str]:
    every = [line for one in explain.paragraphs(result, metrics) for line in _lines(one)]
    deciding = explain.deciding(result, metrics)
    lines = [*deciding, *explain.causes(result.reasons, metrics)] if deciding else every
    shown = [f"- {foreign.markdown(' '.join(line.split()))}" for line in lines]
    command = " ".join(explain.settled_by(result, metrics).splitlines())
    return [*shown, *([f"- to settle it: {_code(command)}"] if command else [])]


def _lines(paragraph: explain.Paragraph) -> list[str]:
    """A paragraph without its command, which the log has; of a traceback only the error itself."""
    if paragraph.command:
        return []
    quoted = [line for line in (*paragraph.quoted, *paragraph.log) if line.strip()]
    return [paragraph.text, *paragraph.items, *quoted[-1:]]


def _code(text: str) -> str:
    """A command as code, fenced by more backticks than it contains."""
    text = foreign.line(text)
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def _table(results: Sequence[CaseResult], metrics: Metrics) -> list[str]:
    columns = shown_in("summary", metrics)
    headings = ("case", "outcome", "runs", *(metric.heading for metric in columns))
    rows = [_row(result, columns) for result in results[:MOST_ROWS]]
    bars = ("---", "---", *["---:"] * (len(headings) - 2))
    lines = ["<details><summary>all cases</summary>", ""]
    lines += [f"| {' | '.join(row)} |" for row in (headings, bars, *rows)]
    if len(results) > MOST_ROWS:
        lines += ["", f"{len(results) - MOST_ROWS:,} more cases are not shown here."]
    return [*lines, "", "</details>", ""] if results else []


def _row(result: CaseResult, columns: Sequence[Metric]) -> Sequence[str]:
    found = result.figures
    shown = [figures.cell(metric.name, found[metric.name]) if metric.name in found else "–" for metric in columns]
    return (foreign.markdown(terminal.name(result.case)), cautions.verdict(result), str(result.runs), *shown)
