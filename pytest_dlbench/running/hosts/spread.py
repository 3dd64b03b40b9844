"""One run whose data-parallel workers are on several hosts, one on each: every host makes its own part of it.

The workers wait for each other in every step. If one of them, or its host, is lost, the others are ended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic
from typing import Any

from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.environments.requested import Packages
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import Run, RunOutcome, codec
from pytest_dlbench.records.problems import NothingFound, OfWorkers, WorkersDiffer
from pytest_dlbench.running import messages
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.group import CAUSE_SECONDS
from pytest_dlbench.running.hosts.conversation import Refusal, line
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.hosts.joining import joined
from pytest_dlbench.running.hosts.remote import END_SECONDS, RemoteHost, answered
from pytest_dlbench.running.merging import merged
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import Meeting, NetworkSpec, RunSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.running.waits import DeviceBusyError

# How long to listen to one host before the next one.
TURN_SECONDS = 0.05
# A worker that had not started yet is ended by the next attempt.
CANCEL_SECONDS = 1.0


class SpreadHost:
    """Leased hosts, in the order of the ranks of their workers."""

    def __init__(self, members: Sequence[RemoteHost]) -> None:
        self._members = members
        # What one of them lacks cannot run.
        columns = zip(*(member.specs for member in members), strict=True)
        self.specs = tuple(_lacking(column) or column[0] for column in columns)

    @property
    def name(self) -> str:
        """All of them."""
        return ", ".join(member.name for member in self._members)

    def train(self, spec: RunSpec, index: int, hooks: RunHooks) -> Run:
        """One run, whose events reach the hooks."""
        if isinstance(spec.place, Absent):
            return train_once(spec, index, hooks)
        assert isinstance(spec, NetworkSpec)
        return replace(_Parts(self._members, hooks).run(spec, index), host=self.name)

    def train_pair(self, *_: object, **__: object) -> tuple[Run, ...]:
        """Never called: ``alternating.obstacle`` refuses several workers, whose pairs are sequential."""
        raise AssertionError("the steps of several workers do not alternate")


class _Parts:
    """The parts of one run, one on each host."""

    def __init__(self, members: Sequence[RemoteHost], hooks: RunHooks) -> None:
        self._members, self._hooks = members, hooks
        self._pending = dict(enumerate(members))
        self._packages: dict[int, Packages] = {}
        self._weights: dict[int, int] = {}

    def run(self, spec: NetworkSpec, index: int) -> Run:
        """The parts as one run."""
        address, port = self._meeting()
        for rank, member in enumerate(self._members):
            own = next(one for one in member.specs if one.case.id == spec.case.id)
            meeting = Meeting(rank=rank, address=address, port=port)
            part = replace(spec, place=own.place, gpu=own.gpu, cores=own.cores, meeting=meeting)
            is_checked = self._hooks.is_suspicious is not None
            member.conversation.begin(line("train", part, index, self._hooks.samplers, is_checked))
        try:
            found, cause = self._gathered()
        except (MachineLostError, DeviceBusyError, DlbenchError):
            self._end_all()
            raise
        if cause is not None:
            run = found[cause]
            # Of one worker each, so that its problem is not yet one of several.
            assert not isinstance(run.problem, OfWorkers | NothingFound)
            ranks, workers = (cause + 1,), len(self._members)
            problem = OfWorkers(ranks=ranks, workers=workers, problem=run.problem, said=run.message)
            return replace(run, problem=problem, message="")
        runs = [found[rank] for rank in sorted(found)]
        try:
            merged(
                "fingerprint", [messages.Fingerprint(weights=weights) for _, weights in sorted(self._weights.items())]
            )
        except NotDoneError as error:
            return replace(runs[0], outcome=error.outcome, problem=error.problem)
        return joined(runs)

    def _meeting(self) -> tuple[str, int]:
        """Where the workers meet: at the first one's host."""
        first, *others = self._members
        listed = [address for other in others for address in other.conversation.addresses]
        reply = first.conversation.ask(line("meet", others=listed), lambda _: None)
        return str(reply["address"]), int(reply["port"])

    def _gathered(self) -> tuple[dict[int, Run], int | None]:
        """The run of each rank, and the rank of the one that failed and why others did; None if all have finished.

        Raises MachineLostError if a host does not even answer that its worker was ended: then it is the cause.
        """
        found: dict[int, Run] = {}
        cause: int | None = None
        cancel_at = inf
        is_cancelled = False
        while self._pending:
            for rank, run in self._replied():
                found[rank] = run
                # What is reported later is the end that the workers are given here.
                if run.outcome is not RunOutcome.FINISHED and not is_cancelled:
                    # One that died is why the others failed.
                    cause = rank if cause is None or (_died(run) and not _died(found[cause])) else cause
                    cancel_at = min(cancel_at, monotonic() + CAUSE_SECONDS)
            if monotonic() > cancel_at:
                is_cancelled, cancel_at = True, monotonic() + CANCEL_SECONDS
                for member in self._pending.values():
                    member.conversation.cancel()
        return found, cause

    def _replied(self) -> Iterator[tuple[int, Run]]:
        """The runs of those that reply now, which are not pending any more."""
        for rank, member in tuple(self._pending.items()):
            reply = member.conversation.proceed(partial(self._answer, rank), TURN_SECONDS)
            if reply is not None:
                del self._pending[rank]
                (run,) = member.runs_of(reply)
                yield rank, run

    def _end_all(self) -> None:
        """End what is left of the run, so that the hosts that are not lost can be given back."""
        left = {rank: one for rank, one in self._pending.items() if not one.conversation.is_lost}
        _cancel(left, self._answer)

    def _answer(self, rank: int, event: Mapping[str, Any]) -> Any:
        """The answer to an event of a rank. What people see are the phases of the first one."""
        where = self._members[rank].name
        match event["event"]:
            case "phase" if rank:
                return None
            case "weights":
                self._weights[rank] = event["weights"]
                return None
            case "packages":
                self._packages[rank] = codec.convert(event["packages"], Packages, where)
                if problem := self._other_packages(rank):
                    return Refusal(problem=problem)
        return answered([self._hooks], where, event)

    def _other_packages(self, rank: int) -> WorkersDiffer | None:
        """Why the versions of a worker are not those of one that has reported them; None if they are."""
        ours = self._packages[rank]
        for other, theirs in self._packages.items():
            if differing := _differing(ours, theirs):
                ranks, workers = (other + 1, rank + 1), len(self._members)
                return WorkersDiffer(aspect="versions", ranks=ranks, workers=workers, versions=differing)
        return None


