"""The machines that measured."""

from collections import Counter
from collections.abc import Sequence

from pytest_dlbench.judging.readings import phase
from pytest_dlbench.reporting.charts.chart import Nothing, Table
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "machines", "Machines"
LEAD = "The machine classes in this report. Figures of different classes cannot be compared."
COLUMNS = {
    "machine": "class",
    "cpu": "processor",
    "cores": "cores used",
    "memory": "memory (GiB)",
    "os": "system",
    "gpus": "GPUs",
    "cases": "cases",
    "foreign": "CPUs used by other processes (median)",
}


def chart(cases: Sequence[Measured]) -> Table | Nothing:
    """One row per machine class."""
    counts = Counter(case.context.machine for case in cases)
    if not counts:
        return Nothing(name=NAME, title=TITLE, because="the report has no cases")
    rows = []
    for machine, count in counts.items():
        on_it = [case for case in cases if case.context.machine == machine]
        foreign = sorted(phase(run).foreign_cpus for case in on_it for run in case.finished)
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
