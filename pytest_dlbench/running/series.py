"""The runs of one case, in sequence: timed ones alone on their device, untimed ones alongside others."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from pytest_dlbench.records import Case, Run, RunOutcome
from pytest_dlbench.running.examination import examined_and_kept
from pytest_dlbench.running.hosts.host import Hosts
from pytest_dlbench.running.hosts.leases import Leases, LostError
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import NO_HOOKS, RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import not_started
from pytest_dlbench.running.waits import DeviceBusyError


def _unchanged(_: RunSpec, run: Run) -> Run:
    return run


def _none(_: int) -> None:
    return None


def train_series(
    spec: RunSpec,
    runs: int,
    *,
    keep: Callable[[Run], None],
    progress: Progress,
    hooks: RunHooks = NO_HOOKS,
    examine: Callable[[RunSpec, Run], Run] = _unchanged,
    repeats: int = 0,
    first: int = 0,
    recorded: Callable[[int], Run | None] = _none,
    hosts: Hosts = THIS_MACHINE,
) -> tuple[Run, ...]:
    """Train in ``runs`` fresh processes; each run is passed through ``examine`` to ``keep`` before the next starts.

    The first run that does not finish ends the series: what broke it would break the others. Invalid runs are repeated,
    at most ``repeats`` times in the whole series; only the last repetition is returned. ``first`` is the index of the
    first run among the runs of its case, from 0. ``recorded`` may have the run of an index, which is not made then. If
    the device does not become free in time, that is the only run. If the host of a run is lost, the run is repeated on
    another one of ``hosts``. If ``examine`` raises, the run is kept as an invalid one.
    """
    hooks = replace(hooks, phase_began=progress.phase_began)
    with ExitStack() as lease:
        try:
            leases = lease.enter_context(Leases(hosts, [spec], progress))
        except DeviceBusyError as error:
            keep(run := not_started(spec, first, error))
            return (run,)

        def made(index: int) -> Run:
            return _made(leases, index, hooks, examine, keep)

        return tuple(
            _until_unfinished(spec.case, range(first, first + runs), made, recorded, repeats=repeats, progress=progress)
        )


def _until_unfinished(
    case: Case,
    indices: range,
    made: Callable[[int], Run],
    recorded: Callable[[int], Run | None],
    *,
    repeats: int,
    progress: Progress,
) -> Iterator[Run]:
    """The runs of these indices, invalid ones repeated, up to the first that did not finish."""
    for index in indices:
        known = recorded(index)
        if known is None:
            progress.run_started(case, index, indices.stop)
        run = known or made(index)
        while run.invalid and repeats:
            repeats -= 1
            known = recorded(index)
            run = known or made(index)
        if run is not known:
            progress.run_finished(case, run, index, indices.stop)
        yield run
        if run.outcome is not RunOutcome.FINISHED:
            return


def _made(
    leases: Leases,
    index: int,
    hooks: RunHooks,
    examine: Callable[[RunSpec, Run], Run],
    keep: Callable[[Run], None],
) -> Run:
    """One run, examined and kept. Where its host is lost, that is kept as a run, and repeated elsewhere."""
    (spec,) = leases.specs
    try:
        run = leases.on_host(lambda host: host.train(host.specs[0], index, hooks), spec, index, keep)
    except LostError as error:
        return error.run
    except DeviceBusyError as error:
        run = not_started(spec, index, error)
    # With the device that is leased, on which the machine's speed is measured.
    (run,) = examined_and_kept([(leases.specs[0], run)], examine, lambda runs: keep(*runs))
    return run
