"""The requests that the driver sends to the worker of one run, and the checks of its answers."""

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import metadata
from itertools import cycle, islice
from math import isfinite, prod
from statistics import median
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.devices import visible_gpus
from pytest_dlbench.environments.frameworks import Checkout
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.environments.requested import Packages, contradicted, wrong
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import (
    Alternation,
    Case,
    ComputeDevice,
    CurvePoint,
    Evaluation,
    Inference,
    RunOutcome,
    StepCheck,
    Training,
    UpdateCheck,
)
from pytest_dlbench.running import failures, launch, messages, pinning, progress
from pytest_dlbench.running.connection import Worker
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec, recipe_json
from pytest_dlbench.sampling.joining import joined
from pytest_dlbench.sampling.observer import Observer

S = TypeVar("S", bound=RunSpec)

# Limits of an evaluation batch: examples, and numbers in the output of the largest layer (256 MiB in float32).
EVALUATION_BATCH = 1000
EVALUATION_NUMBERS = 2**26
# The step check repeats about this many seconds of steps.
CHECKED_SECONDS = 0.05
# It is skipped if it would take longer than both of these: seconds, and a share of the run so far.
LEAST_CHECK_SECONDS, CHECK_SHARE = 1.0, 0.25
# A suspicion counts only if it shows in this many checks.
CHECKS = 3
# Single steps whose updates are checked: as many as fit into these seconds. Two show that every second one is skipped.
LEAST_UPDATES, MOST_UPDATES, UPDATES_SECONDS = 2, 16, 0.25
# Before steps alternate, each worker takes this many alone, or the first quarter of fewer than four times as many: the
# first ones compile, allocate and fill caches.
STEPS_ALONE = 10
# On GPUs, steps are timed together for about this long. Waiting for one takes tens of microseconds.
CHUNK_SECONDS = 0.1
# Requests that continue a phase.
PHASES = {"train_on": "train"}


