"""How long a run should take: as long as in the journals, else estimated from its arithmetic."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.model import Network
from pytest_dlbench.planning.plan import Outline
from pytest_dlbench.records import Case, Context, Machine, Program, RunOutcome
from pytest_dlbench.storing import Entry, read_journal

# A process, its imports, the network and the first step: PyTorch needs half of this, TensorFlow almost all.
START_SECONDS = 3.0
# A forward pass and, in training, a backward pass of twice its work.
PASSES = {"training": 3, "inference": 1}
# Multiply-adds per second of one CPU thread and of a GPU. PyTorch and JAX reach one to five times the thread's rate
# (table in the README): an estimate should be too long rather than too short.
THREAD_RATE, GPU_RATE = 1e10, 1e12
# Older journals add nothing.
MAX_JOURNALS = 20

Past = Sequence[Mapping[str, Sequence[tuple[Context, float]]]]
"""Sessions, newest first: for each case the context and wall seconds of every finished run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Counts of a network, computed once because thousands of cases may share it."""

    parameters: int
    multiply_adds: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Wall seconds of one run; ``is_measured`` if they are from journals."""

    seconds: float
    is_measured: bool


class Estimator:
    """Estimates the runs of one machine."""

    def __init__(self, machine: Machine, past: Past) -> None:
        self._machine, self._past = machine, past
        # By identity: each model's network is inferred once, and networks are not hashable.
        self._sizes: dict[int, tuple[Network, Size]] = {}

    def size(self, network: Network) -> Size:
        """Parameters and multiply-adds."""
        if id(network) not in self._sizes:
            counts = Size(
                parameters=network.parameter_count, multiply_adds=network.multiply_adds, digest=network.digest
            )
            self._sizes[id(network)] = (network, counts)
        return self._sizes[id(network)][1]

    def run(self, outline: Outline, *, is_exact: bool = True) -> Estimate:
        """Estimate one run of a case. If its steps are unknown (not ``is_exact``), only the start is estimated."""
        if (seconds := self._measured(outline, is_exact)) is not None:
            return Estimate(seconds=seconds, is_measured=True)
        samples = outline.steps * outline.recipe.batch_size if is_exact else 0
        case = outline.case
        rate = THREAD_RATE * case.threads * case.workers if case.device != "gpu" else GPU_RATE
        work = PASSES[outline.purpose] * self.size(outline.network).multiply_adds * samples
        least = outline.least_seconds if is_exact else 0.0
        return Estimate(seconds=START_SECONDS + max(work / rate, least), is_measured=False)

    def _measured(self, outline: Outline, is_exact: bool) -> float | None:
        for session in self._past:
            runs = session.get(outline.case.id, ())
            if seconds := [taken for context, taken in runs if self._is_same(context, outline, is_exact)]:
                return median(seconds)
        return None

    def _is_same(self, context: Context, outline: Outline, is_exact: bool) -> bool:
        if context.machine.name != self._machine.name:
            return False
        now = (outline.recipe.batch_size, self.size(outline.network).digest)
        are_as_long = context.steps == outline.steps or (outline.least_seconds and context.steps > outline.steps)
        return not is_exact or bool(are_as_long and (context.batch_size, context.network_digest) == now)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastProgram:
    """A stored case of a program, with the wall seconds of its finished runs."""

    case: Case
    program: Program
    context: Context
    seconds: tuple[float, ...]


def read_programs(folder: Path) -> Sequence[Sequence[PastProgram]]:
    """The cases of programs with finished runs in the newest journals of a folder, by session, newest first."""
    return [list(_programs(path)) for path in _newest(folder)]


def _programs(path: Path) -> Iterator[PastProgram]:
    runs = _session(path)
    with suppress(FileFormatError):
        for entry in read_journal(path):
            if isinstance(entry, Entry) and entry.result and entry.program and entry.context:
                case = entry.result.case
                if seconds := tuple(taken for _, taken in runs.get(case.id, ())):
                    yield PastProgram(case=case, program=entry.program, context=entry.context, seconds=seconds)


def read_past(folder: Path) -> Past:
    """The finished runs in the newest journals of a folder; unreadable lines are ignored."""
    return [_session(path) for path in _newest(folder)]


def _newest(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("*.jsonl"), reverse=True)[:MAX_JOURNALS]


def _session(path: Path) -> Mapping[str, Sequence[tuple[Context, float]]]:
    found: dict[str, list[tuple[Context, float]]] = {}
    for case, context, seconds in _finished(path):
        found.setdefault(case, []).append((context, seconds))
    return found


def _finished(path: Path) -> Iterator[tuple[str, Context, float]]:
    with suppress(FileFormatError):
        for entry in read_journal(path):
            if isinstance(entry, Entry) and entry.run and entry.context:
                run = entry.run
                if run.outcome is RunOutcome.FINISHED:
                    yield run.case, entry.context, run.wall_seconds
