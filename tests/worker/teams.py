"""Workers that serve several runs of tests, one after the other: they start, import their framework and meet once.

Users' workers serve one run. Here the rest is the same: a run is the driver's own, from its inputs to its outcome.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Self

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Place
from pytest_dlbench.environments.supports import parallel_of
from pytest_dlbench.records import Run
from pytest_dlbench.running import training
from pytest_dlbench.running.connection import Worker, WorkerError
from pytest_dlbench.running.group import Group, PerWorker
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.sampling.survivors import PREFIX, RUN, none_survives

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
START = training._started
# The double reads it as a network is built.
FAULT = "fault"
END_SECONDS = 60.0

Waiting = Callable[[], None]
Answers = list[dict[str, Any]]


class Team(Group):
    """The workers of several runs. The first run greets them, and none closes them."""

    def __init__(self, workers: Sequence[Worker], folder: Path) -> None:
        super().__init__(workers)
        self._folder, self._hello, self._answers = folder, {}, []

    @property
    def is_lost(self) -> bool:
        """Whether one of the workers has ended."""
        return any(worker.has_ended for worker in self._workers)

    def plant(self, fault: str) -> None:
        """Let the networks that are built from now on have this fault."""
        (self._folder / FAULT).write_text(fault)

    def request(self, op: str, *, deadline: float, waiting: Waiting, period_seconds: float, **fields: Any) -> Answers:
        time = {"deadline": deadline, "waiting": waiting, "period_seconds": period_seconds}
        if op == "hello" and not self._answers:
            self._hello = self._at_home(fields)
            self._answers = super().request(op, **time, **self._hello)
        if op == "hello":
            return self._answers
        # For these, some frameworks compile again; runs of their own take them, too.
        if op == "steps_alone":
            return [{"status": "done", "step_seconds": []} for _ in self.pids]
        return [{"status": "done"}] if op == "close" else super().request(op, **time, **fields)

    def _at_home(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A greeting with the folder of the team in place of the first run's, which is gone before the team is."""
        if "group" not in fields:
            return {**fields}
        group, home = fields["group"], {"folder": str(self._folder)}
        here = (
            PerWorker([{**own, **home} for own in group.values]) if isinstance(group, PerWorker) else {**group, **home}
        )
        return {**fields, "group": here}

    def joined(self, port: int, module: str) -> dict[str, Any]:
        """The first worker's answer if it is to meet another one at a port; after that it serves no run."""
        here = {"address": "127.0.0.1", "ports": [port, port], "interface": "lo", "folder": str(self._folder)}
        group = {"module": module, "workers": 2, "rank": 0, "threads": 1, "exchange": "full", **here}
        return self._workers[0].request("hello", **{**self._hello, "group": group}, **_patiently())

    def close(self) -> None:
        """Close the workers, as a run would."""
        with suppress(WorkerError):
            super().request("close", **_patiently())


def _patiently() -> dict[str, Any]:
    return {"deadline": monotonic() + END_SECONDS, "waiting": lambda: None, "period_seconds": 1.0}


def _with_faults(framework: Framework, *, is_one_process: bool) -> Framework:
    of = ("OF", framework.builder), ("OF_WORKERS", parallel_of(framework, is_one_process=is_one_process))
    variables = (*framework.more_variables, *of)
    return replace(framework, builder="faulty_workers", backend="", folders=(BUILDERS,), more_variables=variables)


class Teams:
    """The teams of one framework: one worker by itself, several, and several with another exchange.

    Several have a double of the framework's builder, in which faults can be planted. A context manager.
    """

    def __init__(self) -> None:
        self._blocks, self._framework, self._fault = ExitStack(), "", ""
        self._kept: dict[tuple[int, *tuple[Any, ...]], Team] = {}
        self.survivors: list[str] = []

    def run(self, spec: NetworkSpec, fault: str = "none") -> Run:
        """One run by the team that it needs."""
        self._fault = fault
        if spec.case.workers > 1:
            faulty = _with_faults(spec.framework, is_one_process=spec.is_one_process)
            spec = replace(spec, framework=faulty)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(training, "_started", self._borrowed)
            return training.train_once(spec, 0)

    @contextmanager
    def _borrowed(self, spec: NetworkSpec, *start: Any) -> Iterator[Team]:
        if self._framework != spec.framework.name:
            self.close()
            self._framework = spec.framework.name
        team = self._team(spec, *start)
        team.plant(self._fault)
        yield team

    def _team(self, spec: NetworkSpec, place: Place, environment: Mapping[str, str], _: Path, module: str) -> Team:
        key = spec.case.workers, *(spec.case.settings.get(name) for name in ("exchange", "placement"))
        if key not in self._kept or self._kept[key].is_lost:
            self._kept[key] = self._blocks.enter_context(self._begun(spec, place, environment, module))
        return self._kept[key]

    @contextmanager
    def _begun(self, spec: NetworkSpec, place: Place, environment: Mapping[str, str], module: str) -> Iterator[Team]:
        with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
            home = Path(folder)
            start = (spec, place, {**environment, RUN: home.name}, home, module)
            with none_survives(home.name) as survivors, START(*start) as group:
                team = Team(group._workers, home)
                yield team
                team.close()
            self.survivors += survivors

    def joined(self, port: int) -> dict[str, Any]:
        """The answer of the worker that trained alone if it is to meet another one at a port; it serves no run then."""
        return self._kept.pop((1, None, None)).joined(port, parallel_of(FRAMEWORKS[self._framework]))

    def close(self) -> None:
        """End all workers."""
        self._kept.clear()
        self._blocks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
