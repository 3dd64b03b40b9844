"""Which versions were measured, those that differ first."""

from collections.abc import Sequence

from pytest_dlbench.reporting.charts.chart import Nothing, Row, Table
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "environments", "Environments"
LEAD = (
    "The versions that workers told, by framework. One with several values in this report comes first: a difference in"
    " figures may be its doing."
)
COLUMNS = {
    "framework": "framework",
    "package": "package",
    "versions": "versions",
    "differs": "differs",
    "cases": "cases",
}


def chart(cases: Sequence[Measured]) -> Table | Nothing:
    """One row for each package of each framework."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for case in cases:
        versions = {(name, version) for run in case.judged.runs for name, version in run.versions.items()}
        for name, version in sorted(versions):
            counted = found.setdefault((case.case.framework, name), {})
            counted[version] = counted.get(version, 0) + 1
    if not found:
        return Nothing(name=NAME, title=TITLE, because="no run told the versions that it ran with")
    rows = [_row(framework, package, versions) for (framework, package), versions in found.items()]
    rows.sort(key=lambda row: row[3] != "yes")
    return Table(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows))


def _row(framework: str, package: str, versions: dict[str, int]) -> Row:
    told = ", ".join(versions)
    if len(versions) > 1:
        told = ", ".join(f"{version} ({count} cases)" for version, count in versions.items())
    return (framework, package, told, "yes" if len(versions) > 1 else "no", sum(versions.values()))
