"""One training run: a fresh worker from hello to close, and its outcome."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.data.order import augmentations, batches
from pytest_dlbench.environments.placing import CURRENT, Absent, Lack, Place
from pytest_dlbench.environments.supports import parallel_of
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.model import operator_values
from pytest_dlbench.model.operator_values import Arrays
from pytest_dlbench.model.operators import AllReduce, Operator
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.problems import NotPrepared
from pytest_dlbench.running import addresses, compilation, failures, launch, pinning
from pytest_dlbench.running.checkpoints import train_and_resume
from pytest_dlbench.running.connection import Worker, WorkerError
from pytest_dlbench.running.dialogue import Dialogue
from pytest_dlbench.running.failures import End, NotDoneError
from pytest_dlbench.running.group import Group, PerWorker
from pytest_dlbench.running.network_dialogue import NetworkDialogue
from pytest_dlbench.running.operator_dialogue import OperatorDialogue
from pytest_dlbench.running.program_dialogue import ProgramDialogue
from pytest_dlbench.running.run_hooks import NO_HOOKS, RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, OperatorSpec, RunSpec
from pytest_dlbench.running.waits import DeviceBusyError
from pytest_dlbench.running.weights import write_weights
from pytest_dlbench.sampling.battery import is_on_battery
from pytest_dlbench.sampling.survivors import DRIVER, PREFIX, RUN, driver_id, none_survives

# Where the workers of one run meet that are on one host.
ADDRESS = "127.0.0.1"

LACK_OUTCOMES = {
    Lack.NOT_BUILT: RunOutcome.MISSING_FRAMEWORK,
    Lack.NO_PYTHON: RunOutcome.MISSING_FRAMEWORK,
    Lack.NO_PROGRAM: RunOutcome.MISSING_FRAMEWORK,
    Lack.BROKEN: RunOutcome.FAILED,
    Lack.UNSUPPORTED: RunOutcome.UNSUPPORTED,
    Lack.NO_DATA: RunOutcome.MISSING_DATA,
}


def train_once(spec: RunSpec, index: int, hooks: RunHooks = NO_HOOKS) -> Run:
    """One run in a fresh process. Whatever happens to the worker becomes an outcome; only bugs of the driver raise."""
    if isinstance(spec.place, Absent):
        end = End(outcome=LACK_OUTCOMES[spec.place.lack], message=spec.place.reason)
        return not_run(spec, index, end)
    assert isinstance(spec.place, Place)
    if isinstance(spec, NetworkSpec) and spec.is_saved:
        return _saved(replace(spec, is_saved=False), index, hooks)
    with Attempt(spec, spec.place, index, hooks) as attempt:
        while attempt.proceed():
            pass
    return attempt.run()


def _saved(spec: NetworkSpec, index: int, hooks: RunHooks) -> Run:
    """One run with a checkpoint, in a folder that is gone afterwards."""
    with ExitStack() as blocks:
        try:
            folder = Path(blocks.enter_context(_temporary()))
        except OSError as error:
            return not_run(spec, index, End(outcome=RunOutcome.FAILED, problem=_not_prepared(error)))
        return train_and_resume(spec, folder, lambda part: train_once(part, index, hooks))


def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for the files of a run; raises OSError."""
    return tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)


