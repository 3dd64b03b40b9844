"""The conversation with the worker of one run: what is asked, and what its answers must be."""

import platform
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import metadata
from math import isfinite, prod
from statistics import median
from time import monotonic
from typing import Any

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import CurvePoint, Evaluation, Inference, RunOutcome, StepCheck, Training
from pytest_dlbench.running import failures, launch, messages, pinning, progress
from pytest_dlbench.running.connection import Worker
from pytest_dlbench.running.plan import Plan, recipe_json
from pytest_dlbench.sampling.joining import joined
from pytest_dlbench.sampling.observer import Observer

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


class NotDoneError(Exception):
    """The run ends here, with an outcome that is not "finished"."""

    def __init__(self, outcome: RunOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class Dialogue:
    """The conversation of one run; ``measured`` keeps what is known so far, so that a late failure loses nothing."""

    def __init__(self, worker: Worker, started: float, plan: Plan) -> None:
        self._worker, self._started, self._deadline = worker, started, started + plan.timeout_seconds
        self._observer = Observer(
            worker.pid,
            started,
            device=plan.case.device,
            card=plan.card,
            make=plan.samplers,
        )
        self._period_seconds = plan.sample_period_seconds
        self._steps, self._enters = plan.steps, plan.enters
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
        self._enters(progress.phase(op, fields, self._steps))
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
            raise NotDoneError(failures.FAILURES.get(parsed.kind, RunOutcome.FAILED), failures.quote(parsed))
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
            # Whose text the data sets of pydoc are.
            "driver-python": platform.python_version(),
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
            raise NotDoneError(RunOutcome.UNSUPPORTED, message)

    def _build(self, plan: Plan, seed: int, weights: str | None) -> None:
        built: messages.Built = self._ask(
            "build", network=plan.network.as_json(), recipe=recipe_json(plan.recipe), weights=weights, seed=seed
        )
        self.measured |= {"build_seconds": built.seconds, "parameters": built.parameters}
        inferred = {name: parameter.shape for name, parameter in plan.network.parameters.items()}
        if built.parameters != inferred:
            wrong = sorted(set(built.parameters.items()) ^ set(inferred.items()))
            message = f"the network that was built has other parameters than {plan.case.model}: {wrong}"
            raise NotDoneError(RunOutcome.FAILED, message)

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
            raise NotDoneError(RunOutcome.DIVERGED, message)
        steps = last - first
        if len(trained.losses) != steps or trained.examples != steps * plan.recipe.batch_size:
            message = f"{steps} steps were requested, the worker reports {len(trained.losses)}"
            raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, f"{message} with {trained.examples} examples")

    def _plot(self, plan: Plan, evaluated: messages.Evaluated) -> float:
        """A point of the curve, behind the steps that are taken by now; gives its loss."""
        training: Training = self.measured["training"]
        loss, step = _number(evaluated.loss), len(training.step_seconds)
        if not isfinite(loss):
            where = "after training" if step == plan.steps else f"behind step {step} of {plan.steps}"
            raise NotDoneError(RunOutcome.DIVERGED, f"the test loss {where} is {loss}")
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
            raise NotDoneError(RunOutcome.FAILED, message)
        if not inferred.is_finite:
            raise NotDoneError(RunOutcome.DIVERGED, "not all outputs are finite numbers")
        if (len(inferred.batch_seconds), inferred.examples) != (plan.steps, plan.steps * batch_size):
            message = f"{plan.steps} batches were requested, the worker reports {len(inferred.batch_seconds)}"
            raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, f"{message} with {inferred.examples} examples")

    def _evaluate(self, plan: Plan) -> None:
        first, *others = [self._evaluated(plan) for _ in range(plan.evaluations)]
        for other in others:
            if (other.loss, other.correct) != (first.loss, first.correct):
                message = f"evaluated twice: loss {first.loss}, then {other.loss}; is dropout left on?"
                raise NotDoneError(RunOutcome.FAILED, message)
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
        seconds = 3 * steps * step + 6 * min(evaluated, step * batch_size / plan.recipe.batch_size)
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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"the answer to 'evaluate': the loss is no number: {text!r}") from None
