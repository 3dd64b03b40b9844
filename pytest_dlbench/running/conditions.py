"""What makes measurements on this machine noisy, and which frameworks lack a program."""

from collections.abc import Iterator

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.programs import Program
from pytest_dlbench.sampling import steadiness
from pytest_dlbench.sampling.noise import Finding, findings


def conditions() -> tuple[Finding, ...]:
    """All conditions of this machine, and each program that is missing for a framework; takes two seconds."""
    return (*findings(), steadiness.finding(), *_missing())


def _missing() -> Iterator[Finding]:
    for framework in FRAMEWORKS.values():
        for program in framework.programs:
            if not program.is_there:
                yield _finding(f"{framework.name} cannot run", program)
        for program in framework.programs_of_workers:
            if not program.is_there:
                yield _finding(f"several workers of {framework.name} cannot run", program)


def _finding(topic: str, program: Program) -> Finding:
    return Finding(topic=topic, state="a program is missing", advice=program.lacking)
