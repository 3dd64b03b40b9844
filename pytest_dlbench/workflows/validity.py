"""Examines a run after it has ended: whether its figures are plausible, valid and steady."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pytest_dlbench.judging.invalid import examined
from pytest_dlbench.judging.metrics import METRICS, Metrics, hooked
from pytest_dlbench.judging.sanity import MOST_OF_PEAK, impossible, unchecked, untrained
from pytest_dlbench.judging.utilisation import has_convolutions, step_work, utilisation
from pytest_dlbench.records import MachineSpeed, Run, RunOutcome
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.running.speed import machine_speed

# A neighbour that disturbs the probe makes a good run look too fast: the peak is measured again before a run fails.
MORE_PROBES = 2
NOT_TIMED = "it was not timed: other runs may have used the machine at the same time"


@dataclass(slots=True, kw_only=True)
class Examiner:
    """Examines the runs of a session. The machine's speed is measured once per number of threads and precision."""

    probe: Callable[[int, str], MachineSpeed | None] = field(default_factory=lambda: machine_speed)
    metrics: Metrics = field(default_factory=lambda: METRICS)
    _speeds: dict[tuple[int, str], MachineSpeed | None] = field(default_factory=dict)

    def examine(self, spec: RunSpec, run: Run) -> Run:
        """The run with its utilisation, its warm-up and the reasons why it is invalid; failed if it is implausible.

        Call it while the device is still locked: the machine's speed must be measured with nothing else running.
        """
        if run.outcome is not RunOutcome.FINISHED:
            return run
        head = spec.network.model.head
        if reason := untrained(run, spec.recipe, lowest_loss=head.lowest_loss, rates=spec.learning_rates()):
            return replace(run, outcome=RunOutcome.FAILED, message=reason)
        if not spec.is_timed:
            return replace(run, invalid=(NOT_TIMED,), hooked=hooked(run, self.metrics))
        work = step_work(spec.network, spec.recipe) if run.training else None
        measured = self._placed(spec, replace(run, work=work))
        measured = replace(measured, hooked=hooked(measured, self.metrics))
        reason = impossible(measured, has_convolutions=has_convolutions(spec.network), device=spec.case.device)
        if reason:
            return replace(measured, outcome=RunOutcome.FAILED, message=reason)
        found = examined(measured)
        unclear = unchecked(measured, spec.case.device)
        return replace(found, invalid=(*found.invalid, unclear)) if unclear else found

    def _placed(self, spec: RunSpec, run: Run) -> Run:
        """The run with the machine's speed, and the share of it that the run used."""
        if spec.case.device != "cpu":
            # NumPy does not use GPUs, and the numbers of a GPU's data sheet are not measurements.
            return replace(run, absent={**run.absent, "machine speed": "the probe measures processors only"})
        if spec.recipe.precision != spec.recipe.stored_precision:
            return replace(run, absent={**run.absent, "machine speed": "NumPy has no mixed precision to compare with"})
        key = spec.case.threads, spec.recipe.precision
        if key not in self._speeds:
            self._speeds[key] = self.probe(*key)
        placed = self._with_speed(spec, run, self._speeds[key])
        for _ in range(MORE_PROBES):
            if (placed.flop_utilisation or 0.0) <= MOST_OF_PEAK:
                break
            placed = self._with_speed(spec, run, self._faster(key))
        return placed

    def _faster(self, key: tuple[int, str]) -> MachineSpeed | None:
        known = [speed for speed in (self._speeds[key], self.probe(*key)) if speed]
        self._speeds[key] = max(known, key=lambda speed: speed.flops_per_second, default=None)
        return self._speeds[key]

    @staticmethod
    def _with_speed(spec: RunSpec, run: Run, speed: MachineSpeed | None) -> Run:
        if speed is None:
            return replace(run, absent={**run.absent, "machine speed": "the probe failed"})
        if run.training is None:
            return replace(run, speed=speed)
        return replace(run, speed=speed, flop_utilisation=utilisation(run.training, spec.network, speed))
