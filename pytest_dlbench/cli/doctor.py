"""``dlbench doctor``: report what makes measurements on this machine noisy, and which programs frameworks lack."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn, cast

from pytest_dlbench.cli.cases import declare_settings, options_of, registry_of, session_of
from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.programs import Program
from pytest_dlbench.records.codec import builtins

if TYPE_CHECKING:
    from pytest_dlbench.environments import Framework
    from pytest_dlbench.sampling.noise import Finding
    from pytest_dlbench.workflows.waiting import Waiting

OBSTACLES = {"place": "it has no place to run", "memory": "there is no memory for two of its workers"}
MORE = """
examples:
  dlbench doctor          each cause of noise, each missing program, and what to do about it
  dlbench doctor --waiting --frameworks pytorch,jax    also whether their steps can alternate in pairs; each takes
                                                       some seconds
  dlbench doctor --json

exit status: 0 reported, 2 usage error
"""


class _Moved(argparse.Action):
    """An option that was replaced by a performance benchmark in the repository."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        parser.error(
            "--observer has moved to the performance benchmarks: in a checkout of pytest-dlbench, run "
            "pytest tests/perf/bench_sampling.py (tests/perf/README.md describes it)"
        )


def declare(commands: Commands) -> None:
    """Add ``doctor``."""
    text = "Report what makes measurements on this machine noisy, and which programs frameworks lack."
    parser = command(commands, "doctor", help_text=text, more=MORE)
    parser.add_argument("--observer", nargs=0, action=_Moved, help=argparse.SUPPRESS)
    parser.add_argument(
        "--waiting",
        action="store_true",
        help="Also measure how much processor a worker of each framework that is installed or built uses while it waits"
        " for its next step. --frameworks chooses some of them.",
    )
    declare_settings(parser, ("frameworks", "threads", "timeout", "wait", "pythons"))
    parser.set_defaults(run=_doctor)


def _doctor(asked: argparse.Namespace) -> int:
    # Late: psutil is slow to load.
    from pytest_dlbench.sampling.noise import Finding, findings  # noqa: PLC0415

    missing = [(name, program.lacking) for name, program in _missing()]
    programs = [
        Finding(topic=f"{name} cannot run", state="a program is missing", advice=text) for name, text in missing
    ]
    found = [*findings(), *programs, *(_waiting(asked) if asked.waiting else ())]
    lines = [line for finding in found for line in _lines(finding.topic, finding.state, finding.advice)]
    answer(asked, [builtins(finding) for finding in found], lines)
    return 0


def _waiting(asked: argparse.Namespace) -> Iterator["Finding"]:
    """Whether the steps of each framework can alternate."""
    from pytest_dlbench.running.alternating import MOST_IDLE_CPUS  # noqa: PLC0415
    from pytest_dlbench.sampling.noise import Finding  # noqa: PLC0415
    from pytest_dlbench.workflows.waiting import waiting  # noqa: PLC0415

    registry, options = registry_of(asked), options_of(asked)
    session, progress = session_of(options, 1)
    names = options.frameworks or tuple(FRAMEWORKS)
    frameworks = {name: cast("Framework", registry.find("framework", name, "dlbench doctor")) for name in names}
    for one in waiting(session.settings, frameworks, progress):
        state = _not_run(one) or f"{one.idle_cpus:.3f} CPUs of at most {MOST_IDLE_CPUS}"
        advice = "" if one.may_alternate else "its pairs are back to back, and so less precise; nothing to be done"
        yield Finding(topic=f"{one.framework}, while its worker waits", state=state, advice=advice)


def _not_run(one: "Waiting") -> str:
    """Why a framework's worker was not measured while it waited; empty if it was."""
    from pytest_dlbench.reporting import problems  # noqa: PLC0415

    if one.run:
        return f"{one.run.outcome}: {problems.first_line(one.run)}"
    return problems.text(one.busy) if one.busy else OBSTACLES.get(one.obstacle, "")


def _missing() -> Iterator[tuple[str, Program]]:
    """Each framework with each program that it needs and this machine does not have."""
    for framework in FRAMEWORKS.values():
        yield from ((framework.name, program) for program in framework.programs if not program.is_there)


def _lines(topic: str, state: str, advice: str) -> list[str]:
    return [f"{'!' if advice else ' '} {topic}: {state}", *([f"    {advice}"] if advice else [])]
