"""The lease of one case: where its host is lost, another one takes its place."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running.failures import End
from pytest_dlbench.running.hosts.host import MOST_MOVES, Host, Hosts, MachineLostError
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import not_run

T = TypeVar("T")


class LostError(Exception):
    """A run whose host was lost, as were those on which it was repeated; ``run`` is the last of them."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.problem)
        self.run = run


class Leases:
    """The hosts of one case, one after the other; a context manager. Entering it raises DeviceBusyError."""

    def __init__(self, hosts: Hosts, specs: Sequence[RunSpec], progress: Progress) -> None:
        self._hosts, self._specs, self._progress = hosts, specs, progress
        self._lease, self._lost = ExitStack(), frozenset[str]()
        self._host: Host | None = None

    def __enter__(self) -> Self:
        try:
            self._take()
        except MachineLostError as error:
            # The first run reports it, and tries again elsewhere.
            self._forget(error)
            self._early: MachineLostError | None = error
        else:
            self._early = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lease.__exit__(kind, error, trace)

    @property
    def specs(self) -> Sequence[RunSpec]:
        """The specs on the host that is leased now."""
        return self._host.specs if self._host else self._specs

    def on_host(self, made: Callable[[Host], T], spec: RunSpec, index: int, keep: Callable[[Run], None]) -> T:
        """What is made on the leased host; if that is lost, on another one, at most MOST_MOVES times.

        ``keep`` is called with each run of ``spec`` that is lost. Raises LostError, and DeviceBusyError.
        """
        for moves in range(MOST_MOVES + 1):
            try:
                if self._early:
                    early, self._early = self._early, None
                    raise early
                if self._host is None:
                    self._take()
                assert self._host is not None
                return made(self._host)
            except MachineLostError as error:
                self._forget(error)
                end = End(outcome=RunOutcome.MACHINE_LOST, problem=error.problem)
                keep(run := not_run(spec, index, end, host=error.host))
                if moves == MOST_MOVES or not error.host:
                    raise LostError(run) from error
        raise AssertionError

    def _take(self) -> None:
        self._host = self._lease.enter_context(self._hosts.lease(self._specs, self._progress, self._lost))

    def _forget(self, error: MachineLostError) -> None:
        self._host, self._lost = None, self._lost | ({error.node} - {""})
        self._lease.close()
        self._lease = ExitStack()
