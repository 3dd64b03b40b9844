"""The requests that the driver sends to any worker of one run, and the checks of its answers."""

import platform
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from statistics import median
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.devices import visible_gpus
from pytest_dlbench.environments.frameworks import Checkout
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.environments.requested import Packages, contradicted, wrong
from pytest_dlbench.records import (
    Alternation,
    Case,
    Exchange,
    RunOutcome,
    Training,
    WorkerShare,
    digits,
)
from pytest_dlbench.records.problems import (
    NotFinite,
    OtherFiles,
    OtherThreads,
    StepsMissing,
    WrongVersion,
    WrongVersions,
)
from pytest_dlbench.running import failures, launch, messages, pinning, progress
from pytest_dlbench.running.connection import WorkerError, WorkerHungError, WorkerTimeoutError
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.group import Group
from pytest_dlbench.running.idleness import Idleness
from pytest_dlbench.running.merging import merged
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.sampling.joining import joined
from pytest_dlbench.sampling.observer import Observer

S = TypeVar("S", bound=RunSpec)

# The step check repeats about this many seconds of steps.
CHECKED_SECONDS = 0.05
# It is skipped if it would take longer than both of these: seconds, and a share of the run so far.
LEAST_CHECK_SECONDS, CHECK_SHARE = 1.0, 0.25
# A suspicion counts only if it shows in this many checks.
CHECKS = 3
# Before steps alternate, each worker takes this many alone, or the first quarter of fewer than four times as many: the
# first ones compile, allocate and fill caches.
STEPS_ALONE = 10
# Counting repeats about as many steps, of which a profiler makes one slower.
COUNTED_STEPS = 5
# Requests that continue a phase.
PHASES = {"train_on": "train"}


