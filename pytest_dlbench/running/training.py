"""One training run: a fresh worker from hello to close, and what came of it."""

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
from pytest_dlbench.running.weights import write_weights
from pytest_dlbench.sampling.battery import is_on_battery
from pytest_dlbench.sampling.survivors import VARIABLE, none_survives

OF_LACKS = {
    Lack.NOT_BUILT: RunOutcome.MISSING_FRAMEWORK,
    Lack.NO_PYTHON: RunOutcome.MISSING_FRAMEWORK,
    Lack.BROKEN: RunOutcome.FAILED,
    Lack.UNSUPPORTED: RunOutcome.UNSUPPORTED,
    Lack.NO_DATA: RunOutcome.MISSING_DATA,
}


def train_once(spec: RunSpec, index: int, hooks: RunHooks = NO_HOOKS) -> Run:
    """One run in a fresh process. Whatever happens in it is an outcome; only our own faults raise."""
    seed = spec.seed + index
    if isinstance(spec.place, Absent):
        return _not_run(spec, spec.place, index, seed)
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    with tempfile.TemporaryDirectory(prefix="dlbench-run-") as name:
        folder = Path(name)
        # All that costs the driver time is done before the worker starts: then the driver sleeps.
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
                outcome, message = _held(dialogue, spec, spec.place.environment, seed, inputs)
            except WorkerError as error:
                outcome, message = failures.explain(error, worker, kills, spec.timeout_seconds)
            log = () if outcome is RunOutcome.FINISHED else worker.log_tail()
    return Run(
        case=spec.case.id,
        index=index,
        seed=seed,
        outcome=outcome,
        # What a framework says may hold bytes that are no text, which no journal could keep.
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


def _held(
    dialogue: Dialogue, spec: RunSpec, environment: str, seed: int, inputs: dict[str, Any]
) -> tuple[RunOutcome, str]:
    """What the whole conversation came to, and why it is no more; raises WorkerError where the worker ended it."""
    try:
        dialogue.hold(spec, environment, seed, inputs)
    except NotDoneError as error:
        # What was built for it or named for it must have it: a skip would hide that it has not.
        is_hidden = error.outcome is RunOutcome.MISSING_FRAMEWORK and environment != CURRENT
        return RunOutcome.FAILED if is_hidden else error.outcome, str(error)
    except FileFormatError as error:
        return RunOutcome.BROKEN_PROTOCOL, str(error)
    return RunOutcome.FINISHED, ""


def _environment(spec: RunSpec, place: Place, run: str) -> Mapping[str, str]:
    usual = launch.environment(
        spec.framework, place, device=spec.case.device, threads=spec.case.threads, allocator=spec.allocator
    )
    card = {"CUDA_VISIBLE_DEVICES": spec.card} if spec.card else {}
    return {**usual, **card, VARIABLE: run}


def _started(spec: RunSpec, place: Place, environment: Mapping[str, str], folder: Path) -> Worker:
    cores = spec.cores or pinning.cores(spec.case.threads)
    with pinning.pinned(cores if spec.case.device == "cpu" else frozenset()):
        return Worker(launch.command(place.python), environment, folder)


def _not_run(spec: RunSpec, absent: Absent, index: int, seed: int) -> Run:
    return Run(
        case=spec.case.id,
        index=index,
        seed=seed,
        outcome=OF_LACKS[absent.lack],
        message=absent.reason,
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
        per_epoch = dataset.train_examples // recipe.batch_size
        np.save(rates, recipe.learning_rates(steps=spec.steps, steps_per_epoch=per_epoch), allow_pickle=False)
    weights = write_weights(spec.network, recipe, seed=seed, folder=folder)
    return {"weights": weights, "order": str(folder / "order.npy"), "rates": rates}
