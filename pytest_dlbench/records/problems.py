"""What went wrong in a run: data, which ``reporting.problems`` turns into sentences.

What others say about it (a framework, a program, an operating system) is text: ``Run.message``, or ``said``.
"""

from collections.abc import Mapping
from typing import Literal

from pytest_dlbench.records.outcomes import RunOutcome
from pytest_dlbench.records.structs import Part, Tagged

# The worker stopped answering


class TimedOut(Tagged, frozen=True, kw_only=True):
    """A request was not answered before the run had taken ``limit_seconds``."""

    request: str
    limit_seconds: float


class Hung(Tagged, frozen=True, kw_only=True):
    """A request was not answered, and the worker's processes used no processor for ``idle_seconds``."""

    request: str
    idle_seconds: float


class NotPrepared(Tagged, frozen=True, kw_only=True):
    """The inputs of a run could not be written, or its workers not be started: what the operating system ``said``.

    ``free_bytes`` were left in the ``folder`` of temporary files; None if that is not known.
    """

    said: str
    folder: str
    free_bytes: int | None = None


DeathCause = Literal["status", "signal", "memory", "pipe"]


class WorkerDied(Tagged, frozen=True, kw_only=True):
    """The worker ended during a request, or ``is_before`` it was sent.

    ``cause`` is how: by an exit status or a signal, whose ``number`` it is; by the kernel, because memory ran out; or
    not at all, after it had closed its pipe, until it was killed.
    """

    request: str
    is_before: bool = False
    cause: DeathCause
    number: int = 0


class BadAnswer(Tagged, frozen=True, kw_only=True):
    """What came instead of an answer to a request.

    ``quoted`` is its beginning, as Python writes bytes; ``limit_bytes`` is the most that an answer may have.
    """

    request: str
    fault: Literal["too_long", "several", "not_json", "no_status"]
    quoted: str = ""
    limit_bytes: int = 0


# The worker is not what was requested


class WrongVersion(Part, frozen=True, kw_only=True):
    """A requirement, or its alternatives, that nothing ``installed`` meets; or what a builder reports instead of it."""

    requested: tuple[str, ...] = ()
    reported: str = ""
    installed: tuple[str, ...] = ()


class WrongVersions(Tagged, frozen=True, kw_only=True):
    """An environment has other versions than were requested, or than its builder reports.

    ``python`` is that of an environment that somebody else made, ``folder`` is where one was built; the other is empty.
    """

    framework: str
    environment: str
    versions: tuple[WrongVersion, ...]
    python: str = ""
    folder: str = ""


class SameVersion(Part, frozen=True, kw_only=True):
    """A package that both sides of a comparison have in one version, although each requested another."""

    baseline: str
    candidate: str
    installed: str


class SameVersions(Tagged, frozen=True, kw_only=True):
    """The two sides of a comparison, by the names of their frameworks, do not differ in what they were to differ in."""

    baseline: str
    candidate: str
    versions: tuple[SameVersion, ...]


class OtherFiles(Tagged, frozen=True, kw_only=True):
    """The worker imported ``modules`` from the repository as it is, and not from a revision of it."""

    modules: tuple[str, ...]
    repository: str
    revision: str


class OtherThreads(Tagged, frozen=True, kw_only=True):
    """The framework uses another number of threads than was requested."""

    framework: str
    requested: int
    found: int


class OtherDevice(Tagged, frozen=True, kw_only=True):
    """The framework computes on another kind of device than was requested; ``found`` is empty if it reports none."""

    framework: str
    requested: str
    found: str = ""
    name: str = ""


# What it built or computed is not what it should be


class OtherParameters(Tagged, frozen=True, kw_only=True):
    """The shapes of those parameters that differ, of the network that was built and of its model, by their names."""

    model: str
    built: Mapping[str, tuple[int, ...]] = {}
    expected: Mapping[str, tuple[int, ...]] = {}


