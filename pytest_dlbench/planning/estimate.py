"""How long a run should take: from journals, those of the same scale first, or else from its arithmetic."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.model import Network
from pytest_dlbench.planning.plan import Outline, evaluations
from pytest_dlbench.records import Case, Context, Machine, Program, Run, RunOutcome
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """The wall seconds of a finished run; of a training also those of a step, of an evaluation, and of all else."""

    context: Context
    seconds: float
    step_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    other_seconds: float = 0.0


@dataclass(slots=True)
class PastSession:
    """The finished runs of a journal by the ids of their cases, and those cases that have a result."""

    runs: dict[str, list[PastRun]] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)


Past = Sequence[PastSession]
"""Sessions, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Counts of a network, computed once because thousands of cases may share it."""

    parameters: int
    multiply_adds: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Wall seconds of one run; ``is_measured`` if they are those of the same case in a journal."""

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
        if is_exact and (seconds := self._of_another_length(outline)) is not None:
            return Estimate(seconds=seconds, is_measured=False)
        samples = outline.steps * outline.recipe.batch_size if is_exact else 0
        case = outline.case
        rate = THREAD_RATE * case.threads * case.workers if case.device != "gpu" else GPU_RATE
        work = PASSES[outline.purpose] * self.size(outline.network).multiply_adds * samples
        least = outline.least_seconds if is_exact else 0.0
        return Estimate(seconds=START_SECONDS + max(work / rate, least), is_measured=False)

    def _measured(self, outline: Outline, is_exact: bool) -> float | None:
        for session in self._past:
            runs = session.runs.get(outline.case.id, ())
            if seconds := [run.seconds for run in runs if self._is_same(run.context, outline, is_exact)]:
                return median(seconds)
        return None

    def _is_same(self, context: Context, outline: Outline, is_exact: bool) -> bool:
        if not is_exact:
            return context.machine.name == self._machine.name
        are_as_long = context.steps == outline.steps or (outline.least_seconds and context.steps > outline.steps)
        is_as_large = context.batch_size == outline.recipe.batch_size
        return bool(are_as_long and is_as_large and self._is_of_network(context, outline))

    def _is_of_network(self, context: Context, outline: Outline) -> bool:
        """Whether this machine trained this network."""
        now = (self._machine.name, self.size(outline.network).digest)
        return (context.machine.name, context.network_digest) == now

    def _larger(self, context: Context, outline: Outline) -> float:
        """How many times as large as that of earlier runs a batch is."""
        return outline.recipe.batch_size / (context.batch_size or outline.recipe.batch_size)

    def _of_another_length(self, outline: Outline) -> float | None:
        """From the newest trainings of the same network and number of threads at another scale.

        Their steps are longer or shorter in proportion to the batches, which is too long where these are smaller: a
        larger batch has the better use of a processor.
        """
        if outline.purpose != "training":
            return None
        tests = 1 + len(evaluations(outline.recipe, outline.dataset, outline.case.scale, outline.steps))
        for session in self._past:
            found = [
                run.other_seconds
                + max(run.step_seconds * self._larger(run.context, outline) * outline.steps, outline.least_seconds)
                + run.evaluation_seconds * tests
                for case in session.cases.values()
                if _is_alike(case, outline.case)
                for run in session.runs.get(case.id, ())
                if run.step_seconds and self._is_of_network(run.context, outline)
            ]
            if found:
                return median(found)
        return None


def _is_alike(one: Case, other: Case) -> bool:
    """Whether two cases differ in nothing but their scale."""
    return replace(one, id="", scale="") == replace(other, id="", scale="")


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
    runs = _session(path).runs
    with suppress(FileFormatError):
        for entry in read_journal(path):
            if isinstance(entry, Entry) and entry.result and entry.program and entry.context:
                case = entry.result.case
                if seconds := tuple(run.seconds for run in runs.get(case.id, ())):
                    yield PastProgram(case=case, program=entry.program, context=entry.context, seconds=seconds)


def read_past(folder: Path) -> Past:
    """The finished runs in the newest journals of a folder; unreadable lines are ignored."""
    return [_session(path) for path in _newest(folder)]


def _newest(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("*.jsonl"), reverse=True)[:MAX_JOURNALS]


def _session(path: Path) -> PastSession:
    found = PastSession()
    with suppress(FileFormatError):
        for entry in read_journal(path):
            if not isinstance(entry, Entry):
                continue
            if entry.result:
                found.cases[entry.result.case.id] = entry.result.case
            if entry.run and entry.context and entry.run.outcome is RunOutcome.FINISHED:
                found.runs.setdefault(entry.run.case, []).append(_past_run(entry.run, entry.context))
    return found


def _past_run(run: Run, context: Context) -> PastRun:
    if not (run.training and run.evaluation):
        return PastRun(context=context, seconds=run.wall_seconds)
    steps, evaluation = run.training.step_seconds, run.evaluation.seconds
    # What a first step takes longer than the others, to compile for example, is taken once.
    usual = median(steps[1:] or steps)
    repeated = usual * len(steps) + evaluation * max(1, len(run.curve))
    return PastRun(
        context=context,
        seconds=run.wall_seconds,
        step_seconds=usual,
        evaluation_seconds=evaluation,
        other_seconds=max(0.0, run.wall_seconds - repeated),
    )
