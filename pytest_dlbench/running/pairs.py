"""Two sides of one case, back to back, in an order that is drawn anew for each pair."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running import devices
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import train_once


class UnfinishedError(Exception):
    """A run of a pair did not finish: it has no partner to be compared with."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.message)
        self.run = run


class InvalidError(Exception):
    """A pair measured the machine's troubles, as those did that were run in its place."""

    def __init__(self, pair: Mapping[str, Run]) -> None:
        super().__init__("; ".join(reason for run in pair.values() for reason in run.invalid))
        self.pair = pair


@dataclass(slots=True, kw_only=True)
class Pairs:
    """Pairs as they are asked for; ``keep`` has each run before the next starts.

    Both runs of a pair have the same seed. Which side is first is drawn from the spec's seed and the case, and kept in
    ``new_first``. ``seen`` are all runs that finished or diverged, of invalid pairs, too. ``limit`` is what is told as
    the number of pairs at most. A pair of which ``examine`` found a run invalid is done again, ``repeats`` times in
    all, unless they are to be kept.
    """

    old: RunSpec
    new: RunSpec
    hooks: RunHooks
    keep: Callable[[RunSpec, Run], None]
    progress: Progress
    limit: int
    examine: Callable[[RunSpec, Run], Run]
    repeats: int
    keeps_invalid: bool
    new_first: list[bool] = field(default_factory=list)
    runs: dict[str, list[Run]] = field(default_factory=lambda: {"old": [], "new": []})
    seen: dict[str, list[Run]] = field(default_factory=lambda: {"old": [], "new": []})
    _order: Random = field(init=False)

    def __post_init__(self) -> None:
        self.hooks = replace(self.hooks, phase_began=self.progress.phase_began)
        self._order = Random(f"{self.new.seed} {self.old.case.id} {self.new.case.id}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """On the device, from the first pair to the last."""
        case = self.new.case
        with devices.held(case.device, lambda: self.progress.waiting(case, case.device)) as card:
            self.old, self.new = (replace(spec, card=card) for spec in (self.old, self.new))
            yield

    def next(self) -> tuple[Run, Run]:
        """The old and the new side of one more pair; raises UnfinishedError and InvalidError."""
        found = self._pair()
        while not self.keeps_invalid and any(run.invalid for run in found.values()):
            if not self.repeats:
                raise InvalidError(found)
            self.repeats -= 1
            found = self._pair()
        for name, run in found.items():
            self.runs[name].append(run)
        self.new_first.append(next(iter(found)) == "new")
        return found["old"], found["new"]

    def _pair(self) -> dict[str, Run]:
        """Both sides, in the order in which they were run."""
        sides = [("old", self.old), ("new", self.new)]
        drawn = list(reversed(sides)) if self._order.random() < 0.5 else sides
        return {name: self._run(place, name, spec, len(self.new_first)) for place, (name, spec) in enumerate(drawn)}

    def count(self, least: int) -> Mapping[str, Sequence[Run]]:
        """``seen``, with runs added until there are so many of each side; anything else than a divergence ends it."""
        for name, spec in (("old", self.old), ("new", self.new)):
            while len(self.seen[name]) < least:
                try:
                    self._run(0, name, spec, len(self.seen[name]))
                except UnfinishedError as error:
                    if error.run.outcome is not RunOutcome.DIVERGED:
                        return self.seen
        return self.seen

    def _run(self, place: int, name: str, spec: RunSpec, index: int) -> Run:
        done, limit, side = 2 * index + place, 2 * max(self.limit, index + 1), f"{name} side, {spec.framework.name}"
        self.progress.run_started(self.new.case, done, limit, side)
        run = self.examine(spec, train_once(spec, index, self.hooks))
        self.keep(spec, run)
        self.progress.run_finished(self.new.case, run, done, limit, side)
        if run.outcome in (RunOutcome.FINISHED, RunOutcome.DIVERGED):
            self.seen[name].append(run)
        if run.outcome is not RunOutcome.FINISHED:
            raise UnfinishedError(run)
        return run