class Attempt:
    """One run that is under way; a context manager, after whose block no process of it is left.

    If the operating system refuses a file or a process that it needs, it does not start, and has ended.
    ``seconds`` is how long it has been given so far: its worker waits between two calls of ``proceed``.
    """

    def __init__(self, spec: RunSpec, place: Place, index: int, hooks: RunHooks) -> None:
        self.spec, self.seconds = spec, 0.0
        self._place, self._index, self._hooks = place, index, hooks
        self._seed = spec.seed + index
        self._blocks = ExitStack()
        self._end: End | None = None
        self.has_started = False

    def __enter__(self) -> Self:
        self._began, self.started = datetime.now(UTC).isoformat(timespec="milliseconds"), monotonic()
        with ExitStack() as blocks:
            try:
                self._start(blocks)
            except OSError as error:
                self._end = End(outcome=RunOutcome.FAILED, problem=_not_prepared(error))
            else:
                self._blocks, self.has_started = blocks.pop_all(), True
        self.seconds += monotonic() - self.started
        return self

    def _start(self, blocks: ExitStack) -> None:
        """Write the inputs and start the workers; raises OSError."""
        folder = Path(blocks.enter_context(_temporary()))
        # Everything that costs the driver time happens before the worker starts; after that the driver sleeps.
        dialogue, module, inputs = _prepared(self.spec, self._seed, folder)
        environment = _environment(self.spec, self._place, folder.name)
        self._kills, self._on_battery = failures.memory_kills(), is_on_battery()
        self._code = compilation.files(self._place.caches)
        self.started = monotonic()
        self._survivors = blocks.enter_context(none_survives(folder.name))
        self._workers = blocks.enter_context(_started(self.spec, self._place, environment, folder, module))
        self._dialogue = dialogue(self._workers, self.started, self.spec, self._hooks)
        self._requests = self._dialogue.run(self.spec, self._place.environment, self._seed, inputs)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.has_started:
            return
        began = monotonic()
        self._log = () if self._end and self._end.outcome is RunOutcome.FINISHED else self._workers.log_tail()
        self._blocks.__exit__(kind, error, trace)
        self.seconds += monotonic() - began

    @property
    def has_finished(self) -> bool:
        """Whether it has ended as it should."""
        return self._end is not None and self._end.outcome is RunOutcome.FINISHED

    @property
    def pid(self) -> int:
        """The process id of the first worker."""
        return self._workers.pids[0]

    def move(self, cores: frozenset[int]) -> None:
        """Go on on these cores."""
        for pid in self._workers.pids:
            pinning.move(pid, cores)
        self._dialogue.moved()

    def kill(self) -> None:
        """End it at once."""
        if self.has_started:
            self._workers.kill()

    def proceed(self) -> bool:
        """Go on to where another run may take a step; False once this one has ended."""
        began = monotonic()
        try:
            self._end = self._end or self._proceeded()
        except WorkerError as error:
            outcome, cause = failures.explain(error, self._workers, self._kills, self.spec.timeout_seconds)
            self._end = End(outcome=outcome, problem=self._workers.named(cause)[0])
        self.seconds += monotonic() - began
        return self._end is None

    def _proceeded(self) -> End | None:
        """How the run ended, if it has; raises WorkerError if the worker fails."""
        try:
            next(self._requests)
        except StopIteration:
            return End(outcome=RunOutcome.FINISHED)
        except NotDoneError as error:
            # An environment that was built or named for the framework must contain it: a skip would hide that it does
            # not.
            is_hidden = error.outcome is RunOutcome.MISSING_FRAMEWORK and self._place.environment != CURRENT
            outcome = RunOutcome.FAILED if is_hidden else error.outcome
            return End(outcome=outcome, problem=error.problem, message=error.message)
        except FileFormatError as error:
            return End(outcome=RunOutcome.BROKEN_PROTOCOL, message=str(error))
        return None

    def run(self) -> Run:
        """What was measured, after the block."""
        assert self._end is not None
        if not self.has_started:
            return not_run(self.spec, self._index, self._end)
        return Run(
            case=self.spec.case.id,
            index=self._index,
            seed=self._seed,
            outcome=self._end.outcome,
            # A framework's message may hold surrogates, which no journal could store.
            message=self._end.message.encode(errors="replace").decode(),
            problem=self._end.problem,
            log=self._log,
            began=self._began,
            wall_seconds=self.seconds,
            survivors=tuple(self._survivors),
            on_battery=self._on_battery,
            target_accuracy=self.spec.target_accuracy,
            hourly_price=self.spec.hourly_price,
            length=self.spec.length,
            compiled=compilation.state(self._code, compilation.files(self._place.caches)),
            **self._dialogue.observed(),
            **self._dialogue.measured,
        )


def _not_prepared(error: OSError) -> NotPrepared:
    """What the operating system refused."""
    folder, free = tempfile.tempdir or "", None
    with suppress(OSError):
        free = shutil.disk_usage(folder).free
    return NotPrepared(said=str(error), folder=folder, free_bytes=free)


