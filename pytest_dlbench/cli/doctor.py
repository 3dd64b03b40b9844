"""``dlbench doctor``: report what makes measurements noisy, and which programs are missing, here or on a cluster."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn, cast

from pytest_dlbench.cli.cases import declare_settings, options_of, registry_of, session_of
from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.errors import OptionError
from pytest_dlbench.options.parsers import LOCAL
from pytest_dlbench.records.codec import builtins

if TYPE_CHECKING:
    from pytest_dlbench.environments import Framework
    from pytest_dlbench.running.hosts.examining import Examined
    from pytest_dlbench.running.waits import Wait
    from pytest_dlbench.sampling.noise import Finding
    from pytest_dlbench.workflows.waiting import Waiting

OBSTACLES = {"place": "it has no place to run", "memory": "there is no memory for two of its workers"}
# How long a host of a cluster is waited for by default: the others are reported anyway.
WAIT = "30s"

MORE = """
examples:
  dlbench doctor          each cause of noise, each missing program, and what to do about it
  dlbench doctor --waiting --frameworks pytorch,jax    also whether their steps can alternate in pairs; each takes
                                                       some seconds
  dlbench doctor --on ray                              the same for each host of a cluster, which is leased for it
  dlbench doctor --on "srun:--partition=bench" --wait 10m
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
    text = (
        "Report what makes measurements noisy, and which programs frameworks lack: on this machine, or on each host of"
        f" a cluster (--on). Hosts that others use are waited for, {WAIT} unless --wait is given."
    )
    parser = command(commands, "doctor", help_text=text, more=MORE)
    parser.add_argument("--observer", nargs=0, action=_Moved, help=argparse.SUPPRESS)
    parser.add_argument(
        "--waiting",
        action="store_true",
        help="Also measure how much processor a worker of each framework that is installed or built uses while it waits"
        " for its next step. --frameworks chooses some of them.",
    )
    declare_settings(parser, ("frameworks", "threads", "timeout", "wait", "pythons", "on"))
    parser.set_defaults(run=_doctor)


def _doctor(asked: argparse.Namespace) -> int:
    if (asked.dlbench_on or LOCAL) != LOCAL:
        return _doctor_of_cluster(asked)
    # Late: psutil is slow to load.
    from pytest_dlbench.running.conditions import conditions  # noqa: PLC0415

    found = [*conditions(), *(_waiting(asked) if asked.waiting else ())]
    answer(asked, [builtins(finding) for finding in found], [line for finding in found for line in _lines(finding)])
    return 0


def _doctor_of_cluster(asked: argparse.Namespace) -> int:
    if asked.waiting:
        raise OptionError("--waiting measures on this machine: run dlbench doctor --waiting on a host, without --on")
    # Late, as above.
    from pytest_dlbench.options import settings  # noqa: PLC0415
    from pytest_dlbench.running.hosts.examining import examined  # noqa: PLC0415
    from pytest_dlbench.running.waits import Patience  # noqa: PLC0415

    options = options_of(asked, **({} if asked.dlbench_wait else {"wait": WAIT}))
    hosts = list(examined(settings.engine(options), Patience(waiting=_say_that_it_waits, limit_seconds=options.wait)))
    classes = [host.machine_class for host in hosts if host.machine_class]
    found = [(host.host, finding) for host in hosts for finding in _of_host(host, classes)]
    values = [{"host": host, **builtins(finding)} for host, finding in found]
    answer(asked, values, _by_host(found))
    return 0


def _say_that_it_waits(wait: "Wait") -> None:
    print(f"waiting for {wait.device} ({wait.seconds:.0f} s)", file=sys.stderr)


def _of_host(host: "Examined", classes: list[str]) -> Iterator["Finding"]:
    """What was found on a host; ``classes`` are those of all hosts."""
    from pytest_dlbench.reporting import problems  # noqa: PLC0415
    from pytest_dlbench.sampling.noise import Finding  # noqa: PLC0415

    problem = problems.of_run(host)
    if not host.host:
        advice = f"{problem}; they are in use, or do not answer: --wait TIME waits longer"
        yield Finding(topic="other hosts", state="not examined", advice=advice)
    elif problem:
        yield Finding(topic="runs", state="impossible", advice=problem)
    else:
        advice = f"the first host is {classes[0]}: a session needs hosts of one class, since others cannot be compared"
        is_first = host.machine_class == classes[0]
        yield Finding(topic="machine class", state=host.machine_class, advice="" if is_first else advice)
    yield from host.findings


def _by_host(found: list[tuple[str, "Finding"]]) -> list[str]:
    """Lines of findings below the names of their hosts."""
    lines: list[str] = []
    for host in dict.fromkeys(host for host, _ in found):
        own = [line for other, finding in found if other == host for line in _lines(finding)]
        lines += [*([f"{host}:"] if host else []), *own]
    return lines


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


def _lines(finding: "Finding") -> list[str]:
    advice = [f"    {finding.advice}"] if finding.advice else []
    return [f"{'!' if finding.advice else ' '} {finding.topic}: {finding.state}", *advice]