class NotDoneError(Exception):
    """The run ends here, with an outcome other than "finished"."""

    def __init__(self, outcome: RunOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class Dialogue(ABC, Generic[S]):
    """The requests of one run; ``measured`` keeps the results so far, so that a late failure loses none of them."""

    answers: ClassVar[Mapping[str, type]] = messages.ANSWERS

    def __init__(self, worker: Worker, started: float, spec: S, hooks: RunHooks) -> None:
        self._worker, self._started, self._deadline = worker, started, started + spec.timeout_seconds
        self._observer = Observer(
            worker.pid,
            started,
            device=spec.case.device,
            gpus=(spec.gpu,) if spec.gpu else visible_gpus(),
            make=hooks.samplers,
        )
        self._period_seconds = spec.sample_period_seconds
        self._steps, self._hooks = spec.steps, hooks
        self._sample_due = 0.0
        self.measured: dict[str, Any] = {"usage": {}}

    def observed(self) -> dict[str, Any]:
        """The samples of the worker's processes over all phases, and what could not be sampled."""
        return {"timeline": self._observer.timeline(), "absent": self._observer.absent}

    @abstractmethod
    def run(self, spec: S, environment: str, seed: int, inputs: dict[str, Any]) -> Iterator[None]:
        """All requests, from hello to close.

        Where steps alternate, it stops before each of them and after the last, for the other worker's turn.
        """

    @abstractmethod
    def samples(self, spec: S) -> int:
        """The samples of a step."""

    def tokens(self, spec: S, examples: int) -> int | None:  # noqa: ARG002 - most runs are not of text
        """The tokens of that many samples; None if they are not text."""
        return None

    def _ask(self, op: str, **fields: Any) -> Any:
        self._hooks.phase_began(progress.phase(op, fields, self._steps))
        with self._observed(PHASES.get(op, op)):
            return self._answered(op, **fields)

    @contextmanager
    def _observed(self, phase: str, taken: Sequence[messages.Stepped] = ()) -> Iterator[None]:
        """Add what is used in this block to a phase, of which only the steps that it took count as time."""
        self._observer.begin()
        try:
            yield
        finally:
            part, used = self._observer.end(), self.measured["usage"]
            part = replace(part, wall_seconds=sum(step.seconds for step in taken)) if taken else part
            used[phase] = joined([*([used[phase]] if phase in used else []), part])

    def _answered(self, op: str, **fields: Any) -> Any:
        answer = self._worker.request(
            op,
            deadline=self._deadline,
            waiting=self._observer.sample,
            period_seconds=self._period_seconds,
            **fields,
        )
        parsed = messages.parse(op, answer, self.answers)
        if isinstance(parsed, messages.Failed):
            raise NotDoneError(failures.FAILURES.get(parsed.kind, RunOutcome.FAILED), failures.quote(parsed))
        return parsed

    def _hello(self, spec: S, environment: str, **fields: Any) -> messages.Hello:
        case = spec.case
        hello: messages.Hello = self._ask(
            "hello",
            protocol=messages.PROTOCOL_VERSION,
            threads=case.threads,
            **_repository(spec.framework),
            **fields,
        )
        surroundings = {
            "environment": environment,
            "kernel": platform.release(),
            "pytest-dlbench": metadata.version("pytest-dlbench"),
            # The pydoc data sets are made from its documentation.
            "driver-python": platform.python_version(),
            "GLIBC_TUNABLES": launch.ALLOCATORS[spec.allocator],
            **(launch.PASSIVE if spec.alternates else {}),
            **_of_side(case),
        }
        # In addition to the worker's packages, these may affect the figures.
        self.measured |= {
            "import_seconds": hello.seconds,
            "versions": {**hello.versions, **surroundings},
            "threads": hello.threads,
            "cores": pinning.in_force(self._worker.pid),
        }
        self._check_versions(spec, hello)
        if hello.threads not in (None, case.threads):
            message = f"{case.threads} threads were requested, but {spec.framework.name} uses {hello.threads}"
            raise NotDoneError(RunOutcome.UNSUPPORTED, message)
        return hello

    def _check_versions(self, spec: S, hello: messages.Hello) -> None:
        """Raise NotDoneError if the worker has other versions than were requested, or than its builder reports."""
        assert isinstance(spec.place, Place)
        found = Packages(
            name=spec.framework.name,
            requested=spec.place.requirements,
            python=hello.versions["python"],
            installed=hello.distributions,
        )
        if hello.elsewhere and (checkout := spec.framework.checkout):
            raise NotDoneError(RunOutcome.WRONG_VERSION, _other_files(checkout, hello.elsewhere))
        if problems := [*wrong(found), *contradicted(hello.versions, hello.sources)]:
            raise NotDoneError(RunOutcome.WRONG_VERSION, _wrong(spec.framework, spec.place, problems))
        if problem := self._hooks.packages_reported(found):
            raise NotDoneError(RunOutcome.WRONG_VERSION, problem)

    def _alternate(self, spec: S, first: int, last: int) -> Iterator[None]:
        """Steps ``first`` to ``last`` in one request each."""
        self._hooks.phase_began(progress.phase("train_on", {"first": first, "steps": last - first}, self._steps))
        taken: list[messages.Stepped] = []
        try:
            with self._observed(PHASES["train_on"], taken):
                while len(taken) < last - first and not (taken and isinstance(taken[-1].loss, str)):
                    yield from self._others_turn()
                    taken.append(self._step(first + len(taken)))
            yield from self._others_turn()
        finally:
            if taken:
                self._add_alternated(spec, first, taken)
        self._check_trained(spec, self._trained_on(spec, taken), first, last)

    def _others_turn(self) -> Iterator[None]:
        """Wait for the other worker, whose time does not count towards the timeout of this run."""
        began = monotonic()
        yield
        self._deadline += monotonic() - began

    def _step(self, number: int) -> messages.Stepped:
        # Most steps are shorter than the sampling period.
        if monotonic() >= self._sample_due:
            self._observer.sample()
            self._sample_due = monotonic() + self._period_seconds
        stepped: messages.Stepped = self._answered("step", number=number)
        return stepped

    def _add_alternated(self, spec: S, first: int, taken: Sequence[messages.Stepped]) -> None:
        """Append steps that alternated with the other worker's."""
        known: Training = self.measured["training"]
        self._add(self._trained_on(spec, taken), spec)
        added: Training = self.measured["training"]
        before = known.alternation or Alternation(first=first, cpu_seconds=(), idle_cpus=0.0)
        # Before the first one the worker may have been evaluating.
        idle = sum(stepped.idle_seconds for stepped in taken[1:])
        used = sum(stepped.idle_cpu_seconds for stepped in taken[1:])
        began = ((first + place, stepped.began - self._started) for place, stepped in enumerate(taken))
        alternation = Alternation(
            first=before.first,
            cpu_seconds=before.cpu_seconds + tuple(stepped.cpu_seconds for stepped in taken),
            idle_cpus=max(before.idle_cpus, used / idle if idle else 0.0),
            computing=before.computing + tuple(_computing(stepped) for stepped in taken if _had_processor(stepped) > 0),
        )
        self.measured["training"] = replace(added, resumed=(*known.resumed, *began), alternation=alternation)

    def _trained_on(self, spec: S, taken: Sequence[messages.Stepped]) -> messages.TrainedOn:
        """Single steps as the answer to one request for all of them."""
        return messages.TrainedOn(
            began=taken[0].began,
            step_seconds=tuple(stepped.seconds for stepped in taken),
            losses=tuple(stepped.loss for stepped in taken),
            examples=len(taken) * self.samples(spec),
        )

    def _add(self, trained: messages.TrainedOn, spec: S) -> None:
        """Append steps to those that are already recorded."""
        tokens = self.tokens(spec, trained.examples)
        losses = tuple(loss for loss in trained.losses if isinstance(loss, float | int))
        began = trained.began - self._started
        known: Training | None = self.measured.get("training")
        if known is None:
            self.measured["training"] = Training(
                step_seconds=trained.step_seconds,
                losses=losses,
                examples=trained.examples,
                batch_size=self.samples(spec),
                load_seconds=trained.load_seconds if isinstance(trained, messages.Trained) else None,
                began_seconds=began,
                tokens=tokens,
                device_peak_bytes=trained.device_peak_bytes,
                input_seconds=trained.input_seconds,
                chunks=trained.chunks,
            )
            return
        self.measured["training"] = replace(
            known,
            step_seconds=known.step_seconds + trained.step_seconds,
            losses=known.losses + losses,
            examples=known.examples + trained.examples,
            resumed=(*known.resumed, (len(known.step_seconds), began)),
            tokens=None if tokens is None else tokens + (known.tokens or 0),
            # A peak since the worker's start: the latest value covers all steps.
            device_peak_bytes=trained.device_peak_bytes,
            input_seconds=known.input_seconds + trained.input_seconds,
            chunks=known.chunks + trained.chunks,
        )

    def _check_trained(self, spec: S, trained: messages.TrainedOn, first: int, last: int) -> None:
        """Raise NotDoneError unless steps ``first`` to ``last`` were all taken with finite losses."""
        if trained.losses and isinstance(trained.losses[-1], str):
            step = first + len(trained.losses)
            message = f"the loss became {trained.losses[-1]} at step {step} of {spec.steps}"
            raise NotDoneError(RunOutcome.DIVERGED, message)
        steps = last - first
        if len(trained.losses) != steps or trained.examples != steps * self.samples(spec):
            message = f"{steps} steps were requested, the worker reported {len(trained.losses)}"
            raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, f"{message} with {trained.examples} examples")


