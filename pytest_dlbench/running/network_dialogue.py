"""The requests that the driver sends to the worker of a network, and the checks of its answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import cycle, islice
from math import isclose, isfinite, prod
from statistics import median
from time import monotonic
from typing import Any, Literal

import numpy as np

from pytest_dlbench.data import Prepared
from pytest_dlbench.environments.devices import OPENCL
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import (
    Breakdown,
    CallCheck,
    Checkpoint,
    ComputeDevice,
    CurvePoint,
    Evaluation,
    Inference,
    RunOutcome,
    StepCheck,
    Training,
    UpdateCheck,
)
from pytest_dlbench.records.problems import (
    EvaluationVaries,
    NotFinite,
    OtherDevice,
    OtherOutput,
    OtherParameters,
    StepsMissing,
)
from pytest_dlbench.records.reasons import Undivided
from pytest_dlbench.running import checkpoints, messages, progress
from pytest_dlbench.running.connection import WorkerError
from pytest_dlbench.running.dialogue import (
    CHECK_SHARE,
    CHECKED_SECONDS,
    CHECKS,
    LEAST_CHECK_SECONDS,
    Dialogue,
    steps_alone,
)
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.group import Group
from pytest_dlbench.running.libraries import other_library
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec, recipe_json
from pytest_dlbench.running.sketches import sketch
from pytest_dlbench.running.validating import Validating

# Limits of an evaluation batch: examples, and numbers in the output of the largest layer (256 MiB in float32).
EVALUATION_BATCH = 1000
EVALUATION_NUMBERS = 2**26
# Single steps whose updates are checked: as many as fit into these seconds. Two show that every second one is skipped.
LEAST_UPDATES, MOST_UPDATES, UPDATES_SECONDS = 2, 16, 0.25
# Steps after a checkpoint, in two processes: as many as fit into these seconds. The first shows the parameters, the
# second the optimiser's state.
LEAST_RESUMED, MOST_RESUMED, RESUMED_SECONDS = 3, 10, 1.0
# Steps without exchange between workers: as many as fit into these seconds. The first may compile.
LEAST_ALONE, MOST_ALONE, ALONE_SECONDS = 5, 50, 1.0
# Whole steps and as many in phases, as many as fit into these seconds, and steps whose results are copied.
LEAST_ROUNDS, MOST_ROUNDS, ROUND_SECONDS, COPIED_STEPS = 3, 50, 1.0, 3
# On GPUs an evaluation need not repeat to the bit: sums of atomic operations are in another order each time. Dropout
# that was left on changes it by percents.
REPEATED_ON_GPUS = 1e-4
# On GPUs, steps are timed together for about this long. Waiting for one takes tens of microseconds.
CHUNK_SECONDS = 0.1

# Kinds of layers that a framework may compute by very different kernels.
RECURRENT = frozenset({"lstm", "gru"})
# A step under a profiler takes about as long as these.
KERNELS_STEPS = 2

# Of parameters, by name.
Shapes = Mapping[str, tuple[int, ...]]


class NetworkDialogue(Dialogue[NetworkSpec]):
    """The requests of a run that trains or applies a network."""

    def __init__(self, workers: Group, started: float, spec: NetworkSpec, hooks: RunHooks) -> None:
        super().__init__(workers, started, spec, hooks)
        self._validating = Validating(spec=spec)
        self._best: Evaluation | None = None

    def samples(self, spec: NetworkSpec) -> int:
        """Those of a batch, or of the part that this host's workers have of it."""
        return spec.recipe.batch_size // spec.hosts

    def tokens(self, spec: NetworkSpec, examples: int) -> int | None:
        """As many for each sample as its input is long."""
        model = spec.network.model
        return None if model.vocabulary is None else examples * prod(model.input_shape)

    def run(self, spec: NetworkSpec, environment: str, seed: int, inputs: dict[str, Any]) -> Iterator[None]:
        """Import, build, then train and evaluate (or infer), close.

        Where steps alternate, it stops before each of them and after the last, for the other worker's turn.
        """
        builder, device = spec.framework.builder, in_worker(spec.case.device)
        # Sent only where some are on.
        execution = {"execution": spec.execution} if spec.execution else {}
        self._hello(spec, environment, builder=builder, device=device, **execution, **inputs["group"])
        self._build(spec, seed, inputs["weights"])
        if spec.resumes:
            self._resume(spec, spec.resumes, inputs["course"])
        elif spec.purpose == "inference":
            self._infer(spec, inputs["course"]["order"], inputs["outputs"])
            if spec.has_labels:
                self.measured["evaluation"] = self._of_test_split(spec, self._evaluated(spec, spec.test_data))
            self._require_library(spec, seed)
            if not self._find_kernels(spec, self.measured["inference"].batch_seconds):
                return
        else:
            yield from self._train(spec, inputs["course"])
            if spec.evaluations and not self._examine(spec, seed):
                return
        self._ask("close")

    def _examine(self, spec: NetworkSpec, seed: int) -> bool:
        """Profile, or evaluate and check, what was trained; returns whether the worker is still to be closed."""
        if spec.case.workers > 1:
            found: messages.Fingerprint = self._ask("fingerprint")
            self._hooks.weights_known(found.weights)
        if spec.is_profiled:
            profiled: messages.Profiled = self._ask("profile", steps=spec.steps)
            self.measured["operator_seconds"] = profiled.operator_seconds
            return False
        self._evaluate(spec)
        self._save(spec)
        self._require_library(spec, seed)
        # In the first run only: if the steps of one run are wrong, those of all runs are. A run that is evaluated
        # twice is compared with golden losses, a stronger check.
        if seed == spec.seed and spec.evaluations == 1:
            self._check_updates(spec)
        if self._hooks.is_suspicious and seed == spec.seed:
            self._check_steps(spec, self._hooks.is_suspicious)
        if spec.is_broken_down and spec.is_timed and not self._break_down(spec):
            return False
        if not self._find_kernels(spec, self.measured["training"].step_seconds):
            return False
        if spec.case.workers > 1:
            self._step_alone(spec)
            return True
        return not spec.is_timed or self._count()

    def _build(self, spec: NetworkSpec, seed: int, weights: str | None) -> None:
        built: messages.Built = self._ask(
            "build",
            network=spec.network.as_json(),
            recipe=recipe_json(spec.recipe),
            weights=weights,
            seed=seed,
            # Sent only where it is asked for: a builder that cannot is refused before it trains.
            **({"checkpoints": True} if spec.checkpoint else {}),
        )
        self.measured |= {"build_seconds": built.seconds, "parameters": built.parameters, "device": built.device}
        if problem := wrong_device(spec, built.device):
            raise NotDoneError(RunOutcome.FAILED, problem)
        inferred = {name: parameter.shape for name, parameter in spec.network.parameters.items()}
        if built.parameters != inferred:
            raise NotDoneError(RunOutcome.FAILED, _other_parameters(spec.case.model, built.parameters, inferred))

    def _train(self, spec: NetworkSpec, course: dict[str, Any]) -> Iterator[None]:
        """All steps, with evaluations between them that do not count towards any step.

        ``course`` are the files of what differs from step to step: the order, the rates, the draws.
        """
        first = 0
        for last in (*spec.evaluate_after, spec.steps):
            alone = min(last, max(first, steps_alone(spec)))
            if first < alone:
                self._train_alone(spec, first, alone, course)
            if alone < last:
                yield from self._alternate(spec, alone, last)
            self._validate(spec)
            if last == spec.steps or self._validating.is_over:
                return
            self._plot(spec, self._evaluated(spec, spec.test_data))
            first = last

    def _validate(self, spec: NetworkSpec) -> None:
        """Evaluate the validation split, if there is one, in a phase of its own."""
        if not spec.recipe.validation or spec.is_profiled or not spec.evaluations:
            return
        self._hooks.phase_began(progress.phase("validate", {}, self._steps))
        with self._observed("validate"):
            evaluated: messages.Evaluated = self._answered("evaluate", **_split(spec, spec.data))
        self._validating.add(self._point(spec, evaluated, "validation_loss"), evaluated.seconds)
        self.measured["validation"] = self._validating.result

    def _train_alone(self, spec: NetworkSpec, first: int, last: int, course: dict[str, Any]) -> None:
        """Steps ``first`` to ``last`` in one request."""
        if first:
            trained: messages.TrainedOn = self._ask("train_on", first=first, steps=last - first)
        else:
            # Sent only where a slowdown is planted.
            planted = {"slowdown": spec.slowdown} if spec.slowdown else {}
            chunked = {} if spec.case.device == "cpu" else {"chunk_seconds": CHUNK_SECONDS}
            trained = self._ask("train", **_training_split(spec), steps=last, **course, **planted, **chunked)
        if spec.case.workers > 1:
            self._add_shares()
        self._add(trained, spec)
        self._check_trained(spec, trained, first, last)

    def _plot(self, spec: NetworkSpec, evaluated: messages.Evaluated) -> Evaluation:
        """Add a point to the curve, after the steps taken so far; returns the evaluation."""
        point = self._point(spec, evaluated, "test_loss")
        self.measured["curve"] = (*self.measured.get("curve", ()), point)
        found = self._of_test_split(spec, evaluated)
        if spec.recipe.tested_epoch == "last" or not self._validating.points or self._validating.is_best:
            self._best = found
        return self._best or found

    @staticmethod
    def _of_test_split(spec: NetworkSpec, evaluated: messages.Evaluated) -> Evaluation:
        """What the record keeps of an evaluation; raises NotDoneError if its loss is not finite."""
        loss = _number(evaluated.loss)
        if not isfinite(loss):
            raise NotDoneError(RunOutcome.DIVERGED, NotFinite(figure="test_loss", value=str(loss)))
        return Evaluation(
            seconds=evaluated.seconds,
            examples=evaluated.examples,
            correct=evaluated.correct,
            loss=loss,
            top5_correct=evaluated.top5_correct,
            map50=evaluated.map50,
            auroc=evaluated.auroc,
            class_accuracies=evaluated.class_accuracies,
            answers=spec.network.model.head.task,
        )

    def _point(
        self, spec: NetworkSpec, evaluated: messages.Evaluated, figure: Literal["test_loss", "validation_loss"]
    ) -> CurvePoint:
        """A point of a curve, after the steps taken so far; raises NotDoneError if its loss is not finite."""
        training: Training = self.measured["training"]
        loss, step = _number(evaluated.loss), len(training.step_seconds)
        if not isfinite(loss):
            diverged = NotFinite(figure=figure, value=str(loss), step=step, steps=spec.steps)
            raise NotDoneError(RunOutcome.DIVERGED, diverged)
        return CurvePoint(
            step=step,
            epoch=step * spec.recipe.batch_size / spec.data.dataset.train_examples,
            seconds=sum(training.step_seconds),
            accuracy=evaluated.correct / evaluated.examples,
            loss=loss,
        )

    def _infer(self, spec: NetworkSpec, order: str, outputs: str | None) -> None:
        # Sent only where all frameworks have the same weights.
        written = {"outputs": outputs} if outputs else {}
        data = str(spec.data.part("train_inputs"))
        inferred: messages.Inferred = self._ask("infer", inputs=data, order=order, **written)
        batch_size = spec.recipe.batch_size
        self.measured["inference"] = Inference(
            batch_seconds=inferred.batch_seconds,
            examples=inferred.examples,
            batch_size=batch_size,
            output=inferred.output,
            sketch=sketch(np.load(outputs, allow_pickle=False)) if outputs and inferred.is_finite else (),
        )
        if inferred.output != spec.network.output:
            other = OtherOutput(model=spec.case.model, found=inferred.output, expected=spec.network.output)
            raise NotDoneError(RunOutcome.FAILED, other)
        if not inferred.is_finite:
            raise NotDoneError(RunOutcome.DIVERGED, NotFinite(figure="output"))
        if (len(inferred.batch_seconds), inferred.examples) != (spec.steps, spec.steps * batch_size):
            reported, examples = len(inferred.batch_seconds), inferred.examples
            missing = StepsMissing(unit="batches", requested=spec.steps, reported=reported, examples=examples)
            raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, missing)

    def _evaluate(self, spec: NetworkSpec) -> None:
        first, *others = [self._evaluated(spec, spec.test_data) for _ in range(spec.evaluations)]
        for other in others:
            if not is_repeated(first, other, spec.case.device):
                raise NotDoneError(RunOutcome.FAILED, EvaluationVaries(losses=(first.loss, other.loss)))
        self.measured["evaluation"] = self._plot(spec, first)

    def _save(self, spec: NetworkSpec) -> None:
        """Write a checkpoint, and go on with a few steps. In no phase: no figure of the run has them."""
        if spec.checkpoint is None:
            return
        step = median(self.measured["training"].step_seconds)
        count = max(LEAST_RESUMED, min(MOST_RESUMED, round(RESUMED_SECONDS / step)))
        numbers = updating_steps(spec.learning_rates(), count) or [0]
        self._hooks.phase_began(progress.phase("save", {}, self._steps))
        saved: messages.Saved = self._answered(
            "save", folder=str(spec.checkpoint), numbers=numbers, **_test_batch(spec)
        )
        self.measured["checkpoint"] = checkpoints.written(spec, saved, tuple(numbers))

    def _resume(self, spec: NetworkSpec, known: Checkpoint, course: dict[str, Any]) -> None:
        """Go on from a checkpoint with the steps that followed it in the process that wrote it."""
        self._hooks.phase_began(progress.phase("resume", {}, self._steps))
        resumed: messages.Resumed = self._answered(
            "resume",
            folder=str(spec.checkpoint),
            numbers=known.numbers,
            **_training_split(spec),
            **course,
            **_test_batch(spec),
        )
        found = self.measured["checkpoint"] = checkpoints.read(known, resumed)
        checkpoints.require_same(found)

    def _step_alone(self, spec: NetworkSpec) -> None:
        """Steps without exchange, the last ones: from then on the workers' weights differ."""
        step = median(self.measured["training"].step_seconds)
        count = max(LEAST_ALONE, min(MOST_ALONE, spec.steps, round(ALONE_SECONDS / step)))
        if monotonic() + 2 * count * step > self._deadline:
            self._observer.absent["exchange"] = f"steps without it would take {count * step:.0f} s, past the timeout"
            return
        alone: messages.Alone = self._ask("steps_alone", steps=min(count, spec.steps))
        self.measured["exchange"] = replace(self.measured["exchange"], alone_seconds=alone.step_seconds)

    def _break_down(self, spec: NetworkSpec) -> bool:
        """Divide steps that are not timed into their phases, in no phase of the run: no other figure has them.

        Returns whether the worker is still there: the run has its figures, and does not fail if its steps cannot be
        divided.
        """
        step = median(self.measured["training"].step_seconds)
        # Hosts have different step times, and must take the same number of steps.
        most = LEAST_ROUNDS if spec.hosts > 1 else MOST_ROUNDS
        each = 3 if spec.has_layers_timed else 2
        rounds = max(LEAST_ROUNDS, min(most, round(ROUND_SECONDS / (each * step))))
        if monotonic() + 1.5 * each * (rounds + COPIED_STEPS) * step > self._deadline:
            seconds = each * (rounds + COPIED_STEPS) * step
            self.measured["breakdown"] = Breakdown(undivided=Undivided(cause="time", what=f"{seconds:.0f} s"))
            return True
        self._hooks.phase_began(progress.phase("break_down", {}, self._steps))
        try:
            found: messages.BrokenDown = self._answered(
                "break_down", steps=spec.steps, rounds=rounds, checks=COPIED_STEPS, layers=spec.has_layers_timed
            )
        except NotDoneError as error:
            self.measured["breakdown"] = Breakdown(undivided=Undivided(cause="failed", what=error.said))
            return True
        except WorkerError:
            ended = "the worker ended, or did not answer in time"
            self.measured["breakdown"] = Breakdown(undivided=Undivided(cause="failed", what=ended))
            return False
        self.measured["breakdown"] = _breakdown(found)
        return True

    def _require_library(self, spec: NetworkSpec, seed: int) -> None:
        """Have a step repeated in a process whose libraries report their calls, if the recipe asks for one of them.

        In the first run only, and in no phase: no figure of the run has it.
        """
        if spec.recipe.library is None or seed != spec.seed:
            return
        if spec.case.workers > 1:
            self._observer.absent["library"] = "a step of several workers cannot be repeated in a single process"
            return
        self._hooks.phase_began(progress.phase("library_calls", {}, self._steps))
        found: messages.LibraryCalls = self._answered("library_calls")
        self.measured["library_calls"] = found.calls
        if problem := other_library(spec.framework.name, spec.recipe.library, found.calls):
            raise NotDoneError(RunOutcome.FAILED, problem)

    def _find_kernels(self, spec: NetworkSpec, seconds: Sequence[float]) -> bool:
        """What computes the recurrent layers, if there are any, which may take a step more, of about these seconds.

        In no phase: no figure of the run has it. Returns whether the worker is still there.
        """
        if not any(placed.layer.kind in RECURRENT for placed in spec.network.layers):
            return True
        expected = KERNELS_STEPS * median(seconds)
        # Several hosts would not agree on it.
        if spec.hosts == 1 and expected > max(LEAST_CHECK_SECONDS, CHECK_SHARE * (monotonic() - self._started)):
            self._observer.absent["recurrent kernels"] = f"it would take about {expected:.0f} s"
            return True
        found, is_there = self._once_more("recurrent_kernels", "recurrent kernels", "profiler")
        if found is None:
            return is_there
        if found.absent:
            self._observer.absent["recurrent kernels"] = found.absent
        else:
            self.measured["recurrent_kernels"] = found.kernels
        return True

    def _check_updates(self, spec: NetworkSpec) -> None:
        step = median(self.measured["training"].step_seconds)
        # Hosts have different step times, and must take the same number of steps.
        most = LEAST_UPDATES if spec.hosts > 1 else MOST_UPDATES
        count = max(LEAST_UPDATES, min(most, round(UPDATES_SECONDS / step)))
        numbers = updating_steps(spec.learning_rates(), count)
        if not numbers:
            self._observer.absent["update check"] = "the learning rate is 0 in every step"
        elif monotonic() + 2 * len(numbers) * step > self._deadline:
            self._observer.absent["update check"] = f"it would take about {len(numbers) * step:.0f} s, past the timeout"
        else:
            checked: messages.Updated = self._ask("check_updates", numbers=numbers)
            self.measured["update_check"] = UpdateCheck(
                numbers=tuple(numbers), changed=checked.changed, losses=checked.losses
            )

    def _check_steps(self, spec: NetworkSpec, is_suspicious: Callable[[StepCheck | CallCheck], bool]) -> None:
        if spec.hosts > 1:
            self._observer.absent["step check"] = "hosts would not agree on its length, which depends on their times"
            return
        data = spec.test_data
        batch_size = _evaluation_batch_size(spec, data)
        step = median(self.measured["training"].step_seconds)
        steps = max(1, min(spec.steps // 2, round(CHECKED_SECONDS / step)))
        # If steps return before their work is done, the evaluation waited for it: then step times estimate it better.
        evaluated = self.measured["evaluation"].seconds * batch_size / data.dataset.test_examples
        seconds = 3 * steps * step + 6 * min(evaluated, step * batch_size / spec.recipe.batch_size)
        if seconds > self._most_seconds_of_checks():
            self._observer.absent["step check"] = f"it would take about {seconds:.0f} s"
            return
        for _ in range(CHECKS):
            checked: messages.Checked = self._ask("check_steps", **_split(spec, data), steps=steps)
            found = StepCheck(steps=steps, **asdict(checked))
            self.measured["step_checks"] = (*self.measured.get("step_checks", ()), found)
            if not is_suspicious(found):
                return

    def _evaluated(self, spec: NetworkSpec, data: Prepared) -> messages.Evaluated:
        evaluated: messages.Evaluated = self._ask("evaluate", **_split(spec, data))
        return evaluated


def _breakdown(found: messages.BrokenDown) -> Breakdown:
    if found.cause is not None:
        return Breakdown(undivided=Undivided(cause=found.cause, what=found.what))
    cause = found.layers_cause
    return Breakdown(
        step_seconds=found.step_seconds,
        phase_seconds=found.phase_seconds,
        copy_seconds=found.copy_seconds,
        layers=found.layers,
        no_layers=None if cause is None else Undivided(cause=cause, what=found.layers_what, unit="layers"),
    )


def is_repeated(first: messages.Evaluated, other: messages.Evaluated, device: str) -> bool:
    """Whether an evaluation of the same weights has the same results: to the bit, on GPUs nearly."""
    if device != "gpu":
        return (other.loss, other.correct) == (first.loss, first.correct)
    may_differ = REPEATED_ON_GPUS * first.examples
    is_close = isclose(_number(other.loss), _number(first.loss), rel_tol=REPEATED_ON_GPUS)
    return is_close and abs(other.correct - first.correct) <= max(1, may_differ)


def wrong_device(spec: RunSpec, device: ComputeDevice | None) -> OtherDevice | None:
    """Why the run would not measure the device that was requested; None if it does."""
    name, wanted = spec.framework.name, spec.case.device
    if wanted == OPENCL and device is not None and device.kind != "cpu":
        return OtherDevice(framework=name, requested=wanted, found=device.kind, name=device.name)
    if device is None:
        return None if wanted == "cpu" else OtherDevice(framework=name, requested=wanted)
    is_allowed = spec.framework.takes_processor_as_gpu and device.kind == "cpu"
    if (device.kind == "cpu") == (wanted == "cpu") or is_allowed:
        return None
    return OtherDevice(framework=name, requested=wanted, found=device.kind, name=device.name)


def _other_parameters(model: str, built: Shapes, inferred: Shapes) -> OtherParameters:
    """Those that are not in both networks with one shape."""
    return OtherParameters(
        model=model,
        built={name: shape for name, shape in built.items() if inferred.get(name) != shape},
        expected={name: shape for name, shape in inferred.items() if built.get(name) != shape},
    )


def in_worker(device: str) -> str:
    """The device that a builder is asked for: its code for GPUs is the same on OpenCL."""
    return "gpu" if device == OPENCL else device


def updating_steps(rates: Sequence[float], count: int) -> list[int]:
    """The consecutive steps with the highest learning rates, without those whose rate is 0; again if there are few."""
    firsts = range(max(1, len(rates) - count + 1))
    first = max(firsts, key=lambda first: min(rates[first : first + count]))
    numbers = [number for number in range(first, min(first + count, len(rates))) if rates[number] > 0]
    return list(islice(cycle(numbers), count))


def _training_split(spec: NetworkSpec) -> dict[str, str]:
    """The fields of a request to train that name the examples, with the folder of their files if they have some."""
    parts = {name: str(spec.data.part(f"train_{name}")) for name in ("inputs", "labels")}
    return {**parts, "images": str(spec.data.folder)} if spec.recipe.input == "jpeg" else parts


def _split(spec: NetworkSpec, data: Prepared) -> dict[str, Any]:
    """The fields of a request that evaluates the test split of a data set, or what is in its place."""
    inputs, labels = str(data.part("test_inputs")), str(data.part("test_labels"))
    return {"inputs": inputs, "labels": labels, "batch_size": _evaluation_batch_size(spec, data)}


def _test_batch(spec: NetworkSpec) -> dict[str, Any]:
    """The fields of a request that evaluates a batch of the test split."""
    split = _split(spec, spec.test_data)
    return {"test_inputs": split["inputs"], "test_labels": split["labels"], "batch_size": split["batch_size"]}


def _evaluation_batch_size(spec: NetworkSpec, data: Prepared) -> int:
    largest = max(prod(placed.inferred.output) for placed in spec.network.layers)
    return max(1, min(EVALUATION_BATCH, EVALUATION_NUMBERS // largest, data.dataset.test_examples))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"the answer to 'evaluate': the loss is not a number: {text!r}") from None