def _environment(spec: RunSpec, place: Place, run: str) -> Mapping[str, str]:
    usual = launch.environment(
        spec.framework,
        place,
        device=spec.case.device,
        threads=spec.case.threads,
        allocator=spec.allocator,
        is_passive=spec.alternates,
        execution=spec.execution,
    )
    gpu = {"CUDA_VISIBLE_DEVICES": spec.gpu} if spec.gpu else {}
    # Devices of one process share XLA's threads; each has its own of OpenMP.
    shared = {"NPROC": str(spec.threads)} if spec.is_one_process else {}
    return {**usual, **gpu, **shared, RUN: run, DRIVER: driver_id()}


@contextmanager
def _started(spec: RunSpec, place: Place, environment: Mapping[str, str], folder: Path, module: str) -> Iterator[Group]:
    """The workers of a run, each on cores of its own; all have ended after the block."""
    case = spec.case
    alone = [spec.cores or pinning.cores(spec.threads)]
    here = spec.processes_here
    of_each = alone if here == 1 else pinning.shares(case.threads, here, spec.cores)
    with ExitStack() as blocks:
        workers = []
        for rank, cores in enumerate(of_each):
            own = folder / f"worker{rank + 1}" if len(of_each) > 1 else folder
            own.mkdir(exist_ok=True)
            with pinning.pinned(cores if case.device != "gpu" else spec.cores):
                started = Worker(launch.command(place.python, module), environment, own)
            workers.append(blocks.enter_context(started))
        yield Group(workers)


def not_started(spec: RunSpec, index: int, error: DeviceBusyError) -> Run:
    """A run whose device did not become free in time."""
    return not_run(spec, index, End(outcome=RunOutcome.TIMEOUT, problem=error.problem))


def not_run(spec: RunSpec, index: int, end: End, host: str = "") -> Run:
    """A run that did not start, or whose host was lost."""
    return Run(
        case=spec.case.id,
        index=index,
        seed=spec.seed + index,
        outcome=end.outcome,
        message=end.message,
        problem=end.problem,
        began=datetime.now(UTC).isoformat(timespec="milliseconds"),
        wall_seconds=0.0,
        host=host,
    )


def _prepared(spec: RunSpec, seed: int, folder: Path) -> tuple[type[Dialogue[Any]], str, dict[str, Any]]:
    """The dialogue with the worker of a run, the module that serves it, and its inputs."""
    if isinstance(spec, NetworkSpec):
        return NetworkDialogue, "dlworker", _write_inputs(spec, seed, folder)
    if isinstance(spec, OperatorSpec):
        return OperatorDialogue, "dlworker", _write_arrays(spec, seed, folder)
    scratch = folder / "scratch"
    scratch.mkdir()
    return ProgramDialogue, "dlworker.programs", {"folder": str(scratch)}


def _write_inputs(spec: NetworkSpec, seed: int, folder: Path) -> dict[str, Any]:
    recipe, dataset = spec.recipe, spec.data.dataset
    order = batches(examples=dataset.train_examples, batch_size=recipe.batch_size, steps=spec.steps, seed=seed)
    rates = None
    if recipe.schedule is not None:
        rates = str(folder / "rates.npy")
        np.save(rates, spec.learning_rates(), allow_pickle=False)
    # Other weights than those of the checkpoint: it must bring its own.
    drawn_from = seed + (spec.resumes is not None)
    weights = write_weights(spec.network, recipe, seed=drawn_from, folder=folder, given=spec.weights)
    more = {**_augmented(spec, seed, folder), **_weighed(spec, order, folder)}
    course = {"rates": rates, "order": _by_worker(spec, "order", order, folder), **more}
    outputs = str(folder / "outputs.npy") if weights and spec.purpose == "inference" else None
    return {"weights": weights, "course": course, "group": _group(spec, folder), "outputs": outputs}


