"""Examines a run after it has ended: whether its figures are plausible, valid and steady."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from pytest_dlbench.judging.breakdowns import flaw
from pytest_dlbench.judging.equivalence import deviation_of, output_bound
from pytest_dlbench.judging.invalid import examined
from pytest_dlbench.judging.metrics import METRICS, Metrics, hooked
from pytest_dlbench.judging.sanity import MOST_OF_PEAK, constant, impossible, unawaited, unchecked, untrained
from pytest_dlbench.judging.utilisation import has_convolutions, step_flops, step_work, utilisation
from pytest_dlbench.records import Inference, MachineSpeed, Run, RunOutcome
from pytest_dlbench.records.problems import OtherOutputs, Problem
from pytest_dlbench.records.reasons import NotTimed
from pytest_dlbench.running.examination import said
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec
from pytest_dlbench.running.speed import machine_speed
from pytest_dlbench.sampling import steadiness
from pytest_dlbench.workflows.gpu_speed import gpu_speed

# A neighbour that disturbs the probe makes a good run look too fast: the peak is measured again before a run fails.
MORE_PROBES = 2
# The precision of the probe for programs, whose own is not known.
SINGLE = "float32"
# Runs after which the cores are examined: in a shorter time than that takes, shared ones may seem steady.
LONG_SECONDS = 60.0
Probe = Callable[[], MachineSpeed | None]


@dataclass(slots=True, kw_only=True)
class Examiner:
    """Examines the runs of a session. ``gpu`` is the model of its GPUs, which are all of one kind; empty without any.

    The machine's speed is measured once per host, number of threads and precision; that of a GPU once per framework,
    precision and settings of execution.
    """

    probe: Callable[[int, str], MachineSpeed | None] = field(default_factory=lambda: machine_speed)
    variation: Callable[[], float | None] = field(default_factory=lambda: steadiness.core_variation)
    gpu_probe: Callable[[NetworkSpec, str], MachineSpeed | None] = field(default_factory=lambda: gpu_speed)
    gpu: str = ""
    metrics: Metrics = field(default_factory=lambda: METRICS)
    _sketches: dict[tuple[object, ...], tuple[str, tuple[float, ...]]] = field(default_factory=dict)
    _speeds: dict[tuple[object, ...], MachineSpeed | None] = field(default_factory=dict)

    def examine(self, spec: RunSpec, run: Run) -> Run:
        """The run with its utilisation, its warm-up and the reasons why it is invalid; failed if it is implausible.

        Call it while the device is still locked: the machine's speed must be measured with nothing else running.
        """
        if run.outcome is not RunOutcome.FINISHED:
            return run
        if problem := _untrained(spec, run):
            return replace(run, outcome=RunOutcome.FAILED, problem=problem)
        if isinstance(spec, NetworkSpec) and run.inference and run.inference.sketch:
            run = self._compared(spec, run, run.inference)
            if run.outcome is not RunOutcome.FINISHED:
                return run
        if not spec.is_timed:
            return self._hooked(replace(run, invalid=(NotTimed(),)))
        measured = self._hooked(self._placed(spec, _with_flaw(run)))
        # The algorithms of a program may be any.
        may_save = not isinstance(spec, NetworkSpec) or has_convolutions(spec.network)
        wrong = impossible(measured, has_convolutions=may_save, device=spec.case.device)
        if found := wrong or unawaited(measured, spec.case.device):
            return replace(measured, outcome=RunOutcome.FAILED, problem=found)
        valid = self._with_variation(examined(measured))
        unclear = unchecked(measured, spec.case.device)
        return replace(valid, invalid=(*valid.invalid, unclear)) if unclear else valid

    def _hooked(self, run: Run) -> Run:
        """The run with the values of hooks' metrics. An exception of one is why that value is absent, and no more."""
        values, absent = dict[str, float](), dict[str, str]()
        for name, metric in self.metrics.items():
            try:
                values |= hooked(run, {name: metric})
            except Exception as error:
                absent[name] = said(error)
        return replace(run, hooked=values, absent={**run.absent, **absent})

    def _with_variation(self, run: Run) -> Run:
        """A long run with how much the speed of the cores varies right after it."""
        is_paired = run.training is not None and run.training.alternation is not None
        # What slows the cores slows both sides whose steps alternate.
        if is_paired or run.wall_seconds < LONG_SECONDS:
            return run
        return replace(run, core_variation=self.variation())

    def remember(self, spec: RunSpec, run: Run) -> None:
        """Compare the outputs of later runs with those of this one, which an interrupted session has examined."""
        found = run.inference if run.outcome is RunOutcome.FINISHED else None
        if isinstance(spec, NetworkSpec) and found and found.sketch:
            self._reference(spec, run, found)

    def _reference(self, spec: NetworkSpec, run: Run, found: Inference) -> tuple[str, tuple[float, ...]]:
        """The session's first framework of these weights and examples, and its outputs."""
        data, recipe = spec.data.digest, spec.recipe
        given = spec.weights.digest if spec.weights else recipe.init
        key = (spec.network.digest, data, given, run.seed, recipe.batch_size, recipe.precision, recipe.tf32)
        return self._sketches.setdefault(key, (spec.framework.name, found.sketch))

    def _compared(self, spec: NetworkSpec, run: Run, found: Inference) -> Run:
        """The run with how its outputs differ from those of the session's first framework; failed if by too much."""
        recipe = spec.recipe
        reference, sketch = self._reference(spec, run, found)
        deviation = deviation_of(found.sketch, sketch)
        run = replace(run, inference=replace(found, reference=reference, deviation=deviation))
        bound = output_bound(recipe.precision, spec.case.device, recipe.execution)
        if bound is None or deviation <= bound:
            return run
        problem = OtherOutputs(reference=reference, deviation=deviation, bound=bound)
        return replace(run, outcome=RunOutcome.FAILED, problem=problem)

    def _placed(self, spec: RunSpec, run: Run) -> Run:
        """The run with its work, the machine's speed, and the share of it that the run used."""
        if isinstance(spec, NetworkSpec) and run.training:
            run = replace(run, work=step_work(spec.network, spec.recipe))
        if reason := _unmeasured(spec, run):
            return replace(run, absent={**run.absent, "machine speed": reason})
        key, probe = self._probe_of(spec, run)
        if key not in self._speeds:
            self._speeds[key] = probe()
        placed = self._with_speed(spec, run, self._speeds[key])
        for _ in range(MORE_PROBES):
            if (placed.flop_utilisation or 0.0) <= MOST_OF_PEAK:
                break
            placed = self._with_speed(spec, run, self._faster(key, probe))
        return placed

    def _probe_of(self, spec: RunSpec, run: Run) -> tuple[tuple[object, ...], Probe]:
        """What measures the machine's speed for a run, and what that depends on."""
        if isinstance(spec, NetworkSpec) and spec.case.device != "cpu":
            recipe = spec.recipe
            of_gpu = spec.framework.name, spec.gpu, recipe.precision, recipe.execution
            return of_gpu, partial(self.gpu_probe, spec, self.gpu or (run.device.name if run.device else ""))
        precision = spec.recipe.precision if isinstance(spec, NetworkSpec) else SINGLE
        # The first host is measured for all: they are of one machine class, and have as many workers.
        threads = spec.case.threads * spec.workers_here
        return (run.host, threads, precision), partial(self.probe, threads, precision)

    def _faster(self, key: tuple[object, ...], probe: Probe) -> MachineSpeed | None:
        known = [speed for speed in (self._speeds[key], probe()) if speed]
        self._speeds[key] = max(known, key=lambda speed: speed.flops_per_second, default=None)
        return self._speeds[key]

    @staticmethod
    def _with_speed(spec: RunSpec, run: Run, speed: MachineSpeed | None) -> Run:
        if speed is None:
            return replace(run, absent={**run.absent, "machine speed": "the probe failed"})
        if run.training is None:
            return replace(run, speed=speed)
        if flops := _host_flops(spec, run):
            return replace(run, speed=speed, flop_utilisation=utilisation(run.training, flops, speed))
        return replace(run, speed=speed)


