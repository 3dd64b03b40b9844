"""One training run: a fresh worker from hello to close, and its outcome."""

import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from pytest_dlbench.data.order import batches
from pytest_dlbench.environments.placing import CURRENT, Absent, Lack, Place
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.running import compilation, failures, launch, pinning
from pytest_dlbench.running.connection import Worker, WorkerError
from pytest_dlbench.running.dialogue import Dialogue, NotDoneError
from pytest_dlbench.running.run_hooks import NO_HOOKS, RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.waits import DeviceBusyError, busy
from pytest_dlbench.running.weights import write_weights
from pytest_dlbench.sampling.battery import is_on_battery
from pytest_dlbench.sampling.survivors import DRIVER, PREFIX, RUN, driver_id, none_survives

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
    seed = spec.seed + index
    if isinstance(spec.place, Absent):
        return _not_run(spec, index, LACK_OUTCOMES[spec.place.lack], spec.place.reason)
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    # A worker may leave something in place of its folder that cannot be deleted as one; the run still counts.
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # Everything that costs the driver time happens before the worker starts; after that the driver sleeps.
        inputs = _write_inputs(spec, seed, folder)
        environment = _environment(spec, spec.place, folder.name)
        kills, on_battery, code = failures.memory_kills(), is_on_battery(), compilation.files(spec.place.caches)
        started = monotonic()
        with (
            none_survives(folder.name) as survivors,
            _started(spec, spec.place, environment, folder) as worker,
        ):
            dialogue = Dialogue(worker, started, spec, hooks)
            try:
                outcome, message = _outcome(dialogue, spec, spec.place.environment, seed, inputs)
            except WorkerError as error:
                outcome, message = failures.explain(error, worker, kills, spec.timeout_seconds)
            log = () if outcome is RunOutcome.FINISHED else worker.log_tail()
    return Run(
        case=spec.case.id,
        index=index,
        seed=seed,
        outcome=outcome,
        # A framework's message may hold surrogates, which no journal could store.
        message=message.encode(errors="replace").decode(),
        log=log,
        began=began,
        wall_seconds=monotonic() - started,
        survivors=tuple(survivors),
        on_battery=on_battery,
        target_accuracy=spec.target_accuracy,
        compiled=compilation.state(code, compilation.files(spec.place.caches)),
        **dialogue.observed(),
        **dialogue.measured,
    )


def _outcome(
    dialogue: Dialogue, spec: RunSpec, environment: str, seed: int, inputs: dict[str, Any]
) -> tuple[RunOutcome, str]:
    """The outcome of the run, and its message if it is not FINISHED; raises WorkerError if the worker fails."""
    try:
        dialogue.run(spec, environment, seed, inputs)
    except NotDoneError as error:
        # An environment that was built or named for the framework must contain it: a skip would hide that it does not.
        is_hidden = error.outcome is RunOutcome.MISSING_FRAMEWORK and environment != CURRENT
        return RunOutcome.FAILED if is_hidden else error.outcome, str(error)
    except FileFormatError as error:
        return RunOutcome.BROKEN_PROTOCOL, str(error)
    return RunOutcome.FINISHED, ""


def _environment(spec: RunSpec, place: Place, run: str) -> Mapping[str, str]:
    usual = launch.environment(
        spec.framework, place, device=spec.case.device, threads=spec.case.threads, allocator=spec.allocator
    )
    gpu = {"CUDA_VISIBLE_DEVICES": spec.gpu} if spec.gpu else {}
    return {**usual, **gpu, RUN: run, DRIVER: driver_id()}


def _started(spec: RunSpec, place: Place, environment: Mapping[str, str], folder: Path) -> Worker:
    cores = spec.cores or pinning.cores(spec.case.threads)
    with pinning.pinned(cores if spec.case.device == "cpu" else frozenset()):
        return Worker(launch.command(place.python), environment, folder)


def not_started(spec: RunSpec, index: int, error: DeviceBusyError) -> Run:
    """A run whose device did not become free in time."""
    return _not_run(spec, index, RunOutcome.TIMEOUT, busy(error.wait))


def _not_run(spec: RunSpec, index: int, outcome: RunOutcome, message: str) -> Run:
    return Run(
        case=spec.case.id,
        index=index,
        seed=spec.seed + index,
        outcome=outcome,
        message=message,
        began=datetime.now(UTC).isoformat(timespec="milliseconds"),
        wall_seconds=0.0,
    )


def _write_inputs(spec: RunSpec, seed: int, folder: Path) -> dict[str, Any]:
    recipe, dataset = spec.recipe, spec.data.dataset
    order = batches(examples=dataset.train_examples, batch_size=recipe.batch_size, steps=spec.steps, seed=seed)
    np.save(folder / "order.npy", order, allow_pickle=False)
    rates = None
    if recipe.schedule is not None:
        rates = str(folder / "rates.npy")
        np.save(rates, spec.learning_rates(), allow_pickle=False)
    weights = write_weights(spec.network, recipe, seed=seed, folder=folder)
    return {"weights": weights, "order": str(folder / "order.npy"), "rates": rates}
