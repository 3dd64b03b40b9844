"""Why a new version needs more memory: how much of it the import of the framework alone takes."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from pytest_dlbench.judging import METRICS, readings
from pytest_dlbench.records import VerdictOutcome
from pytest_dlbench.reporting.charts import Measured
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study.document import Paragraph, Table

METRIC = "peak_rss"
# The operation in which a worker imports its framework.
IMPORT = "hello"
MIB = 2**20
LEAD = (
    "Where the peak memory regressed, how much of the growth is there as soon as the framework is imported, before it"
    " builds a network: medians over the runs, in MiB. Above 100 %, building and training need less than before. The"
    " peak includes resident pages of mapped files, most of which are the framework's libraries. Pairs that did not"
    " record their number began with whatever pages of either version were in the page cache, which alone can make such"
    " a change."
)
HEADINGS = (
    "from",
    "to",
    "network",
    "session",
    "peak, before → now",
    "after import, before → now",
    "share of the growth",
    "mapped files, before → now",
)


def blocks(
    compared: Mapping[tuple[str, str, str], Sequence[Measured]], baselines: Sequence[Measured]
) -> Iterator[Paragraph | Table]:
    """A table of the regressions among the sessions of what was ``compared``; nothing if there are none."""
    rows = tuple(
        (*names, f"{session:,}", *_figures(baseline, case))
        for names, sessions in compared.items()
        for session, case in enumerate(sessions, start=1)
        if _has_regressed(case)
        for baseline in baselines
        if baseline.is_pair_of(case) and _import_mib(baseline) and _import_mib(case)
    )
    if rows:
        yield Paragraph(text=LEAD)
        yield Table(caption="Memory of the import", headings=HEADINGS, rows=rows, texts=4)


def _has_regressed(case: Measured) -> bool:
    return any(one.metric == METRIC and one.outcome is VerdictOutcome.REGRESSED for one in case.result.verdicts)


def _figures(before: Measured, now: Measured) -> tuple[str, ...]:
    peaks, imports = [(function(before), function(now)) for function in (_peak_mib, _import_mib)]
    growth = peaks[1] - peaks[0]
    share = f"{significant(100 * (imports[1] - imports[0]) / growth, 2)} %" if growth > 0 else "–"
    return (_change(peaks), _change(imports), share, _change((_files(before), _files(now))))


def _change(sides: tuple[float, float]) -> str:
    return f"{sides[0]:,.0f} → {sides[1]:,.0f}" if all(sides) else "–"


def _peak_mib(case: Measured) -> float:
    return median(METRICS[METRIC].values(case.sound)) / MIB


def _import_mib(case: Measured) -> float:
    """0 if no run sampled its import."""
    found = [run.usage[IMPORT].rss_peak_bytes for run in case.sound if IMPORT in run.usage]
    return median(found) / MIB if found else 0.0


def _files(case: Measured) -> float:
    """MiB of mapped files in training; 0 if no run recorded them."""
    found = [size for run in case.sound if (size := readings.phase(run).file_peak_bytes) is not None]
    return median(found) / MIB if found else 0.0
