"""Runs of a baseline and a candidate in pairs, back to back, in an order that is drawn for every two pairs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random, SystemRandom

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running import devices
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
    """Runs pairs on demand; each run is passed to ``keep`` before the next starts.

    Both runs of a pair have the same seed. Which side runs first is drawn with ``order_seed`` for every block of two
    pairs, and is the other one in the second of them; ``candidate_first`` records it. The seed is another one each
    time, because a repetition must not repeat the order's imbalance. ``counted`` has all runs that finished or
    diverged, also those of invalid pairs. ``limit`` is the maximum number of pairs that progress shows. A pair in which
    ``examine`` finds an invalid run is repeated, at most ``repeats`` times in total, unless ``keeps_invalid``.
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
    order_seed: int = field(default_factory=lambda: SystemRandom().randrange(2**32))
    candidate_first: list[bool] = field(default_factory=list)
    _pass_began: int = field(default=0, init=False)
    runs: dict[str, list[Run]] = field(default_factory=lambda: {BASELINE: [], CANDIDATE: []})
    counted: dict[str, list[Run]] = field(default_factory=lambda: {BASELINE: [], CANDIDATE: []})

    def __post_init__(self) -> None:
        self.hooks = replace(self.hooks, phase_began=self.progress.phase_began)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the device from the first pair to the last."""
        case = self.candidate.case
        with devices.held(case.device, lambda: self.progress.waiting(case, case.device)) as gpu:
            self.baseline, self.candidate = (replace(spec, gpu=gpu) for spec in (self.baseline, self.candidate))
            yield

    def begin_pass(self) -> None:
        """Begin with a new block: pairs of a pass are balanced by themselves."""
        self._pass_began = len(self.candidate_first)

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
        drawn = list(reversed(sides)) if self.candidate_is_first(self.order_seed, index, self._pass_began) else sides
        return {name: self._run(place, name, spec, index) for place, (name, spec) in enumerate(drawn)}

    @staticmethod
    def candidate_is_first(order_seed: int, index: int, began: int) -> bool:
        """Whether the candidate runs first in pair ``index`` of a pass that ``began`` there.

        Blocks of two pairs cancel what the second run of a pair suffers; a repeated pair keeps its order.
        """
        place = (index - began) % 2
        return (Random(f"{order_seed} {index - place}").random() < 0.5) is (place == 0)

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
        done, limit, side = 2 * index + place, 2 * max(self.limit, index + 1), f"{name}, {spec.framework.name}"
        self.progress.run_started(self.candidate.case, done, limit, side)
        run = self.examine(spec, train_once(spec, index, self.hooks))
        self.keep(spec, run)
        self.progress.run_finished(self.candidate.case, run, done, limit, side)
        if run.outcome in (RunOutcome.FINISHED, RunOutcome.DIVERGED):
            self.counted[name].append(run)
        if run.outcome is not RunOutcome.FINISHED:
            raise UnfinishedError(run)
        return run