class Dialogue(ABC, Generic[S]):
    """The requests of one run; ``measured`` keeps the results so far, so that a late failure loses none of them."""

    answers: ClassVar[Mapping[str, type]] = messages.ANSWERS
    may_idle: ClassVar[bool] = False
    """Whether a worker may wait for something other than its own processes for long."""

    def __init__(self, workers: Group, started: float, spec: S, hooks: RunHooks) -> None:
        self._workers, self._started, self._deadline = workers, started, started + spec.timeout_seconds
        self._observer = Observer(
            workers.pids,
            started,
            device=spec.case.device,
            gpus=(spec.gpu,) if spec.gpu else visible_gpus(),
            make=hooks.samplers,
        )
        self._period_seconds = spec.sample_period_seconds
        self._steps, self._hooks = spec.steps, hooks
        # A worker may also wait for those of other hosts.
        self._is_watched = spec.hosts == 1 and not self.may_idle
        self._sample_due = 0.0
        self._sampled_on = self._free_cores() if spec.alternates else frozenset()
        self.measured: dict[str, Any] = {"usage": {}}

    def _free_cores(self) -> frozenset[int]:
        """While steps alternate, the driver has the workers' cores (alternating.py): a sample would disturb a step."""
        return pinning.others(self._workers.pids)

    def moved(self) -> None:
        """The workers have other cores now."""
        self._sampled_on = self._free_cores()
        self.measured["cores"] = self._cores()

    def _cores(self) -> tuple[int, ...]:
        return tuple(sorted({core for pid in self._workers.pids for core in pinning.in_force(pid)}))

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
        idleness = Idleness(self._observer.cpu_seconds)

        def waiting() -> None:
            self._sample()
            if self._is_watched and idleness.lasts(self._observer.cpu_seconds):
                self._workers.kill()
                raise WorkerHungError(op)

        answers = self._workers.request(
            op,
            deadline=self._deadline,
            waiting=waiting,
            period_seconds=self._period_seconds,
            **fields,
        )
        parsed = [messages.parse(op, answer, self.answers) for answer in answers]
        if isinstance(parsed[0], messages.Failed):
            outcome = failures.FAILURES.get(parsed[0].kind, RunOutcome.FAILED)
            problem, message = self._workers.named(None, failures.quote(parsed[0]))
            raise NotDoneError(outcome, problem, message)
        return merged(op, parsed)

    def _add_shares(self) -> None:
        """Add what each of several workers used in the phase that has just ended."""
        pids, shares = self._workers.pids, self._observer.shares()
        before = self.measured.get("workers", [WorkerShare(cores=(), cpu_seconds=0.0, rss_peak_bytes=0) for _ in pids])
        self.measured["workers"] = tuple(
            WorkerShare(
                cores=pinning.in_force(pid),
                cpu_seconds=known.cpu_seconds + seconds,
                rss_peak_bytes=max(known.rss_peak_bytes, peak),
            )
            for pid, (seconds, peak), known in zip(pids, shares, before, strict=True)
        )

    def _hello(self, spec: S, environment: str, **fields: Any) -> messages.Hello:
        case = spec.case
        hello: messages.Hello = self._ask(
            "hello",
            protocol=messages.PROTOCOL_VERSION,
            threads=spec.threads,
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
            **self._observer.settings(),
            **_of_side(case),
        }
        # In addition to the worker's packages, these may affect the figures.
        self.measured |= {
            "import_seconds": hello.seconds,
            "versions": {**hello.versions, **surroundings},
            "threads": hello.threads,
            "cores": self._cores(),
        }
        if case.workers > 1:
            self.measured["exchange"] = Exchange(join_seconds=hello.join_seconds)
        self._check_versions(spec, hello)
        # Of several devices of a process, some frameworks report the threads of one.
        if hello.threads not in {None, case.threads, spec.threads}:
            other = OtherThreads(framework=spec.framework.name, requested=spec.threads, found=hello.threads)
            raise NotDoneError(RunOutcome.UNSUPPORTED, other)
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
        if versions := [*wrong(found), *contradicted(hello.versions, hello.sources)]:
            raise NotDoneError(RunOutcome.WRONG_VERSION, _wrong(spec.framework, spec.place, versions))
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

    def _most_seconds_of_checks(self) -> float:
        """How long a check of the steps may take: a share of the run so far, and not past the timeout."""
        now = monotonic()
        return min(max(LEAST_CHECK_SECONDS, CHECK_SHARE * (now - self._started)), self._deadline - now)

    def _others_turn(self) -> Iterator[None]:
        """Wait for the other worker, whose time does not count towards the timeout of this run."""
        began = monotonic()
        yield
        self._deadline += monotonic() - began

    def _step(self, number: int) -> messages.Stepped:
        # Most steps are shorter than the sampling period.
        if monotonic() >= self._sample_due:
            self._sample()
            self._sample_due = monotonic() + self._period_seconds
        stepped: messages.Stepped = self._answered("step", number=number)
        return stepped

    def _sample(self) -> None:
        with pinning.pinned(self._sampled_on):
            self._observer.sample()

    def _add_alternated(self, spec: S, first: int, taken: Sequence[messages.Stepped]) -> None:
        """Append steps that alternated with the other worker's."""
        known: Training = self.measured["training"]
        self._add(self._trained_on(spec, taken), spec)
        added: Training = self.measured["training"]
        before = known.alternation or Alternation(first=first, cpu_seconds=(), idle_cpus=0.0)
        # Before the first one the worker may have been evaluating.
        idle = sum(stepped.idle_seconds for stepped in taken[1:])
        used = sum(stepped.idle_cpu_seconds for stepped in taken[1:])
        began = enumerate(digits.seconds(stepped.began - self._started for stepped in taken), start=first)
        alternation = Alternation(
            first=before.first,
            cpu_seconds=before.cpu_seconds + digits.seconds(stepped.cpu_seconds for stepped in taken),
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

    def _count(self) -> bool:
        """What a step does, counted in steps that are not timed, and in no phase: no figure of the run has them.

        Returns whether the worker is still there: a profiler that ends it does not cost the run, which has its figures.
        """
        training: Training = self.measured["training"]
        seconds = COUNTED_STEPS * median(training.step_seconds)
        if seconds > max(LEAST_CHECK_SECONDS, CHECK_SHARE * (monotonic() - self._started)):
            self._observer.absent["counts"] = f"counting would take about {seconds:.0f} s"
            return True
        counted, is_there = self._once_more("count", "counts", "counting")
        if counted is None:
            return is_there
        self.measured["counts"] = counted.counts
        self._observer.absent.update(counted.absent)
        return True

    def _once_more(self, op: str, name: str, what: str) -> tuple[Any, bool]:
        """The answer to a request that may take further steps, in no phase, and whether the worker is still there.

        The answer is None if there is none: ``absent`` then says why, by this name. The run has its figures.
        """
        self._hooks.phase_began(progress.phase(op, {}, self._steps))
        try:
            return self._answered(op), True
        except NotDoneError as error:
            # Nobody promised more steps than those that were measured.
            self._observer.absent[name] = f"no more steps: {error.said}"
            return None, True
        except WorkerTimeoutError:
            self._observer.absent[name] = f"the framework's {what} did not end in time"
        except WorkerError:
            self._observer.absent[name] = f"the framework's {what} ended the worker"
        return None, False

    def _add(self, trained: messages.TrainedOn, spec: S) -> None:
        """Append steps to those that are already recorded."""
        tokens = self.tokens(spec, trained.examples)
        losses = digits.losses([loss for loss in trained.losses if isinstance(loss, float | int)])
        taken = digits.seconds(trained.step_seconds)
        (began,) = digits.seconds([trained.began - self._started])
        if trained.device_peak_absent:
            self._observer.absent["GPU allocated"] = trained.device_peak_absent
        known: Training | None = self.measured.get("training")
        if known is None:
            self.measured["training"] = Training(
                step_seconds=taken,
                losses=losses,
                examples=trained.examples,
                batch_size=self.samples(spec),
                load_seconds=trained.load_seconds if isinstance(trained, messages.Trained) else None,
                began_seconds=began,
                tokens=tokens,
                device_peak_bytes=trained.device_peak_bytes,
                input_seconds=digits.seconds(trained.input_seconds),
                chunks=trained.chunks,
                device_seconds=digits.seconds(trained.device_seconds),
                loading=trained.loading,
            )
            return
        self.measured["training"] = replace(
            known,
            step_seconds=known.step_seconds + taken,
            losses=known.losses + losses,
            examples=known.examples + trained.examples,
            resumed=(*known.resumed, (len(known.step_seconds), began)),
            tokens=None if tokens is None else tokens + (known.tokens or 0),
            # A peak since the worker's start: the latest value covers all steps.
            device_peak_bytes=trained.device_peak_bytes,
            input_seconds=known.input_seconds + digits.seconds(trained.input_seconds),
            chunks=known.chunks + trained.chunks,
            device_seconds=known.device_seconds + digits.seconds(trained.device_seconds),
            loading=known.loading and trained.loading and known.loading.followed_by(trained.loading),
        )

    def _check_trained(self, spec: S, trained: messages.TrainedOn, first: int, last: int) -> None:
        """Raise NotDoneError unless steps ``first`` to ``last`` were all taken with finite losses."""
        if trained.losses and isinstance(trained.losses[-1], str):
            step = first + len(trained.losses)
            diverged = NotFinite(figure="loss", value=trained.losses[-1], step=step, steps=spec.steps)
            raise NotDoneError(RunOutcome.DIVERGED, diverged)
        steps = last - first
        if len(trained.losses) != steps or trained.examples != steps * self.samples(spec):
            raise NotDoneError(
                RunOutcome.BROKEN_PROTOCOL,
                StepsMissing(unit="steps", requested=steps, reported=len(trained.losses), examples=trained.examples),
            )


def _had_processor(stepped: messages.Stepped) -> float:
    """The seconds of a step in which its threads did not wait for a processor; 0 if that is not known."""
    return 0.0 if stepped.queued_seconds is None else stepped.seconds - stepped.queued_seconds


def _computing(stepped: messages.Stepped) -> float:
    return stepped.cpu_seconds / _had_processor(stepped)


def _repository(framework: Framework) -> Mapping[str, str]:
    """The user's own files, from which a worker must import nothing if it runs a revision of them.

    Those of the revision may be inside of them: in CI, the cache often is.
    """
    checkout = framework.checkout
    if not checkout or checkout.root == checkout.repository:
        return {}
    return {"repository": str(checkout.repository), "checkout": str(checkout.root)}


def _other_files(checkout: Checkout, modules: Sequence[str]) -> OtherFiles:
    """The problem of modules that are not those of the revision."""
    return OtherFiles(modules=tuple(modules), repository=str(checkout.repository), revision=checkout.revision.name)


def _of_side(case: Case) -> Mapping[str, str]:
    """The revision of the user's code and the variables of a side, by the names that they have among versions."""
    found = {f"variable {name}": value for name, value in case.variables.items()}
    if revision := case.revision:
        changed = f" with changes in {', '.join(revision.uncommitted)}" if revision.uncommitted else ""
        found["revision"] = f"{revision.commit[:12]} ({revision.subject}){changed}"
    return found


def _wrong(framework: Framework, place: Place, versions: Sequence[WrongVersion]) -> WrongVersions:
    """The problem of versions that are not the requested or reported ones."""
    is_built = not framework.python and place.environment != CURRENT
    return WrongVersions(
        framework=framework.name,
        environment=place.environment,
        versions=tuple(versions),
        python="" if is_built else str(place.python),
        folder=str(place.caches.parent) if is_built else "",
    )


def steps_alone(spec: RunSpec) -> int:
    """How many steps a worker takes before its steps alternate; all of them if they do not."""
    return min(STEPS_ALONE, max(1, spec.steps // 4)) if spec.alternates else spec.steps
