"""The workers of one run, one or several that train one network data-parallel: each request goes to all of them.

Several workers wait for each other in every step. If one is lost, the others fail or hang: what is reported is the one
that was lost, and all of them end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from pytest_dlbench.records.problems import Cause, OfWorkers, Problem
from pytest_dlbench.running.connection import Worker, WorkerDiedError, WorkerError, WorkerTimeoutError, answers

# After a worker's failure, how long to look for one that has died: then that one is the cause.
CAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PerWorker:
    """A field of a request that has another value for each worker, in the order of their ranks."""

    values: Sequence[Any]


class Group:
    """Started workers, in the order of their ranks."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self._reported = workers[0]
        self._failed: Sequence[Worker] = ()

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers' process ids."""
        return tuple(worker.pid for worker in self._workers)

    def request(
        self, op: str, *, deadline: float, waiting: Callable[[], None], period_seconds: float, **fields: Any
    ) -> list[dict[str, Any]]:
        """Send a request to all workers and return their answers; if one failed, its answer alone.

        The rest is as for ``Worker.request``. ``named`` says which of them failed.
        """
        found: dict[Worker, dict[str, Any]] = {}
        try:
            for rank, worker in enumerate(self._workers):
                worker.send(op, deadline, {name: _of_rank(value, rank) for name, value in fields.items()})
            arriving = answers(self._workers, op, deadline=deadline, waiting=waiting, period_seconds=period_seconds)
            for worker, answer in arriving:
                found[worker] = answer
                if answer["status"] == "failed":
                    self._look_for_cause([one for one in self._workers if one not in found], op, deadline)
                    self._reported, self._failed = worker, [worker]
                    return [answer]
        except WorkerError as error:
            self._reported = error.worker or self._reported
            silent = [one for one in self._workers if one not in found]
            self._failed = silent if isinstance(error, WorkerTimeoutError) else [self._reported]
            raise
        return [found[worker] for worker in self._workers]

    def _look_for_cause(self, others: Sequence[Worker], op: str, deadline: float) -> None:
        """Raise WorkerDiedError if one of the others has died, which is why the first one failed."""
        limit = min(deadline, monotonic() + CAUSE_SECONDS)
        try:
            for _ in answers(others, op, deadline=limit, waiting=lambda: None, period_seconds=CAUSE_SECONDS):
                pass
        except WorkerDiedError:
            raise
        except WorkerError:
            # It waits for the one that failed.
            return

    def named(self, problem: Cause | None, said: str = "") -> tuple[Problem | None, str]:
        """A problem, or else what a worker said, with the ranks of those that failed if there are several workers."""
        if len(self._workers) == 1:
            return problem, said
        ranks = tuple(self._workers.index(worker) + 1 for worker in self._failed)
        return OfWorkers(ranks=ranks, workers=len(self._workers), problem=problem, said=said), ""

    def kill(self) -> None:
        """Kill all of them."""
        for worker in self._workers:
            worker.kill()

    def exit_status(self) -> int | None:
        """The exit status of the worker that was lost, else of the first; as ``Worker.exit_status``."""
        return self._reported.exit_status()

    def log_tail(self) -> tuple[str, ...]:
        """The last lines that the worker printed that was lost or failed, else the first."""
        return self._reported.log_tail()


def _of_rank(value: Any, rank: int) -> Any:
    return value.values[rank] if isinstance(value, PerWorker) else value
