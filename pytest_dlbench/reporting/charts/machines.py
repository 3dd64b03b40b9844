"""What it was measured on."""

from collections import Counter
from collections.abc import Sequence

from pytest_dlbench.judging.readings import phase
from pytest_dlbench.reporting.charts.chart import Nothing, Table
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "machines", "Machines"
LEAD = "Each class of machine in this report. Figures of two of them say nothing about each other."
COLUMNS = {
    "machine": "class",
    "cpu": "processor",
    "cores": "cores used",
    "memory": "memory (GiB)",
    "os": "system",
    "gpus": "graphics processors",
    "cases": "cases",
    "foreign": "others' processors while measured (median)",
}


def chart(cases: Sequence[Measured]) -> Table | Nothing:
    """One row a class of machine."""
    counts = Counter(case.context.machine for case in cases)
    if not counts:
        return Nothing(name=NAME, title=TITLE, because="there is no case")
    rows = []
    for machine, count in counts.items():
        here = [case for case in cases if case.context.machine == machine]
        foreign = sorted(phase(run).foreign_cpus for case in here for run in case.finished)
        rows.append(
            (
                machine.name,
                machine.cpu_model,
                machine.cores,
                machine.memory_gib,
                machine.os_family,
                ", ".join(machine.gpus) or "none",
                count,
                foreign[len(foreign) // 2] if foreign else None,
            )
        )
    return Table(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows))