class NetworkDialogue(Dialogue[NetworkSpec]):
    """The requests of a run that trains or applies a network."""

    def samples(self, spec: NetworkSpec) -> int:
        """Those of a batch."""
        return spec.recipe.batch_size

    def tokens(self, spec: NetworkSpec, examples: int) -> int | None:
        """As many for each sample as its input is long."""
        model = spec.network.model
        return None if model.vocabulary is None else examples * prod(model.input_shape)

    def run(self, spec: NetworkSpec, environment: str, seed: int, inputs: dict[str, Any]) -> Iterator[None]:
        """Import, build, then train and evaluate (or infer), close.

        Where steps alternate, it stops before each of them and after the last, for the other worker's turn.
        """
        self._hello(spec, environment, builder=spec.framework.builder, device=spec.case.device)
        self._build(spec, seed, inputs["weights"])
        if spec.purpose == "inference":
            self._infer(spec, inputs["order"])
        else:
            yield from self._train(spec, inputs["order"], inputs["rates"])
            if spec.is_profiled:
                profiled: messages.Profiled = self._ask("profile", steps=spec.steps)
                self.measured["operator_seconds"] = profiled.operator_seconds
                return
            self._evaluate(spec)
            # In the first run only: if the steps of one run are wrong, those of all runs are. A run that is evaluated
            # twice is compared with golden losses, a stronger check.
            if seed == spec.seed and spec.evaluations == 1:
                self._check_updates(spec)
            if self._hooks.is_suspicious and seed == spec.seed:
                self._check_steps(spec, self._hooks.is_suspicious)
        self._ask("close")

    def _build(self, spec: NetworkSpec, seed: int, weights: str | None) -> None:
        built: messages.Built = self._ask(
            "build", network=spec.network.as_json(), recipe=recipe_json(spec.recipe), weights=weights, seed=seed
        )
        self.measured |= {"build_seconds": built.seconds, "parameters": built.parameters, "device": built.device}
        if problem := _wrong_device(spec, built.device):
            raise NotDoneError(RunOutcome.FAILED, problem)
        inferred = {name: parameter.shape for name, parameter in spec.network.parameters.items()}
        if built.parameters != inferred:
            differing = sorted(set(built.parameters.items()) ^ set(inferred.items()))
            message = f"the parameters of the built network differ from those of {spec.case.model}: {differing}"
            raise NotDoneError(RunOutcome.FAILED, message)

    def _train(self, spec: NetworkSpec, order: str, rates: str | None) -> Iterator[None]:
        """All steps, with evaluations between them that do not count towards any step."""
        first = 0
        for last in (*spec.evaluate_after, spec.steps):
            alone = min(last, max(first, steps_alone(spec)))
            if first < alone:
                self._train_alone(spec, first, alone, order, rates)
            if alone < last:
                yield from self._alternate(spec, alone, last)
            if last < spec.steps:
                self._plot(spec, self._evaluated(spec))
            first = last

    def _train_alone(self, spec: NetworkSpec, first: int, last: int, order: str, rates: str | None) -> None:
        """Steps ``first`` to ``last`` in one request."""
        if first:
            trained: messages.TrainedOn = self._ask("train_on", first=first, steps=last - first)
        else:
            inputs, labels = str(spec.data.part("train_inputs")), str(spec.data.part("train_labels"))
            # Sent only where a slowdown is planted.
            planted = {"slowdown": spec.slowdown} if spec.slowdown else {}
            chunked = {} if spec.case.device == "cpu" else {"chunk_seconds": CHUNK_SECONDS}
            trained = self._ask(
                "train", inputs=inputs, labels=labels, order=order, rates=rates, steps=last, **planted, **chunked
            )
        self._add(trained, spec)
        self._check_trained(spec, trained, first, last)

    def _plot(self, spec: NetworkSpec, evaluated: messages.Evaluated) -> float:
        """Add a point to the curve, after the steps taken so far; returns its loss."""
        training: Training = self.measured["training"]
        loss, step = _number(evaluated.loss), len(training.step_seconds)
        if not isfinite(loss):
            where = "after training" if step == spec.steps else f"after step {step} of {spec.steps}"
            raise NotDoneError(RunOutcome.DIVERGED, f"the test loss {where} is {loss}")
        point = CurvePoint(
            step=step,
            epoch=step * spec.recipe.batch_size / spec.data.dataset.train_examples,
            seconds=sum(training.step_seconds),
            accuracy=evaluated.correct / evaluated.examples,
            loss=loss,
        )
        self.measured["curve"] = (*self.measured.get("curve", ()), point)
        return loss

    def _infer(self, spec: NetworkSpec, order: str) -> None:
        inferred: messages.Inferred = self._ask("infer", inputs=str(spec.data.part("train_inputs")), order=order)
        batch_size = spec.recipe.batch_size
        self.measured["inference"] = Inference(
            batch_seconds=inferred.batch_seconds,
            examples=inferred.examples,
            batch_size=batch_size,
            output=inferred.output,
        )
        if inferred.output != spec.network.output:
            message = f"one example gives an output of {inferred.output}, {spec.case.model} has {spec.network.output}"
            raise NotDoneError(RunOutcome.FAILED, message)
        if not inferred.is_finite:
            raise NotDoneError(RunOutcome.DIVERGED, "not all outputs are finite numbers")
        if (len(inferred.batch_seconds), inferred.examples) != (spec.steps, spec.steps * batch_size):
            message = f"{spec.steps} batches were requested, the worker reported {len(inferred.batch_seconds)}"
            raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, f"{message} with {inferred.examples} examples")

    def _evaluate(self, spec: NetworkSpec) -> None:
        first, *others = [self._evaluated(spec) for _ in range(spec.evaluations)]
        for other in others:
            if (other.loss, other.correct) != (first.loss, first.correct):
                message = f"evaluated twice: loss {first.loss}, then {other.loss}; is dropout left on?"
                raise NotDoneError(RunOutcome.FAILED, message)
        loss = self._plot(spec, first)
        self.measured["evaluation"] = Evaluation(
            seconds=first.seconds,
            examples=first.examples,
            correct=first.correct,
            loss=loss,
            top5_correct=first.top5_correct,
            answers=spec.network.model.head.task,
        )

    def _check_updates(self, spec: NetworkSpec) -> None:
        step = median(self.measured["training"].step_seconds)
        count = max(LEAST_UPDATES, min(MOST_UPDATES, round(UPDATES_SECONDS / step)))
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

    def _check_steps(self, spec: NetworkSpec, is_suspicious: Callable[[StepCheck], bool]) -> None:
        batch_size = _evaluation_batch_size(spec)
        step = median(self.measured["training"].step_seconds)
        steps = max(1, min(spec.steps // 2, round(CHECKED_SECONDS / step)))
        # If steps return before their work is done, the evaluation waited for it: then step times estimate it better.
        evaluated = self.measured["evaluation"].seconds * batch_size / spec.data.dataset.test_examples
        seconds = 3 * steps * step + 6 * min(evaluated, step * batch_size / spec.recipe.batch_size)
        if seconds > max(LEAST_CHECK_SECONDS, CHECK_SHARE * (monotonic() - self._started)):
            self._observer.absent["step check"] = f"it would take about {seconds:.0f} s"
            return
        for _ in range(CHECKS):
            checked: messages.Checked = self._ask(
                "check_steps",
                inputs=str(spec.data.part("test_inputs")),
                labels=str(spec.data.part("test_labels")),
                batch_size=batch_size,
                steps=steps,
            )
            found = StepCheck(steps=steps, **asdict(checked))
            self.measured["step_checks"] = (*self.measured.get("step_checks", ()), found)
            if not is_suspicious(found):
                return

    def _evaluated(self, spec: NetworkSpec) -> messages.Evaluated:
        data = spec.data
        evaluated: messages.Evaluated = self._ask(
            "evaluate",
            inputs=str(data.part("test_inputs")),
            labels=str(data.part("test_labels")),
            batch_size=_evaluation_batch_size(spec),
        )
        return evaluated


def _had_processor(stepped: messages.Stepped) -> float:
    """The seconds of a step in which its threads did not wait for a processor; 0 if that is not known."""
    return 0.0 if stepped.queued_seconds is None else stepped.seconds - stepped.queued_seconds


def _computing(stepped: messages.Stepped) -> float:
    return stepped.cpu_seconds / _had_processor(stepped)


def _repository(framework: Framework) -> Mapping[str, str]:
    """The user's own files, from which a worker must import nothing if it runs a revision of them."""
    checkout = framework.checkout
    return {"repository": str(checkout.repository)} if checkout and checkout.root != checkout.repository else {}


def _other_files(checkout: Checkout, modules: Sequence[str]) -> str:
    """The message about modules that are not those of the revision."""
    return (
        f"{', '.join(modules)}: imported from {checkout.repository}, as it is, and not from the revision"
        f" {checkout.revision.name}\n  workers find a revision's modules in its root, in src, and in the folders of the"
        " framework's builder: name their folder there, Framework(folders=…)"
    )


def _of_side(case: Case) -> Mapping[str, str]:
    """The revision of the user's code and the variables of a side, by the names that they have among versions."""
    found = {f"variable {name}": value for name, value in case.variables.items()}
    if revision := case.revision:
        changed = f" with changes in {', '.join(revision.uncommitted)}" if revision.uncommitted else ""
        found["revision"] = f"{revision.commit[:12]} ({revision.subject}){changed}"
    return found


def _wrong_device(spec: RunSpec, device: ComputeDevice | None) -> str:
    """Why the run would not measure the device that was requested; empty if it does."""
    name, wanted = spec.framework.name, spec.case.device
    if device is None:
        return "" if wanted == "cpu" else f"{name} does not report what it computes on: its Trainer lacks computes_on()"
    is_allowed = spec.framework.takes_processor_as_gpu and device.kind == "cpu"
    if (device.kind == "cpu") == (wanted == "cpu") or is_allowed:
        return ""
    return f"a {wanted} was requested, but {name} computes on a {device.kind}: {device.name or 'without a name'}"


def _wrong(framework: Framework, place: Place, problems: Sequence[str]) -> str:
    """The message about versions that are not the requested or reported ones."""
    if framework.python or place.environment == CURRENT:
        remedy = f"to see what is installed: {place.python} -m pip list"
    else:
        remedy = f"if it was changed after it was built, delete {place.caches.parent}; --dlbench-build builds it again"
    heading = f"the environment {place.environment!r} of {framework.name} is not what it should be:"
    return "\n  ".join([heading, *problems, remedy])


def updating_steps(rates: Sequence[float], count: int) -> list[int]:
    """The consecutive steps with the highest learning rates, without those whose rate is 0; again if there are few."""
    firsts = range(max(1, len(rates) - count + 1))
    first = max(firsts, key=lambda first: min(rates[first : first + count]))
    numbers = [number for number in range(first, min(first + count, len(rates))) if rates[number] > 0]
    return list(islice(cycle(numbers), count))


def steps_alone(spec: RunSpec) -> int:
    """How many steps a worker takes before its steps alternate; all of them if they do not."""
    return min(STEPS_ALONE, max(1, spec.steps // 4)) if spec.alternates else spec.steps


def _evaluation_batch_size(spec: NetworkSpec) -> int:
    largest = max(prod(placed.inferred.output) for placed in spec.network.layers)
    return max(1, min(EVALUATION_BATCH, EVALUATION_NUMBERS // largest, spec.data.dataset.test_examples))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"the answer to 'evaluate': the loss is not a number: {text!r}") from None
