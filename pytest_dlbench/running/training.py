"""One training run: a fresh worker from hello to close, and what came of it."""

import platform
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from math import isfinite, prod
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import numpy as np

from pytest_dlbench.data import Prepared
from pytest_dlbench.data.order import batches
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import CURRENT, Absent, Lack, Place
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.model import Network, Purpose, Recipe
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.records import Case, CurvePoint, Evaluation, Inference, Run, RunOutcome, StepCheck, Training
from pytest_dlbench.running import compiled, endings, launch, messages, pinning
from pytest_dlbench.running.connection import Worker, WorkerError
from pytest_dlbench.sampling.battery import is_on_battery
from pytest_dlbench.sampling.joining import joined
from pytest_dlbench.sampling.observer import Observer
from pytest_dlbench.sampling.sampler import MakeSampler
from pytest_dlbench.sampling.survivors import VARIABLE, none_survives

SAMPLE_PERIOD_SECONDS = 0.2
# Of evaluation: examples of a batch, and numbers that the largest layer may make of one, 256 MiB in float32.
EVALUATION_BATCH = 1000
EVALUATION_NUMBERS = 2**26
# Of steps that are taken again to check them, the single ones; what the whole check may take, at least and as a share
# of the run before it; how often what it finds must show.
CHECKED_SECONDS = 0.05
LEAST_CHECK_SECONDS, CHECK_SHARE = 1.0, 0.25
CHECKS = 3
# Requests that go on with a phase.
PHASES = {"train_on": "train"}
OF_LACKS = {
    Lack.NOT_BUILT: RunOutcome.MISSING_FRAMEWORK,
    Lack.NO_PYTHON: RunOutcome.MISSING_FRAMEWORK,
    Lack.BROKEN: RunOutcome.FAILED,
    Lack.UNSUPPORTED: RunOutcome.UNSUPPORTED,
    Lack.NO_DATA: RunOutcome.MISSING_DATA,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a run of one case needs. Run ``index`` has the seed ``seed + index``.

    ``recipe_steps`` are those of the recipe's own epochs, of which ``steps`` may be a part.
    """

    case: Case
    framework: Framework
    place: Place | Absent
    network: Network
    recipe: Recipe
    data: Prepared
    steps: int
    seed: int
    timeout_seconds: float
    evaluations: int = 1
    """How often the test split is evaluated after training; all must give the same to the bit."""
    recipe_steps: int | None = None
    card: str = ""
    """The graphics card that the run has, by its index or UUID; all that there are if empty."""
    samplers: tuple[MakeSampler, ...] = ()
    sample_period_seconds: float = SAMPLE_PERIOD_SECONDS
    is_suspicious: Callable[[StepCheck], bool] | None = None
    """Whether a check of the first run's steps is to be repeated. Without it they are not checked."""
    purpose: Purpose = "training"
    is_profiled: bool = False
    """Whether steps are taken again under the framework's own profiler, and nothing else behind them."""
    slowdown: float = 0.0
    """A fault that is planted for a calibration: by this share each step takes longer."""
    evaluate_after: tuple[int, ...] = ()
    """Steps behind which the test split is evaluated, beside the last."""
    target_accuracy: float | None = None
    allocator: str = launch.TUNED


class _NotDoneError(Exception):
    """The run ends here, with an outcome that is not "finished"."""

    def __init__(self, outcome: RunOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def train_once(plan: Plan, index: int) -> Run:
    """One run in a fresh process. Whatever happens in it is an outcome; only our own faults raise."""
    seed = plan.seed + index
    if isinstance(plan.place, Absent):
        return _not_run(plan, plan.place, index, seed)
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    with tempfile.TemporaryDirectory(prefix="dlbench-run-") as name:
        folder = Path(name)
        # All that costs the driver time is done before the worker starts: then the driver sleeps.
        inputs = _write_inputs(plan, seed, folder)
        environment = _environment(plan, plan.place, folder.name)
        kills, on_battery, code = endings.memory_kills(), is_on_battery(), compiled.files(plan.place.caches)
        started = monotonic()
        with (
            none_survives(folder.name) as survivors,
            _started(plan, plan.place, environment, folder) as worker,
        ):
            dialogue = _Dialogue(worker, started, plan)
            outcome, message = RunOutcome.FINISHED, ""
            try:
                dialogue.hold(plan, plan.place.environment, seed, inputs)
            except _NotDoneError as error:
                outcome, message = error.outcome, str(error)
                if outcome is RunOutcome.MISSING_FRAMEWORK and plan.place.environment != CURRENT:
                    # What was built for it or named for it must have it: a skip would hide that it has not.
                    outcome = RunOutcome.FAILED
            except FileFormatError as error:
                outcome, message = RunOutcome.BROKEN_PROTOCOL, str(error)
            except WorkerError as error:
                outcome, message = endings.explain(error, worker, kills, plan.timeout_seconds)
            log = () if outcome is RunOutcome.FINISHED else worker.log_tail()
    return Run(
        case=plan.case.id,
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
        target_accuracy=plan.target_accuracy,
        compiled=compiled.state(code, compiled.files(plan.place.caches)),
        **dialogue.observed(),
        **dialogue.measured,
    )


def _environment(plan: Plan, place: Place, run: str) -> Mapping[str, str]:
    usual = launch.environment(
        plan.framework, place, device=plan.case.device, threads=plan.case.threads, allocator=plan.allocator
    )
    card = {"CUDA_VISIBLE_DEVICES": plan.card} if plan.card else {}
    return {**usual, **card, VARIABLE: run}


def _started(plan: Plan, place: Place, environment: Mapping[str, str], folder: Path) -> Worker:
    cores = pinning.cores(plan.case.threads) if plan.case.device == "cpu" else frozenset[int]()
    with pinning.pinned(cores):
        return Worker(launch.command(place.python), environment, folder)


def _not_run(plan: Plan, absent: Absent, index: int, seed: int) -> Run:
    return Run(
        case=plan.case.id,
        index=index,
        seed=seed,
        outcome=OF_LACKS[absent.lack],
        message=absent.reason,
        began=datetime.now(UTC).isoformat(timespec="milliseconds"),
        wall_seconds=0.0,
    )


def _write_inputs(plan: Plan, seed: int, folder: Path) -> dict[str, Any]:
    recipe, dataset = plan.recipe, plan.data.dataset
    order = batches(examples=dataset.train_examples, batch_size=recipe.batch_size, steps=plan.steps, seed=seed)
    np.save(folder / "order.npy", order, allow_pickle=False)
    weights, rates = None, None
    if recipe.schedule is not None:
        rates = str(folder / "rates.npy")
        per_epoch = dataset.train_examples // recipe.batch_size
        np.save(rates, recipe.learning_rates(steps=plan.steps, steps_per_epoch=per_epoch), allow_pickle=False)
    if recipe.init == "shared":
        weights = str(folder / "weights.npz")
        arrays = initial_weights(plan.network, seed=seed)
        typed = {name: array.astype(recipe.stored_precision) for name, array in arrays.items()}
        np.savez(weights, allow_pickle=False, **typed)
    return {"weights": weights, "order": str(folder / "order.npy"), "rates": rates}


class _Dialogue:
    """The conversation of one run; ``measured`` keeps what is known so far, so that a late failure loses nothing."""

    def __init__(self, worker: Worker, started: float, plan: Plan) -> None:
        self._worker, self._started, self._deadline = worker, started, started + plan.timeout_seconds
        self._observer = Observer(worker.pid, started, device=plan.case.device, card=plan.card, make=plan.samplers)
        self._period_seconds = plan.sample_period_seconds
        self.measured: dict[str, Any] = {"usage": {}}

    def observed(self) -> dict[str, Any]:
        """What was seen of the worker's processes in all phases, and what could not be seen."""
        return {"timeline": self._observer.timeline(), "absent": self._observer.absent}

    def hold(self, plan: Plan, environment: str, seed: int, inputs: dict[str, Any]) -> None:
        """Import, build, train and evaluate or infer, close."""
        self._hello(plan, environment)
        self._build(plan, seed, inputs["weights"])
        if plan.purpose == "inference":
            self._infer(plan, inputs["order"])
        else:
            self._train(plan, inputs["order"], inputs["rates"])
            if plan.is_profiled:
                profiled: messages.Profiled = self._ask("profile", steps=plan.steps)
                self.measured["operator_seconds"] = profiled.operator_seconds
                return
            self._evaluate(plan)
            # Once a case: what is wrong with the steps of one run is wrong with those of all.
            if plan.is_suspicious and seed == plan.seed:
                self._check_steps(plan, plan.is_suspicious)
        self._ask("close")

    def _ask(self, op: str, **fields: Any) -> Any:
        self._observer.begin()
        try:
            answer = self._worker.request(
                op,
                deadline=self._deadline,
                waiting=self._observer.sample,
                period_seconds=self._period_seconds,
                **fields,
            )
        finally:
            used, phase = self.measured["usage"], PHASES.get(op, op)
            used[phase] = joined([*([used[phase]] if phase in used else []), self._observer.end()])
        parsed = messages.parse(op, answer)
        if isinstance(parsed, messages.Failed):
            raise _NotDoneError(endings.FAILURES.get(parsed.kind, RunOutcome.FAILED), _quote(parsed))
        return parsed

    def _hello(self, plan: Plan, environment: str) -> None:
        case = plan.case
        hello: messages.Hello = self._ask(
            "hello",
            protocol=messages.PROTOCOL_VERSION,
            builder=plan.framework.builder,
            device=case.device,
            threads=case.threads,
        )
        surroundings = {
            "environment": environment,
            "kernel": platform.release(),
            "pytest-dlbench": metadata.version("pytest-dlbench"),
            "GLIBC_TUNABLES": launch.ALLOCATORS[plan.allocator],
        }
        # What may change a figure beside the worker's own packages.
        self.measured |= {
            "import_seconds": hello.seconds,
            "versions": {**hello.versions, **surroundings},
            "threads": hello.threads,
            "cores": pinning.in_force(self._worker.pid),
        }
        if hello.threads not in (None, case.threads):
            message = f"{case.threads} threads were asked for, {plan.framework.name} computes with {hello.threads}"
            raise _NotDoneError(RunOutcome.UNSUPPORTED, message)

    def _build(self, plan: Plan, seed: int, weights: str | None) -> None:
        built: messages.Built = self._ask(
            "build", network=plan.network.as_json(), recipe=recipe_json(plan.recipe), weights=weights, seed=seed
        )
        self.measured |= {"build_seconds": built.seconds, "parameters": built.parameters}
        inferred = {name: parameter.shape for name, parameter in plan.network.parameters.items()}
        if built.parameters != inferred:
            wrong = sorted(set(built.parameters.items()) ^ set(inferred.items()))
            message = f"the network that was built has other parameters than {plan.case.model}: {wrong}"
            raise _NotDoneError(RunOutcome.FAILED, message)

    def _train(self, plan: Plan, order: str, rates: str | None) -> None:
        """All steps, with evaluations between them that count for no step."""
        data, first = plan.data, 0
        for last in (*plan.evaluate_after, plan.steps):
            if first:
                trained: messages.TrainedOn = self._ask("train_on", first=first, steps=last - first)
            else:
                inputs, labels = str(data.part("train_inputs")), str(data.part("train_labels"))
                # Said where it is planted, and nowhere else.
                planted = {"slowdown": plan.slowdown} if plan.slowdown else {}
                trained = self._ask(
                    "train", inputs=inputs, labels=labels, order=order, rates=rates, steps=last, **planted
                )
            self._add(trained, plan)
            self._check_trained(plan, trained, first, last)
            if last < plan.steps:
                self._plot(plan, self._evaluated(plan))
            first = last

    def _add(self, trained: messages.TrainedOn, plan: Plan) -> None:
        """Steps behind those that are known already."""
        model = plan.network.model
        tokens = None if model.vocabulary is None else trained.examples * prod(model.input_shape)
        losses = tuple(loss for loss in trained.losses if isinstance(loss, float | int))
        began = trained.began - self._started
        known: Training | None = self.measured.get("training")
        if known is None:
            self.measured["training"] = Training(
                step_seconds=trained.step_seconds,
                losses=losses,
                examples=trained.examples,
                batch_size=plan.recipe.batch_size,
                load_seconds=trained.load_seconds if isinstance(trained, messages.Trained) else None,
                began_seconds=began,
                tokens=tokens,
                device_peak_bytes=trained.device_peak_bytes,
                input_seconds=trained.input_seconds,
            )
            return
        self.measured["training"] = replace(
            known,
            step_seconds=known.step_seconds + trained.step_seconds,
            losses=known.losses + losses,
            examples=known.examples + trained.examples,
            resumed=(*known.resumed, (len(known.step_seconds), began)),
            tokens=None if tokens is None else tokens + (known.tokens or 0),
            # Counted since the worker's start: the last is of all steps.
            device_peak_bytes=trained.device_peak_bytes,
            input_seconds=known.input_seconds + trained.input_seconds,
        )

    @staticmethod
    def _check_trained(plan: Plan, trained: messages.TrainedOn, first: int, last: int) -> None:
        """That steps ``first`` to ``last`` were taken, with losses that are numbers."""
        if trained.losses and isinstance(trained.losses[-1], str):
            step = first + len(trained.losses)
            message = f"the loss became {trained.losses[-1]} at step {step} of {plan.steps}"
            raise _NotDoneError(RunOutcome.DIVERGED, message)
        steps = last - first
        if len(trained.losses) != steps or trained.examples != steps * plan.recipe.batch_size:
            message = f"{steps} steps were asked for, the worker tells of {len(trained.losses)}"
            raise _NotDoneError(RunOutcome.BROKEN_PROTOCOL, f"{message} with {trained.examples} examples")

    def _plot(self, plan: Plan, evaluated: messages.Evaluated) -> float:
        """A point of the curve, behind the steps that are taken by now; gives its loss."""
        training: Training = self.measured["training"]
        loss, step = _number(evaluated.loss), len(training.step_seconds)
        if not isfinite(loss):
            where = "after training" if step == plan.steps else f"behind step {step} of {plan.steps}"
            raise _NotDoneError(RunOutcome.DIVERGED, f"the test loss {where} is {loss}")
        point = CurvePoint(
            step=step,
            epoch=step * plan.recipe.batch_size / plan.data.dataset.train_examples,
            seconds=sum(training.step_seconds),
            accuracy=evaluated.correct / evaluated.examples,
            loss=loss,
        )
        self.measured["curve"] = (*self.measured.get("curve", ()), point)
        return loss

    def _infer(self, plan: Plan, order: str) -> None:
        inferred: messages.Inferred = self._ask("infer", inputs=str(plan.data.part("train_inputs")), order=order)
        batch_size = plan.recipe.batch_size
        self.measured["inference"] = Inference(
            batch_seconds=inferred.batch_seconds,
            examples=inferred.examples,
            batch_size=batch_size,
            output=inferred.output,
        )
        if inferred.output != plan.network.output:
            message = f"{inferred.output} comes of one example, and {plan.network.output} would of {plan.case.model}"
            raise _NotDoneError(RunOutcome.FAILED, message)
        if not inferred.is_finite:
            raise _NotDoneError(RunOutcome.DIVERGED, "not all outputs are finite numbers")
        if (len(inferred.batch_seconds), inferred.examples) != (plan.steps, plan.steps * batch_size):
            message = f"{plan.steps} batches were asked for, the worker tells of {len(inferred.batch_seconds)}"
            raise _NotDoneError(RunOutcome.BROKEN_PROTOCOL, f"{message} with {inferred.examples} examples")

    def _evaluate(self, plan: Plan) -> None:
        first, *others = [self._evaluated(plan) for _ in range(plan.evaluations)]
        for other in others:
            if (other.loss, other.correct) != (first.loss, first.correct):
                message = f"evaluated twice: loss {first.loss}, then {other.loss}; is dropout left on?"
                raise _NotDoneError(RunOutcome.FAILED, message)
        loss = self._plot(plan, first)
        self.measured["evaluation"] = Evaluation(
            seconds=first.seconds,
            examples=first.examples,
            correct=first.correct,
            loss=loss,
            top5_correct=first.top5_correct,
            answers=plan.network.model.head.task,
        )

    def _check_steps(self, plan: Plan, is_suspicious: Callable[[StepCheck], bool]) -> None:
        batch_size = _evaluation_batch_size(plan)
        step = median(self.measured["training"].step_seconds)
        steps = max(1, min(plan.steps // 2, round(CHECKED_SECONDS / step)))
        # Where steps do not wait for their work, the evaluation did: then the steps are the better guide to its time.
        evaluated = self.measured["evaluation"].seconds * batch_size / plan.data.dataset.test_examples
        seconds = 3 * steps * step + 4 * min(evaluated, step * batch_size / plan.recipe.batch_size)
        if seconds > max(LEAST_CHECK_SECONDS, CHECK_SHARE * (monotonic() - self._started)):
            self._observer.absent["step check"] = f"it would take about {seconds:.0f} s"
            return
        for _ in range(CHECKS):
            checked: messages.Checked = self._ask(
                "check_steps",
                inputs=str(plan.data.part("test_inputs")),
                labels=str(plan.data.part("test_labels")),
                batch_size=batch_size,
                steps=steps,
            )
            found = StepCheck(steps=steps, **asdict(checked))
            self.measured["step_checks"] = (*self.measured.get("step_checks", ()), found)
            if not is_suspicious(found):
                return

    def _evaluated(self, plan: Plan) -> messages.Evaluated:
        data = plan.data
        evaluated: messages.Evaluated = self._ask(
            "evaluate",
            inputs=str(data.part("test_inputs")),
            labels=str(data.part("test_labels")),
            batch_size=_evaluation_batch_size(plan),
        )
        return evaluated


def _evaluation_batch_size(plan: Plan) -> int:
    largest = max(prod(placed.inferred.output) for placed in plan.network.layers)
    return max(1, min(EVALUATION_BATCH, EVALUATION_NUMBERS // largest, plan.data.dataset.test_examples))


def recipe_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as the worker gets it and as records keep it."""
    parts = {"optimizer": recipe.optimizer, "schedule": recipe.schedule}
    named = {name: {"kind": part.kind, **asdict(part)} for name, part in parts.items() if part}
    return {**asdict(recipe), **named}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"the answer to 'evaluate': the loss is no number: {text!r}") from None


def _quote(failed: messages.Failed) -> str:
    if failed.kind != "error":
        return failed.message
    return f"{failed.message}\n{failed.traceback.rstrip()}"
