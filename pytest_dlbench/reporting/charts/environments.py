"""The versions that were measured; packages with several versions come first."""

from collections.abc import Sequence

from pytest_dlbench.reporting.charts.chart import Nothing, Row, Table
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "environments", "Environments"
LEAD = (
    "The versions that workers reported, by framework. Packages with several versions come first: they may explain a"
    " difference in figures."
)
COLUMNS = {
    "framework": "framework",
    "package": "package",
    "versions": "versions",
    "differs": "differs",
    "cases": "cases",
}


def chart(cases: Sequence[Measured]) -> Table | Nothing:
    """One row per package of each framework."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for case in cases:
        versions = {(name, version) for run in case.judged.runs for name, version in run.versions.items()}
        for name, version in sorted(versions):
            counted = found.setdefault((case.case.framework, name), {})
            counted[version] = counted.get(version, 0) + 1
    if not found:
        return Nothing(name=NAME, title=TITLE, because="no run reported its versions")
    rows = [_row(framework, package, versions) for (framework, package), versions in found.items()]
    rows.sort(key=lambda row: row[3] != "yes")
    return Table(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows))


def _row(framework: str, package: str, versions: dict[str, int]) -> Row:
    shown = ", ".join(versions)
    if len(versions) > 1:
        shown = ", ".join(f"{version} ({count} cases)" for version, count in versions.items())
    return (framework, package, shown, "yes" if len(versions) > 1 else "no", sum(versions.values()))
