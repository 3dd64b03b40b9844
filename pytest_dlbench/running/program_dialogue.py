"""The requests that the driver sends to the worker of a program, the user's own training loop."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from math import isfinite
from statistics import median
from typing import Any, ClassVar

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import CallCheck, Reported, RunOutcome, StepCheck, Training
from pytest_dlbench.records.problems import NoNumberOfSamples, NotFinite, StepsMissing
from pytest_dlbench.running import messages
from pytest_dlbench.running.dialogue import CHECKED_SECONDS, CHECKS, Dialogue, steps_alone
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.run_spec import ProgramSpec

# What a loop reports under this name is no figure of its training.
SAMPLES = "samples_per_step"


class ProgramDialogue(Dialogue[ProgramSpec]):
    """The requests of one run of a program."""

    answers: ClassVar[Mapping[str, type]] = messages.PROGRAM_ANSWERS
    # For a service on another host, for example.
    may_idle: ClassVar[bool] = True

    def samples(self, spec: ProgramSpec) -> int:  # noqa: ARG002 - only the program itself knows it
        """As many as the program says, 1 by default."""
        return self._built.samples_per_step

    def run(self, spec: ProgramSpec, environment: str, seed: int, inputs: dict[str, Any]) -> Iterator[None]:
        """Import, build, then train and evaluate, close."""
        program = spec.program
        hello = self._hello(
            spec,
            environment,
            root=str(spec.root),
            source=program.source,
            function=program.function,
            is_loop=program.is_loop,
            # Of the GPUs, the worker sees its own only.
            device="cpu" if spec.case.device == "cpu" else "cuda:0",
            seed=seed,
            parameters=dict(program.parameters),
            total_steps=spec.steps,
            data={name: str(prepared.folder) for name, prepared in spec.data.items()},
            **inputs,
        )
        assert isinstance(hello, messages.ProgramHello)
        self._add_files(hello.files)
        self._built: messages.ProgramBuilt = self._ask("build")
        self.measured["build_seconds"] = self._built.seconds
        yield from self._train(spec)
        self._evaluate(spec)
        if self._built.evaluates and self._hooks.is_suspicious and seed == spec.seed:
            self._check_steps(spec, self._hooks.is_suspicious)
        if spec.is_timed and not self._count():
            return
        closed: messages.ProgramClosed = self._ask("close")
        self.measured["versions"] = {**closed.versions, **self.measured["versions"]}
        self._add_files(closed.files)

    def _add_files(self, files: Mapping[str, str]) -> None:
        """The program's files are versions, too: what differs between two sides is reported, and compared anyway."""
        named = {f"file {name}": digest for name, digest in sorted(files.items())}
        self.measured["versions"] = {**self.measured["versions"], **named}

    def _train(self, spec: ProgramSpec) -> Iterator[None]:
        alone = spec.steps if spec.program.is_loop else steps_alone(spec)
        # Sent only where a slowdown is planted.
        planted = {"slowdown": spec.slowdown} if spec.slowdown else {}
        trained: messages.ProgramTrained = self._ask("train", steps=alone, **planted)
        if trained.build_seconds is not None:
            self.measured["build_seconds"] = trained.build_seconds
        self._add(trained, spec)
        if spec.program.is_loop:
            _check_loop(spec, trained)
        else:
            self._check_trained(spec, trained, 0, alone)
        if alone < spec.steps:
            yield from self._alternate(spec, alone, spec.steps)

    def _evaluate(self, spec: ProgramSpec) -> None:
        evaluated: messages.ProgramEvaluated = self._ask("evaluate")
        values = {name: _number(name, text) for name, text in evaluated.values.items()}
        for name, value in values.items():
            if not isfinite(value):
                diverged = NotFinite(figure="reported", name=name, value=str(value), steps=spec.steps)
                raise NotDoneError(RunOutcome.DIVERGED, diverged)
        if spec.program.is_loop and SAMPLES in values:
            self._count_samples(values.pop(SAMPLES))
        self.measured["reported"] = Reported(
            values=values,
            evaluation_seconds=evaluated.seconds,
            flops_per_step=self._built.flops_per_step,
        )

    def _count_samples(self, samples: float) -> None:
        """A loop says how many samples a step has once it has run."""
        if samples < 1 or samples != int(samples):
            raise NotDoneError(RunOutcome.FAILED, NoNumberOfSamples(name=SAMPLES, reported=samples))
        training: Training = self.measured["training"]
        steps = len(training.step_seconds)
        self.measured["training"] = replace(training, batch_size=int(samples), examples=steps * int(samples))

    def _check_steps(self, spec: ProgramSpec, is_suspicious: Callable[[StepCheck | CallCheck], bool]) -> None:
        """Whether steps wait for their own work: an evaluation after them must not take longer than one alone."""
        training: Training = self.measured["training"]
        step = median(training.step_seconds)
        steps = max(1, min(spec.steps // 2, round(CHECKED_SECONDS / step)))
        # The first evaluation may have waited for the steps: only another one shows what one alone takes.
        evaluations = [self.measured["reported"].evaluation_seconds or 0.0]
        if evaluations[0] < self._most_seconds_of_checks():
            again: messages.ProgramEvaluated = self._ask("evaluate")
            evaluations.append(again.seconds or 0.0)
        seconds = 3 * steps * step + 6 * evaluations[-1]
        if seconds > self._most_seconds_of_checks():
            self._observer.absent["step check"] = f"it would take about {seconds:.0f} s"
            return
        for _ in range(CHECKS):
            try:
                checked: messages.Checked = self._ask("check_steps", steps=steps)
            except NotDoneError as error:
                # Its batches may have ended: nobody promised more steps than those that were measured.
                self._observer.absent["step check"] = f"no more steps: {error.said}"
                return
            found = StepCheck(steps=steps, **asdict(checked))
            self.measured["step_checks"] = (*self.measured.get("step_checks", ()), found)
            if not is_suspicious(found):
                return


def _check_loop(spec: ProgramSpec, trained: messages.ProgramTrained) -> None:
    """Raise NotDoneError unless a loop took all of its steps, and none of the losses that it reported is infinite."""
    taken = len(trained.step_seconds)
    if trained.losses and isinstance(trained.losses[-1], str):
        diverged = NotFinite(figure="loss", value=trained.losses[-1], step=len(trained.losses), steps=spec.steps)
        raise NotDoneError(RunOutcome.DIVERGED, diverged)
    if taken != spec.steps:
        raise NotDoneError(RunOutcome.FAILED, StepsMissing(unit="loop", requested=spec.steps, reported=taken))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"the answer to 'evaluate': {name} is not a number: {text!r}") from None
