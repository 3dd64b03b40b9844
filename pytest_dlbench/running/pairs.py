"""Runs of a baseline and a candidate in pairs, in an order that is drawn for every two pairs.

On CPUs the steps of a pair alternate; where they cannot, its runs are back to back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TypeVar

from pytest_dlbench.environments.frameworks import is_one_framework
from pytest_dlbench.environments.requested import Packages, are_alike, same_despite_request
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.problems import SameVersions
from pytest_dlbench.records.reasons import SequentialPairs
from pytest_dlbench.running import alternating
from pytest_dlbench.running.examination import examined_and_kept
from pytest_dlbench.running.hosts.host import Host, Hosts
from pytest_dlbench.running.hosts.leases import Leases, LostError
from pytest_dlbench.running.hosts.local import THIS_MACHINE
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.training import not_started
from pytest_dlbench.running.waits import DeviceBusyError

T = TypeVar("T")

BASELINE, CANDIDATE = "baseline", "candidate"


class UnfinishedError(Exception):
    """A run of a pair did not finish, so there is nothing to compare."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.problem or run.message)
        self.run = run


class InvalidError(Exception):
    """A pair is invalid, and so were all its repetitions."""

    def __init__(self, pair: Mapping[str, Run]) -> None:
        super().__init__(*(trouble for run in pair.values() for trouble in run.invalid))
        self.pair = pair