class OtherLibrary(Tagged, frozen=True, kw_only=True):
    """Another library computes than was requested: ``calls`` are those of a step, by library and kind of call."""

    framework: str
    requested: str
    calls: Mapping[str, Mapping[str, int]]


class OtherOutput(Tagged, frozen=True, kw_only=True):
    """The shape of the output for one example is not that of the model."""

    model: str
    found: tuple[int, ...]
    expected: tuple[int, ...]


class OtherOutputs(Tagged, frozen=True, kw_only=True):
    """Frameworks with the same weights and examples have different outputs, by their sketches.

    ``deviation`` is relative to the root mean square of the sketch of ``reference``, a framework.
    """

    reference: str
    deviation: float
    bound: float


class OffReference(Tagged, frozen=True, kw_only=True):
    """An array that a pass of an operator computes differs from NumPy's in float64 by more than the bound.

    ``deviation`` is relative to the largest number, None if it is not finite. ``products`` is how many are added for
    one number of the array, where that is what the bound follows from.
    """

    array: str
    operator_pass: str
    deviation: float | None
    bound: float
    products: int = 0


class NotFinite(Tagged, frozen=True, kw_only=True):
    """A loss, a figure that a program reported under its ``name``, or an output is not a finite number.

    ``value`` is how Python writes it, ``step`` the number of steps until then.
    """

    figure: Literal["loss", "test_loss", "validation_loss", "reported", "output"]
    name: str = ""
    value: str = ""
    step: int = 0
    steps: int = 0


class StepsMissing(Tagged, frozen=True, kw_only=True):
    """Steps or batches that were requested and not taken, or a program's own loop that ended before its last step.

    ``examples`` is how many the worker counted.
    """

    unit: Literal["steps", "batches", "loop"]
    requested: int
    reported: int
    examples: int = 0


class CallsMissing(Tagged, frozen=True, kw_only=True):
    """Passes of an operator, or probes, were not called as often as requested. ``reported`` are the calls by pass."""

    requested: int
    passes: tuple[str, ...]
    probes: tuple[str, ...]
    reported: Mapping[str, int]
    reported_probes: tuple[str, ...]


class NoNumberOfSamples(Tagged, frozen=True, kw_only=True):
    """What a program's loop reported as the samples of a step is not a whole number of at least 1."""

    name: str
    reported: float


# Sanity checks


class TooFast(Tagged, frozen=True, kw_only=True):
    """A run used more of the arithmetic that the machine is capable of than can be: a share, and its limit."""

    share: float
    limit: float


class AboveDataSheet(Tagged, frozen=True, kw_only=True):
    """A large product on a GPU ran at ``measured`` operations per second, its data sheet has ``published``."""

    precision: str
    measured: float
    published: float


class LossBelowBound(Tagged, frozen=True, kw_only=True):
    """A step reported a loss that its function cannot have."""

    loss: float
    step: int
    bound: float


class LossesRepeat(Tagged, frozen=True, kw_only=True):
    """Of ``steps`` consecutive steps, ``repeated`` reported the loss of the one before.

    ``loss`` is what all steps reported, None if only some repeat.
    """

    repeated: int
    steps: int
    loss: float | None = None
    is_of_program: bool = False


class StepsChangeNothing(Tagged, frozen=True, kw_only=True):
    """Of more steps, ``unchanged`` changed no parameter, or all together left the ``test_loss`` as it was."""

    unchanged: int
    steps: int
    test_loss: str = ""


class EvaluationVaries(Tagged, frozen=True, kw_only=True):
    """Two evaluations of the same weights, and their test losses; ``is_checked`` in the check after the measurement."""

    losses: tuple[str, str]
    is_checked: bool = False


