"""How much processor a framework's worker uses while it waits for its next step: whether its steps can alternate."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import DEVICES, Framework
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.problems import DeviceBusy
from pytest_dlbench.running import alternating, devices
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.waits import DeviceBusyError, Patience
from pytest_dlbench.zoo import MODELS

# A small network that every framework can build.
MODEL, DATASET, STEPS = "gatech-lenet", "digits28", 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The processors that threads of one framework's worker used while it waited.

    If it did not run: because of its ``place`` or the ``memory``, or because the ``run`` did not finish, or its device
    was ``busy``.
    """

    framework: str
    idle_cpus: float = 0.0
    obstacle: Literal["", "place", "memory"] = ""
    busy: DeviceBusy | None = None
    run: Run | None = None

    @property
    def has_run(self) -> bool:
        """Whether ``idle_cpus`` were measured."""
        return not (self.obstacle or self.busy or self.run)

    @property
    def may_alternate(self) -> bool:
        """Whether it leaves the other worker undisturbed."""
        return self.has_run and self.idle_cpus <= alternating.MOST_IDLE_CPUS


def waiting(settings: RunSettings, frameworks: Mapping[str, Framework], progress: Progress) -> Iterator[Waiting]:
    """Each framework that is installed or built, in one alternating pair with itself."""
    for name, framework in frameworks.items():
        if settings.places.ready(framework):
            yield _measured(settings, name, framework, progress)


def _measured(settings: RunSettings, name: str, framework: Framework, progress: Progress) -> Waiting:
    spec = settings.spec(framework, MODELS[MODEL], DATASETS[DATASET], DEVICES["cpu"], label="waiting", steps=STEPS)
    if alternating.obstacle(spec):
        return Waiting(framework=name, obstacle="place")
    patience = Patience(waiting=lambda wait: progress.waiting(spec.case, wait), limit_seconds=settings.wait_seconds)
    try:
        with devices.held("cpu", patience):
            runs = alternating.train_pair(spec, spec, 0, Random(0))
    except alternating.TooLittleMemoryError:
        return Waiting(framework=name, obstacle="memory")
    except DeviceBusyError as error:
        return Waiting(framework=name, busy=error.problem)
    for run in runs:
        if run.outcome is not RunOutcome.FINISHED:
            return Waiting(framework=name, run=run)
    found = [run.training.alternation for run in runs if run.training]
    return Waiting(framework=name, idle_cpus=max(one.idle_cpus for one in found if one))