@dataclass(slots=True, kw_only=True)
class Pairs:
    """Runs pairs on demand; each run is passed to ``keep`` before the next pair starts.

    Both runs of a pair have the same seed. Which side runs first is drawn with ``order_seed`` for every block of two
    pairs, and is the other one in the second of them; ``candidate_first`` records it. The seed is another one each
    time, because a repetition must not repeat the order's imbalance. ``counted`` has all runs that finished or
    diverged, also those of invalid pairs. ``limit`` is the maximum number of pairs that progress shows. A pair in which
    ``examine`` finds an invalid run is repeated, at most ``repeats`` times in total, unless ``keeps_invalid``.
    ``recorded`` may have the pair of two specs, in this order, and an index; it is not run then. ``sequential``
    says why runs are back to back, None while steps alternate. Both runs of a pair are on one of the ``hosts``; if that
    is lost, the pair is repeated on another one. If ``examine`` raises, the runs that are not examined by then are kept
    as invalid ones.
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
    recorded: Callable[[Sequence[RunSpec], int], tuple[Run, Run] | None]
    order_seed: int
    hosts: Hosts = THIS_MACHINE
    candidate_first: list[bool] = field(default_factory=list)
    _pass_began: int = field(default=0, init=False)
    runs: dict[str, list[Run]] = field(default_factory=lambda: {BASELINE: [], CANDIDATE: []})
    counted: dict[str, list[Run]] = field(default_factory=lambda: {BASELINE: [], CANDIDATE: []})
    _busy: DeviceBusyError | None = None
    _leases: Leases | None = None
    _packages: dict[str, Packages] = field(default_factory=dict)
    sequential: SequentialPairs | None = field(init=False)

    def __post_init__(self) -> None:
        self.sequential = alternating.obstacle(self.baseline, self.candidate)
        self.hooks = replace(self.hooks, phase_began=self.progress.phase_began)

    @property
    def is_aa(self) -> bool:
        """Whether one framework did the same work on both sides with the same versions: an A/A test."""
        return (
            len(self._packages) == 2
            and self.baseline.work == self.candidate.work
            and is_one_framework(self.baseline.framework, self.candidate.framework)
            and are_alike(self._packages[BASELINE], self._packages[CANDIDATE])
        )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the device from the first pair to the last; if it does not become free in time, no pair can be run."""
        with ExitStack() as lease:
            try:
                self._leases = lease.enter_context(Leases(self.hosts, (self.baseline, self.candidate), self.progress))
            except DeviceBusyError as error:
                self._busy = error
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
        while known := self.recorded([spec for _, spec in drawn], index):
            found = {name: run for (name, _), run in zip(drawn, known, strict=True)}
            for name, run in found.items():
                self.counted[name].append(run)
            if not self._was_disturbed(dict(drawn), found):
                return found
        return self._on_host(drawn[0][1], index, lambda host: self._made(dict(drawn), index, host))

    def _on_host(self, spec: RunSpec, index: int, made: Callable[[Host], T]) -> T:
        """What is made on the leased host, or on another one if that is lost; raises UnfinishedError."""
        try:
            if self._busy:
                raise self._busy
            assert self._leases is not None
            return self._leases.on_host(made, spec, index, partial(self.keep, spec))
        except LostError as error:
            raise UnfinishedError(error.run) from None
        except DeviceBusyError as error:
            self.keep(spec, run := not_started(spec, index, error))
            raise UnfinishedError(run) from None

    def _made(self, drawn: Mapping[str, RunSpec], index: int, host: Host) -> dict[str, Run]:
        """Both runs on one host."""
        self.sequential = self.sequential or alternating.obstacle(*host.specs)
        alternated = None if self.sequential else self._alternated(drawn, index, host)
        return alternated or {
            name: self._run(place, name, spec, index, host) for place, (name, spec) in enumerate(drawn.items())
        }

    def _alternated(self, drawn: Mapping[str, RunSpec], index: int, host: Host) -> dict[str, Run] | None:
        """Both runs, step by step; None if that turns out to be impossible, and from now on they are sequential."""
        self.progress.run_started(self.candidate.case, 2 * index, self._runs(index), "both sides, step by step")
        try:
            order = Random(f"{self.order_seed} steps {index}")
            first, second = (_placed(host, name) for name in drawn)
            runs = host.train_pair(first, second, index, order, [self._hooks(name) for name in drawn])
        except alternating.TooLittleMemoryError:
            self.sequential = SequentialPairs(cause="memory")
            return None
        both = list(zip(drawn.values(), runs, strict=False))
        found = examined_and_kept(both, self.examine, lambda runs: self._keep(drawn, runs))
        pair = dict(zip(drawn, found, strict=False))
        is_disturbed = self._was_disturbed(drawn, pair)
        for place, (name, run) in enumerate(pair.items()):
            self._show(place, name, drawn[name], run, index)
        self._raise_unfinished(*found)
        return None if is_disturbed else pair

    def _was_disturbed(self, drawn: Mapping[str, RunSpec], pair: Mapping[str, Run]) -> bool:
        """Whether a side's threads did not sleep while the other one took a step; then pairs are sequential."""
        found = alternating.spinning(drawn, pair)
        self.sequential = self.sequential or found
        return found is not None

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
                    index = len(self.counted[name])
                    self._on_host(spec, index, partial(self._run, 0, name, spec, index))
                except UnfinishedError as error:
                    if error.run.outcome is not RunOutcome.DIVERGED:
                        return self.counted
        return self.counted

    def _run(self, place: int, name: str, spec: RunSpec, index: int, host: Host) -> Run:
        side = f"{name}, {spec.framework.name}"
        self.progress.run_started(self.candidate.case, 2 * index + place, self._runs(index), side)
        placed = _placed(host, name)
        made = host.train(placed, index, self._hooks(name))
        (run,) = examined_and_kept([(placed, made)], self.examine, lambda runs: self._keep({name: spec}, runs))
        self._show(place, name, spec, run, index)
        self._raise_unfinished(run)
        return run

    def _keep(self, specs: Mapping[str, RunSpec], runs: Sequence[Run]) -> None:
        """Keep the runs of these sides, or that of the first alone."""
        for (name, spec), run in zip(specs.items(), runs, strict=False):
            self.keep(spec, run)
            if run.outcome in (RunOutcome.FINISHED, RunOutcome.DIVERGED):
                self.counted[name].append(run)

    def _show(self, place: int, name: str, spec: RunSpec, run: Run, index: int) -> None:
        side = f"{name}, {spec.framework.name}"
        self.progress.run_finished(self.candidate.case, run, 2 * index + place, self._runs(index), side)

    def _raise_unfinished(self, *runs: Run) -> None:
        for run in runs:
            if run.outcome is not RunOutcome.FINISHED:
                raise UnfinishedError(run)

    def _runs(self, index: int) -> int:
        """How many runs progress shows."""
        return 2 * max(self.limit, index + 1)

    def _hooks(self, name: str) -> RunHooks:
        return replace(self.hooks, packages_reported=partial(self._refusal, name))

    def _refusal(self, name: str, packages: Packages) -> SameVersions | None:
        """Why the sides cannot be compared, as soon as both have reported their packages; None if they can."""
        self._packages[name] = packages
        if len(self._packages) < 2 or not is_one_framework(self.baseline.framework, self.candidate.framework):
            return None
        return same_despite_request(self._packages[BASELINE], self._packages[CANDIDATE])


def _placed(host: Host, name: str) -> RunSpec:
    """The spec of a side with its place and device on a host."""
    return host.specs[(BASELINE, CANDIDATE).index(name)]