class NotResumed(Tagged, frozen=True, kw_only=True):
    """A training that went on from a checkpoint has another loss than the one that wrote it, in some ``step`` from 1.

    Step 0 is an evaluation of test examples before any step. ``losses`` are those of the writing and of the reading
    process, to the last digit, "nan" for one that is missing; their relative difference is ``deviation``, None if it is
    not finite.
    """

    mechanism: str
    step: int
    losses: tuple[str, str]
    deviation: float | None
    bound: float


class NotAwaited(Tagged, frozen=True, kw_only=True):
    """Steps, or calls of an operator's pass, return before their work is done.

    What came after them (an evaluation, or a copy of the last result) took ``after_seconds``, and takes
    ``alone_seconds`` without them.
    """

    count: int
    seconds: float
    after_seconds: float
    alone_seconds: float
    unit: Literal["steps", "calls"]
    operator_pass: str = ""


class NotDouble(Tagged, frozen=True, kw_only=True):
    """Twice as many steps did not take about twice as long."""

    steps: int
    seconds: float
    double_seconds: float


# The machine, and its hosts


class Holder(Part, frozen=True, kw_only=True):
    """Who uses a device, and since when (in seconds since 1970); ``command`` is shortened."""

    user: str
    pid: int
    command: str
    since: float


class DeviceBusy(Tagged, frozen=True, kw_only=True):
    """A device did not become free within ``limit_seconds``, or at once if that is 0."""

    device: str
    limit_seconds: float
    holders: tuple[Holder, ...] = ()


class MachineLost(Tagged, frozen=True, kw_only=True):
    """A leased host has not answered for ``silent_seconds``, or ended, or was lost to its engine; or none is left.

    ``host`` is empty if none is left; with ``is_repetition``, others were lost before. ``said`` is what the process on
    the host said, or the engine.
    """

    host: str = ""
    cause: Literal["silent", "ended", "engine", "none_left"]
    engine: Literal["", "ray", "slurm"] = ""
    silent_seconds: float = 0.0
    is_repetition: bool = False
    said: str = ""


# Several workers


class WorkersDiffer(Tagged, frozen=True, kw_only=True):
    """Data-parallel workers that are not alike, by their ranks from 1, of all ``workers``.

    They have different ``versions`` (of two of them, by package; None where one has none) or networks, took different
    numbers of ``steps``, or have other weights than worker 1 after training.
    """

    aspect: Literal["versions", "shapes", "steps", "weights"]
    ranks: tuple[int, ...] = ()
    workers: int
    versions: Mapping[str, tuple[str | None, str | None]] = {}
    steps: tuple[int, ...] = ()


Cause = (
    TimedOut
    | Hung
    | NotPrepared
    | WorkerDied
    | BadAnswer
    | WrongVersions
    | SameVersions
    | OtherFiles
    | OtherThreads
    | OtherDevice
    | OtherParameters
    | OtherLibrary
    | OtherOutput
    | OtherOutputs
    | OffReference
    | NotFinite
    | StepsMissing
    | CallsMissing
    | NoNumberOfSamples
    | TooFast
    | AboveDataSheet
    | LossBelowBound
    | LossesRepeat
    | StepsChangeNothing
    | EvaluationVaries
    | NotResumed
    | NotAwaited
    | NotDouble
    | DeviceBusy
    | MachineLost
    | WorkersDiffer
)
"""What went wrong, without which of several workers it was."""


class OfWorkers(Tagged, frozen=True, kw_only=True):
    """What went wrong in some of several data-parallel workers, by their ranks from 1; or what they ``said``."""

    ranks: tuple[int, ...]
    workers: int
    problem: Cause | None = None
    said: str = ""


class NothingFound(Tagged, frozen=True, kw_only=True):
    """No trial of a search finished within its budget of processor time.

    ``outcome``, and ``problem`` or ``said``, are how the last one ended.
    """

    seed: int
    trials: int
    budget_seconds: float
    outcome: RunOutcome
    problem: Cause | OfWorkers | None = None
    said: str = ""


Problem = Cause | OfWorkers | NothingFound
"""What went wrong in a run."""
