"""The specification of one run, as data that could be sent to another host."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, TypeGuard

from pytest_dlbench.data import Prepared
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Absent, Elsewhere, Place
from pytest_dlbench.environments.supports import ONE_PROCESS
from pytest_dlbench.model import Network, Purpose, Recipe
from pytest_dlbench.model.operators import Operator
from pytest_dlbench.model.recipe import EXECUTION, LATER
from pytest_dlbench.records import Case, Checkpoint, Length, Program
from pytest_dlbench.running import launch
from pytest_dlbench.running.weights import GivenWeights

SAMPLE_PERIOD_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Where the worker of this host, which has this rank, meets those of other hosts: at the first one's port."""

    rank: int
    address: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(ABC):
    """What a run of any case needs. Run ``index`` has the seed ``seed + index``."""

    case: Case
    framework: Framework
    place: Place | Elsewhere | Absent
    steps: int
    seed: int
    timeout_seconds: float
    gpu_numbers: tuple[int, ...] = ()
    """The numbers of the GPUs of which the run may use one; all GPUs if empty."""
    gpu: str = ""
    """The index or UUID of the GPU that the run may use; all GPUs if empty."""
    is_timed: bool = True
    """Whether its times are measured. Untimed runs may run concurrently with each other."""
    cores: frozenset[int] = frozenset()
    """The cores that a worker may use. If empty, they are chosen by its number of threads, and all are on a GPU."""
    sample_period_seconds: float = SAMPLE_PERIOD_SECONDS
    """The time between two samples of the worker's processes."""
    purpose: Purpose = "training"
    slowdown: float = 0.0
    """A slowdown planted for a calibration, as a share of each step's time."""
    target_accuracy: float | None = None
    hourly_price: float | None = None
    """What an hour of the machine costs; None if nobody said."""
    allocator: str = launch.TUNED
    wait_seconds: float = inf
    """How long to wait for the device at most."""
    hosts: int = 1
    """On how many hosts its workers are: all on one, or each on another."""
    alternates: bool = False
    """Whether its steps alternate with those of another run, whose worker waits meanwhile."""
    length: Length | None = None
    """How its number of steps was decided; None if it is that of the recipe, the scale or the test."""

    @property
    def workers_here(self) -> int:
        """How many of its workers are on each host."""
        return self.case.workers // self.hosts

    @property
    def is_one_process(self) -> bool:
        """Whether its workers are devices of one process."""
        return self.case.workers > 1 and self.case.settings.get("placement") == ONE_PROCESS

    @property
    def processes_here(self) -> int:
        """How many processes train on each host."""
        return 1 if self.is_one_process else self.workers_here

    @property
    def threads(self) -> int:
        """The threads of each process."""
        return self.case.threads * self.workers_here // self.processes_here

    @property
    @abstractmethod
    def work(self) -> Mapping[str, Any]:
        """The settings that the code does not have, as JSON: those of the recipe, or a program's parameters."""

    @property
    def execution(self) -> tuple[str, ...]:
        """The settings of execution that are on; a program has its own code for them."""
        return ()

    @property
    def batch_size(self) -> int | None:
        """The samples of a step; None if only the program itself knows them."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec(RunSpec):
    """A run that trains or applies a network of the vocabulary.

    ``recipe_steps`` is the number of steps of the whole recipe, of which ``steps`` may be a part.
    """

    network: Network
    recipe: Recipe
    data: Prepared
    evaluations: int = 1
    """How often the test split is evaluated after training; all results must be identical to the bit.

    A run without evaluation ends there: it only finds out how long its steps take.
    """
    recipe_steps: int | None = None
    is_profiled: bool = False
    """Whether the run ends with steps under the framework's own profiler instead of an evaluation."""
    is_broken_down: bool = False
    """Whether steps are divided into their phases after training."""
    has_layers_timed: bool = False
    """Whether, with their phases, every layer is timed, too."""
    weights: GivenWeights | None = None
    """A file of weights in place of those that the recipe's rule draws."""
    has_labels: bool = False
    """Whether the network of an inference is also evaluated: the labels of the test split are its classes."""
    whole: Prepared | None = None
    """The whole data set, whose test split is evaluated, if ``data`` has a validation split in place of a test split.
    """
    evaluate_after: tuple[int, ...] = ()
    """Steps after which the test split is evaluated, in addition to the last one."""
    least_seconds: float = 0.0
    """How long its timed steps have to last: ``steps`` are the least, until their number is decided by time."""
    is_saved: bool = False
    """Whether the run ends with a checkpoint, from which training goes on in a fresh process."""
    checkpoint: Path | None = None
    """The folder of the checkpoint in one of these two processes."""
    resumes: Checkpoint | None = None
    """What was written there, in the process that goes on from it."""
    meeting: Meeting | None = None
    """Where one of its workers meets those of other hosts; None if all are on one host."""

    @property
    def work(self) -> Mapping[str, Any]:
        """The recipe."""
        return recipe_json(self.recipe)

    @property
    def execution(self) -> tuple[str, ...]:
        """Those of the recipe."""
        return self.recipe.execution

    @property
    def batch_size(self) -> int:
        """The recipe's."""
        return self.recipe.batch_size

    @property
    def test_data(self) -> Prepared:
        """The data set whose test split is evaluated."""
        return self.whole or self.data

    @property
    def steps_per_epoch(self) -> int:
        """The whole batches of an epoch."""
        return self.data.dataset.train_examples // self.recipe.batch_size

    def learning_rates(self) -> tuple[float, ...]:
        """The learning rate of every step."""
        return self.recipe.learning_rates(steps=self.steps, steps_per_epoch=self.steps_per_epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSpec(RunSpec):
    """A run of a program, the user's own training loop.

    ``root`` is the folder of the repository in which it is found and which is imported from, ``data`` are the data sets
    that it may ask for, by name.
    """

    program: Program
    root: Path
    data: Mapping[str, Prepared] = field(default_factory=dict)

    @property
    def work(self) -> Mapping[str, Any]:
        """The program's parameters."""
        return self.program.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSpec(RunSpec):
    """A run that calls a single operator; ``steps`` are the calls of each pass after the first.

    ``probes`` are large operators, by name, that are called in between: what this framework reaches on this machine.
    """

    operator: Operator
    probes: Mapping[str, Operator]

    @property
    def work(self) -> Mapping[str, Any]:
        """The operator and its sizes."""
        return self.operator.as_json()


def trains_network(spec: RunSpec) -> TypeGuard[NetworkSpec]:
    """Whether it is a training of a network of the vocabulary, which alone has phases and a profile."""
    return isinstance(spec, NetworkSpec) and spec.purpose == "training"


def kind(spec: RunSpec) -> str:
    """What kind of case it belongs to: "program", or else its purpose."""
    return "program" if isinstance(spec, ProgramSpec) else spec.purpose


def recipe_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe in the form that workers receive and records store."""
    parts = {"optimizer": recipe.optimizer, "schedule": recipe.schedule}
    named = {name: {"kind": part.kind, **asdict(part)} for name, part in parts.items() if part}
    # Settings that are off are those of all records that are older than these fields.
    off = set(EXECUTION) - set(recipe.execution)
    off |= {name for name, value in LATER.items() if getattr(recipe, name) == value}
    return {name: value for name, value in {**asdict(recipe), **named}.items() if name not in off}
