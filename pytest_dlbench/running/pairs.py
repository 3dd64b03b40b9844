"""Runs of a baseline and a candidate in pairs, in an order that is drawn for each pair.

On CPUs the steps of a pair alternate; where they cannot, its runs are back to back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.reasons import SequentialPairs
from pytest_dlbench.running import alternating, devices
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import train_once

BASELINE, CANDIDATE = "baseline", "candidate"


class UnfinishedError(Exception):
    """A run of a pair did not finish, so there is nothing to compare."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.message)
        self.run = run


class InvalidError(Exception):
    """A pair is invalid, and so were all its repetitions."""

    def __init__(self, pair: Mapping[str, Run]) -> None:
        super().__init__("; ".join(reason for run in pair.values() for reason in run.invalid))
        self.pair = pair


@dataclass(slots=True, kw_only=True)
class Pairs:
    """Runs pairs on demand; each run is passed to ``keep`` before the next pair starts.

    Both runs of a pair have the same seed. Which side runs first is drawn from the spec's seed and the case, and
    recorded in ``candidate_first``. ``counted`` has all runs that finished or diverged, also those of invalid pairs.
    ``limit`` is the maximum number of pairs that progress shows. A pair in which ``examine`` finds an invalid run is
    repeated, at most ``repeats`` times in total, unless ``keeps_invalid``. ``sequential`` says why runs are back to
    back, None while steps alternate.
    """

    baseline: RunSpec
    candidate: RunSpec
    hooks: RunHooks
    keep: Callable[[RunSpec, Run], None]
    progress: Progress
    limit: int
    examine: Callable[[RunSpec, Run], Run]
    repeats: int
    keeps_invalid: bool
    candidate_first: list[bool] = field(default_factory=list)
    runs: dict[str, list[Run]] = field(default_factory=lambda: {BASELINE: [], CANDIDATE: []})
    counted: dict[str, list[Run]] = field(default_factory=lambda: {BASELINE: [], CANDIDATE: []})
    sequential: SequentialPairs | None = field(init=False)
    _order: Random = field(init=False)

    def __post_init__(self) -> None:
        self.sequential = alternating.obstacle(self.baseline, self.candidate)
        self.hooks = replace(self.hooks, phase_began=self.progress.phase_began)
        self._order = Random(f"{self.candidate.seed} {self.baseline.case.id} {self.candidate.case.id}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the device from the first pair to the last."""
        case = self.candidate.case
        with devices.held(case.device, lambda: self.progress.waiting(case, case.device)) as gpu:
            self.baseline, self.candidate = (replace(spec, gpu=gpu) for spec in (self.baseline, self.candidate))
            yield

    def next(self) -> tuple[Run, Run]:
        """One more pair, the baseline's run first; raises UnfinishedError and InvalidError."""
        found = self._pair()
        while not self.keeps_invalid and any(run.invalid for run in found.values()):
            if not self.repeats:
                raise InvalidError(found)
            self.repeats -= 1
            found = self._pair()
        for name, run in found.items():
            self.runs[name].append(run)
        self.candidate_first.append(next(iter(found)) == CANDIDATE)
        return found[BASELINE], found[CANDIDATE]

    def _pair(self) -> dict[str, Run]:
        """Both runs, in the order in which they were run."""
        sides, index = [(BASELINE, self.baseline), (CANDIDATE, self.candidate)], len(self.candidate_first)
        drawn = dict(reversed(sides) if self._order.random() < 0.5 else sides)
        found = None if self.sequential else self._alternated(drawn, index)
        return found or {name: self._run(place, name, spec, index) for place, (name, spec) in enumerate(drawn.items())}

    def _alternated(self, drawn: Mapping[str, RunSpec], index: int) -> dict[str, Run] | None:
        """Both runs, step by step; None if that turns out to be impossible, and from now on they are sequential."""
        self.progress.run_started(self.candidate.case, 2 * index, self._runs(index), "both sides, step by step")
        try:
            first, second = drawn.values()
            runs = alternating.train_pair(first, second, index, self._order, self.hooks)
        except alternating.TooLittleMemoryError:
            self.sequential = SequentialPairs(cause="memory")
            return None
        examined = [self.examine(spec, run) for spec, run in zip(drawn.values(), runs, strict=False)]
        pair = dict(zip(drawn, examined, strict=False))
        self.sequential = alternating.spinning(drawn, pair)
        for place, (name, run) in enumerate(pair.items()):
            self._keep(place, name, drawn[name], run, index)
        self._raise_unfinished(*examined)
        return None if self.sequential else pair

    def count(self, least: int) -> Mapping[str, Sequence[Run]]:
        """Run each side until it has ``least`` counted runs, and return them; stops early if a run fails."""
        for name, spec in ((BASELINE, self.baseline), (CANDIDATE, self.candidate)):
            while len(self.counted[name]) < least:
                try:
                    self._run(0, name, spec, len(self.counted[name]))
                except UnfinishedError as error:
                    if error.run.outcome is not RunOutcome.DIVERGED:
                        return self.counted
        return self.counted

    def _run(self, place: int, name: str, spec: RunSpec, index: int) -> Run:
        side = f"{name}, {spec.framework.name}"
        self.progress.run_started(self.candidate.case, 2 * index + place, self._runs(index), side)
        run = self.examine(spec, train_once(spec, index, self.hooks))
        self._keep(place, name, spec, run, index)
        self._raise_unfinished(run)
        return run

    def _keep(self, place: int, name: str, spec: RunSpec, run: Run, index: int) -> None:
        self.keep(spec, run)
        side = f"{name}, {spec.framework.name}"
        self.progress.run_finished(self.candidate.case, run, 2 * index + place, self._runs(index), side)
        if run.outcome in (RunOutcome.FINISHED, RunOutcome.DIVERGED):
            self.counted[name].append(run)

    def _raise_unfinished(self, *runs: Run) -> None:
        for run in runs:
            if run.outcome is not RunOutcome.FINISHED:
                raise UnfinishedError(run)

    def _runs(self, index: int) -> int:
        """How many runs progress shows."""
        return 2 * max(self.limit, index + 1)