def _with_flaw(run: Run) -> Run:
    """The run with what is wrong with the phases of its steps, which fails nothing."""
    found = run.breakdown
    if found is None or found.undivided:
        return run
    return replace(run, breakdown=replace(found, flaw=flaw(found)))


def _unmeasured(spec: RunSpec, run: Run) -> str:
    """Why nothing measures the machine's speed for a run; empty if something does."""
    if spec.case.device != "cpu":
        if not isinstance(spec, NetworkSpec):
            return "the product that measures a GPU is a network in a framework"
        return "a GPU is measured on the driver's own machine only" if run.host else ""
    recipe = spec.recipe if isinstance(spec, NetworkSpec) else None
    is_mixed = recipe is not None and recipe.precision != recipe.stored_precision
    return "NumPy has no mixed precision to compare with" if is_mixed else ""


def _host_flops(spec: RunSpec, run: Run) -> float | None:
    """The arithmetic of a step on each host; None for a program that does not state it."""
    if isinstance(spec, NetworkSpec):
        return step_flops(spec.network, spec.recipe.batch_size) / spec.hosts
    return run.reported.flops_per_step if run.reported else None


def _untrained(spec: RunSpec, run: Run) -> Problem | None:
    """What shows that not every step trained; None if nothing does."""
    if not isinstance(spec, NetworkSpec):
        return constant(run)
    head = spec.network.model.head
    return untrained(run, spec.recipe, lowest_loss=head.lowest_loss, rates=spec.learning_rates())