def _cancel(left: Mapping[int, RemoteHost], answer: Callable[[int, Mapping[str, Any]], Any]) -> None:
    """End the workers of these hosts; returns once all have replied, are lost, or END_SECONDS are over."""
    pending, until, again = dict(left), monotonic() + END_SECONDS, 0.0
    while pending and monotonic() < until:
        if monotonic() > again:
            again = monotonic() + CANCEL_SECONDS
            for member in pending.values():
                member.conversation.cancel()
        for rank, member in tuple(pending.items()):
            with suppress(MachineLostError, DeviceBusyError, DlbenchError):
                if member.conversation.proceed(partial(answer, rank), TURN_SECONDS) is None:
                    continue
            del pending[rank]


def _died(run: Run) -> bool:
    return run.outcome in (RunOutcome.CRASHED, RunOutcome.OUT_OF_MEMORY)


def _lacking(column: Sequence[RunSpec]) -> RunSpec | None:
    return next((spec for spec in column if isinstance(spec.place, Absent)), None)


def _differing(ours: Packages, theirs: Packages) -> Mapping[str, tuple[str | None, str | None]]:
    """The packages that have another version on one side, with both versions."""
    sides = [{"python": one.python, **one.installed} for one in (theirs, ours)]
    names = sorted({*sides[0], *sides[1]})
    both = {name: (sides[0].get(name), sides[1].get(name)) for name in names}
    return {name: versions for name, versions in both.items() if versions[0] != versions[1]}