def _augmented(spec: NetworkSpec, seed: int, folder: Path) -> dict[str, Any]:
    """The file of the random numbers by which images are cropped and flipped, sent only where they are."""
    recipe = spec.recipe
    if not recipe.is_augmented or spec.purpose == "inference":
        return {}
    draws = augmentations(
        steps=spec.steps,
        batch_size=recipe.batch_size,
        crop_padding=recipe.crop_padding,
        flips=recipe.flips,
        seed=seed,
    )
    return {"draws": _by_worker(spec, "draws", draws, folder)}


def _weighed(spec: NetworkSpec, order: NDArray[Any], folder: Path) -> dict[str, Any]:
    """The file of the factors of each step's loss, sent only where some labels count for none of it.

    Each worker's loss is the mean over the labels of its part that count. With these factors, the mean of their losses
    is the mean over all labels of the batch that count.
    """
    workers, ignored = spec.case.workers, spec.network.as_json().get("ignored")
    if workers == 1 or ignored is None or spec.purpose == "inference":
        return {}
    labels = np.load(spec.data.part("train_labels"), mmap_mode="r", allow_pickle=False)
    of_examples = (labels != ignored).reshape(len(labels), -1).sum(axis=1)
    counts = of_examples[order].reshape(len(order), workers, -1).sum(axis=2)
    factors = workers * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return {"loss_factors": _by_worker(spec, "factors", factors, folder)}


def _by_worker(spec: NetworkSpec, name: str, batches: NDArray[Any], folder: Path) -> str | PerWorker:
    """The file of an array (steps×batch×…); for several processes one each, with the process's part of every batch."""
    parts = np.split(batches, spec.processes_here * spec.hosts, axis=1)
    ranks = [spec.meeting.rank] if spec.meeting else range(len(parts))
    files = [str(folder / f"{name}{rank + 1}.npy") for rank in ranks]
    for file, rank in zip(files, ranks, strict=True):
        np.save(file, parts[rank], allow_pickle=False)
    return files[0] if len(files) == 1 else PerWorker(files)


def _write_arrays(spec: OperatorSpec, seed: int, folder: Path) -> dict[str, Any]:
    """The arrays of an operator and of its probes, as files, and what NumPy computes of the operator's."""
    arrays = operator_values.arrays(spec.operator, seed)
    every = {"operator": arrays, **{name: operator_values.arrays(probe, seed) for name, probe in spec.probes.items()}}
    files = {name: [str(folder / f"{name}{rank + 1}.npz") for rank in range(spec.case.workers)] for name in every}
    for name, paths in files.items():
        for rank, path in enumerate(paths):
            np.savez(path, allow_pickle=False, **_of_worker(spec.operator, every[name], rank))
    outputs = [str(folder / f"outputs{rank + 1}.npz") for rank in range(spec.case.workers)]
    return {
        "files": files,
        "expected": operator_values.values(spec.operator, arrays),
        "outputs": outputs,
        "group": _group(spec, folder),
    }


def _of_worker(operator: Operator, arrays: Arrays, rank: int) -> Arrays:
    """Of an all-reduce, a worker's row; of an operator of one worker, all arrays."""
    return {"data": arrays["data"][rank]} if isinstance(operator, AllReduce) else arrays


def _group(spec: NetworkSpec | OperatorSpec, folder: Path) -> dict[str, Any]:
    """What several workers need to meet; nothing for one."""
    workers = spec.case.workers
    if workers == 1:
        return {}
    group: dict[str, Any] = {
        "module": parallel_of(spec.framework, is_one_process=spec.is_one_process),
        "workers": workers,
        "threads": spec.case.threads,
        "exchange": spec.case.settings.get("exchange", "full"),
    }
    if spec.is_one_process:
        return {"group": {**group, "folder": str(folder), "rank": 0}}
    if isinstance(spec, NetworkSpec) and (meeting := spec.meeting):
        group |= {"address": meeting.address, "ports": [meeting.port], "rank": meeting.rank}
        return {"group": {**group, "interface": addresses.interface_towards(meeting.address)}}
    # Only workers of one host have a folder in common.
    ports = addresses.free_ports(workers, ADDRESS)
    group |= {"folder": str(folder), "interface": "lo", "address": ADDRESS, "ports": ports}
    return {"group": PerWorker([{**group, "rank": rank} for rank in range(workers)])}
