"""Two frameworks, or two settings of one, that ran in pairs because runs one after another had left a claim open."""

from collections.abc import Sequence

from pytest_dlbench.reporting.charts import Measured
from pytest_dlbench.reporting.study import versions
from pytest_dlbench.reporting.study.document import Paragraph, Section

LEAD = (
    "Runs that follow each other differ by several per cent, too much for claims about smaller differences. Pairs show"
    " them: two fresh processes at a time, and where both sides have batches of one size, single steps in turn. The"
    " verdict is that of a gate, whose candidate is in the second column."
)


def section(cases: Sequence[Measured]) -> Section | None:
    """A table of all comparisons that are not of two versions; None without any."""
    found = [case for case in versions.compared(cases) if not versions.is_of_versions(case)]
    if not found:
        return None
    table = versions.table("Comparisons in pairs", versions.by_comparison(found))
    return Section(title="Compared in pairs", blocks=(Paragraph(text=LEAD), table))
