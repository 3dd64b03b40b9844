"""The reasons of an outcome, and why its figures may mislead: data, which ``reporting.explain`` turns into text.

Data that a result already has (verdicts, pairing, figures) is not repeated here.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pytest_dlbench.errors import DlbenchError, OptionError
from pytest_dlbench.records.kernels import RecurrentKernel
from pytest_dlbench.records.outcomes import RunOutcome
from pytest_dlbench.records.problems import Problem
from pytest_dlbench.records.structs import Part, Tagged

Side = Literal["", "baseline", "candidate"]


class Difference(Part, frozen=True, kw_only=True):
    """A version, a setting or a condition that differs between two sides; None where a side has none."""

    name: str
    baseline: Any = None
    candidate: Any = None


class Repeat(Part, frozen=True, kw_only=True):
    """A command that is suggested: this test again, with the flags that decide what its case is."""

    node: str
    flags: tuple[str, ...] = ()


class InPairs(Part, frozen=True, kw_only=True):
    """A command that is suggested: the same test in pairs.

    ``versions`` of the framework are the two sides, None where none are known that could be installed. ``tolerances``
    are those that are not the metrics' own.
    """

    framework: str
    versions: tuple[str, str] | None = None
    tolerances: Mapping[str, float] = {}
    is_of_program: bool = False


class MoveReference(Part, frozen=True, kw_only=True):
    """A command that is suggested: the newest session of a case becomes its reference session."""

    baselines: str


class Reference(Part, frozen=True, kw_only=True):
    """The reference session of a baseline, and how another one would take its place."""

    saved: str
    why: str
    move: MoveReference


class Saved(Tagged, frozen=True, kw_only=True):
    """The session was added to a baseline, as its ``session``-th.

    ``replaced`` is how many sessions of other conditions the baseline had, which are gone.
    """

    path: str
    session: int
    why: str
    replaced: int = 0


class NotSaved(Tagged, frozen=True, kw_only=True):
    """The session was to be added to a baseline and was not: because of its test, a gain, or the ``problem``."""

    cause: Literal["failed", "skipped", "interrupted", "too_good", "problem"]
    problem: str = ""


class Gain(Part, frozen=True, kw_only=True):
    """A metric that is ``times`` as good as before."""

    metric: str
    times: float


class TooGood(Tagged, frozen=True, kw_only=True):
    """Gains that are more likely errors; ``limit`` is the largest that is believed.

    With ``again``, the command that saves them nevertheless is suggested.
    """

    gains: tuple[Gain, ...]
    limit: float
    again: Repeat | None = None


class NoBaseline(Tagged, frozen=True, kw_only=True):
    """There is nothing to compare with on this machine class; ``others`` are those that have a baseline."""

    machine: str
    others: tuple[str, ...] = ()
    again: Repeat


class Portable(Tagged, frozen=True, kw_only=True):
    """The verdicts are against a portable baseline, whose newest session was ``saved`` because of ``why``.

    All other metrics have nothing to compare with on this machine class.
    """

    path: str
    saved: str
    why: str
    versions: tuple[Difference, ...] = ()
    recipe: tuple[Difference, ...] = ()


class PortableUnused(Tagged, frozen=True, kw_only=True):
    """There is a portable baseline at ``path``, and it is not compared with: it was made under other conditions."""

    path: str
    saved: str
    differences: tuple[Difference, ...]


class NotInBaseline(Tagged, frozen=True, kw_only=True):
    """The revision that is the baseline lacks the program, so that only the candidate was run."""

    revision: str
    commit: str
    path: str


class Incomparable(Tagged, frozen=True, kw_only=True):
    """The two sides were measured under different conditions. ``saved`` is when the baseline was, if it is one."""

    differences: tuple[Difference, ...]
    saved: str = ""
    again: Repeat | None = None


class DamagedBaseline(Tagged, frozen=True, kw_only=True):
    """The baseline cannot be read. ``problem`` says where in the file, and what to do."""

    path: str
    problem: str


class TooFew(Tagged, frozen=True, kw_only=True):
    """The spread of so few runs is not known."""

    runs: int
    needed: int


class Missing(Tagged, frozen=True, kw_only=True):
    """Metrics with a tolerance that the baseline has, and not every run of this session: they cannot be judged.

    Of two recordings, ``side`` is the one some run of which lacks them.
    """

    metrics: tuple[str, ...]
    side: Side = ""


class NotStored(Tagged, frozen=True, kw_only=True):
    """Metrics with a tolerance that the runs have, and no session of the baseline: they cannot be judged yet."""

    metrics: tuple[str, ...]


class UndecidedSessions(Part, frozen=True, kw_only=True):
    """What would decide a metric that its stored sessions left undecided.

    ``sessions`` is how many stored sessions would, if they go on to differ like these; None if none would, or if the
    metric is judged run by run. ``resolved`` is the tolerance at which these would have cleared it.
    """

    metric: str
    sessions: int | None
    resolved: float


class Compared(Tagged, frozen=True, kw_only=True):
    """The verdicts are against a stored baseline, whose newest session was ``saved`` because of ``why``.

    ``sessions`` are all that it has. ``reference`` is what the result's ``since_anchor`` is against. ``pairs`` is None
    where there is nothing that pairs should settle.
    """

    saved: str
    why: str
    sessions: int
    versions: tuple[Difference, ...] = ()
    recipe: tuple[Difference, ...] = ()
    reference: Reference
    again: Repeat
    pairs: InPairs | None = None
    undecided: tuple[UndecidedSessions, ...] = ()


class Leaking(Tagged, frozen=True, kw_only=True):
    """The resident set grows with the steps, or may do so; the verdict of ``leak`` has the figures."""


class Exceeding(Tagged, frozen=True, kw_only=True):
    """Absolute metrics that are above their tolerances, or may be; their verdicts have the figures."""

    metrics: tuple[str, ...]


class Unshown(Tagged, frozen=True, kw_only=True):
    """Absolute metrics, asked for or above their tolerances, that fewer runs have than a verdict needs."""

    metrics: tuple[str, ...]
    needed: int


class PhaseChange(Part, frozen=True, kw_only=True):
    """Seconds of a phase that takes longer or shorter than before, medians over the runs of either side."""

    phase: str
    baseline: float
    candidate: float


class TimeToTarget(Part, frozen=True, kw_only=True):
    """Seconds until an accuracy was reached: restricted means within the first ``horizon`` seconds.

    ``missed`` are runs that never reached it, of ``runs``; both of the baseline, then of the candidate. None is a
    figure that is not finite.
    """

    target: float
    baseline: float
    candidate: float
    horizon: float
    longer: float | None
    lower: float | None
    upper: float | None
    p_value: float | None
    missed: tuple[int, int]
    runs: tuple[int, int]


class UndecidedPairs(Part, frozen=True, kw_only=True):
    """What would decide a metric that its pairs left undecided.

    ``pairs`` is how many, if they go on like this, and ``seconds`` how long they take; None if not even the most that
    can be asked for would. ``is_confirmation``: they are fresh pairs after those of the screening, whose time is in
    ``seconds``, too. ``resolved`` is the tolerance at which these pairs would have cleared it, None if they set no
    bounds; ``resolvable`` is then the one that the most pairs would resolve, None if the asked one is wider.
    ``is_contradictory``: later pairs are outside of what earlier ones showed, so that more of them decide nothing.
    """

    metric: str
    pairs: int | None
    seconds: float | None
    resolved: float | None
    is_confirmation: bool = False
    resolvable: float | None = None
    is_contradictory: bool = False


class Paired(Tagged, frozen=True, kw_only=True):
    """The verdicts are of paired runs; the result's pairing has their number.

    ``stall`` says whether the median step changed for the worse, or the better, more than the 10 % quantile did.
    """

    undecided: tuple[UndecidedPairs, ...] = ()

    phases: tuple[PhaseChange, ...] = ()
    versions: tuple[Difference, ...] = ()
    stall: Literal["", "worse", "better"] = ""
    time_to_target: TimeToTarget | None = None
    again: Repeat


class Unfinished(Tagged, frozen=True, kw_only=True):
    """A run did not finish: because of the ``problem``, or in the words of the ``message``, as in its Run.

    ``log`` is the worker's last output; ``side`` and ``framework`` are empty outside pairs.
    """

    index: int
    seed: int
    outcome: RunOutcome
    # Always written: the readers of formats 1 to 3 that know no problems require it.
    message: str
    problem: Problem | None = None
    log: tuple[str, ...] = ()
    side: Side = ""
    framework: str = ""


class BodyFailed(Tagged, frozen=True, kw_only=True):
    """The test failed after its case was measured and judged; ``problem`` is the first line of its exception."""

    problem: str


class Interrupted(Tagged, frozen=True, kw_only=True):
    """The session was ended, by Ctrl-C or a signal, after ``runs`` of the case; ``planned`` is 0 if not known."""

    runs: int
    planned: int = 0


class Diverged(Tagged, frozen=True, kw_only=True):
    """How many runs of either side diverged.

    ``chance`` is the probability of a difference at least as large by chance, None if the candidate has no more.
    """

    baseline: int
    baseline_runs: int
    candidate: int
    candidate_runs: int
    chance: float | None = None


class Waited(Tagged, frozen=True, kw_only=True):
    """The threads of a run waited for a processor, in seconds of thread time, which other processes used."""

    computed_seconds: float
    waited_seconds: float
    foreign_cpus: float


class Stolen(Tagged, frozen=True, kw_only=True):
    """The hypervisor took ``stolen`` of the machine's CPUs away, on average."""

    stolen: float
    cpus: int


class Swapped(Tagged, frozen=True, kw_only=True):
    """Memory was swapped: ``read_bytes`` came back from the disk."""

    read_bytes: int


class Overheated(Tagged, frozen=True, kw_only=True):
    """The processor was too hot, and slowed ``times`` times."""

    times: int


class OnBattery(Tagged, frozen=True, kw_only=True):
    """The machine ran on its battery."""


class GpuSlowed(Tagged, frozen=True, kw_only=True):
    """A GPU was throttled: by each cause for a share of the time, None where only the cause is known."""

    gpu: str
    causes: Mapping[str, float | None]


class GpuShared(Tagged, frozen=True, kw_only=True):
    """Other processes used a GPU."""

    gpu: str
    processes: int


class StepsUnclear(Tagged, frozen=True, kw_only=True):
    """Steps seemed not alike in all of their checks, while other processes used ``foreign_cpus`` CPUs."""

    checks: int
    foreign_cpus: float


class NotTimed(Tagged, frozen=True, kw_only=True):
    """Other runs may have used the machine at the same time."""


class NotExamined(Tagged, frozen=True, kw_only=True):
    """The run ended, and what was to examine it did not: ``said`` is the exception that prevented that."""

    said: str


Trouble = (
    Waited | Stolen | Swapped | Overheated | OnBattery | GpuSlowed | GpuShared | StepsUnclear | NotTimed | NotExamined
)
"""Why the figures of a run are the machine's, not the framework's, or why nobody knows."""


class InvalidRun(Part, frozen=True, kw_only=True):
    """A run that measured the machine's troubles, and which; in formats 1 and 2, these are sentences."""

    index: int
    seed: int
    reasons: tuple[Trouble | str, ...]
    side: Side = ""


class Invalid(Tagged, frozen=True, kw_only=True):
    """Runs measured the machine's troubles, as did their repetitions."""

    runs: tuple[InvalidRun, ...]
    repeats: int = 0


class Profiled(Tagged, frozen=True, kw_only=True):
    """Both sides were profiled; the result has the operators that changed most."""


class NotProfiled(Tagged, frozen=True, kw_only=True):
    """Why the operators that changed are not known: the problem of a run, or else a sentence, ``problem``.

    With a ``purpose``, neither: it is the kind of a case that is no training of a network, which alone is profiled.
    """

    problem: str
    run_problem: Problem | None = None
    purpose: str = ""


class CountChange(Part, frozen=True, kw_only=True):
    """A count, by its metric, that is the same in all runs of either side, and differs between them."""

    metric: str
    baseline: float
    candidate: float


class CountsChanged(Tagged, frozen=True, kw_only=True):
    """What a step does, or what is compiled for it, changed: a cause if something regressed, and a notice otherwise."""

    changes: tuple[CountChange, ...]


class KernelsChanged(Tagged, frozen=True, kw_only=True):
    """Other kernels compute the recurrent layers, by name, in all runs of either side: a cause, or a notice."""

    baseline: Mapping[str, RecurrentKernel]
    candidate: Mapping[str, RecurrentKernel]


class Unavailable(Tagged, frozen=True, kw_only=True):
    """Nothing could be run: the ``problem`` of an environment, of a data set or of an option."""

    problem: str


Reason = (
    Saved
    | NotSaved
    | TooGood
    | NoBaseline
    | Portable
    | PortableUnused
    | NotInBaseline
    | Incomparable
    | DamagedBaseline
    | TooFew
    | Missing
    | NotStored
    | Compared
    | Leaking
    | Exceeding
    | Unshown
    | Paired
    | Unfinished
    | BodyFailed
    | Interrupted
    | Diverged
    | Invalid
    | Profiled
    | NotProfiled
    | CountsChanged
    | KernelsChanged
    | Unavailable
)
"""Why a case is what it is, or was not judged."""


class NotTried(Tagged, frozen=True, kw_only=True):
    """A planted fault is smaller than ``missed``, which was not found."""

    missed: str


class NoDropout(Tagged, frozen=True, kw_only=True):
    """Dropout cannot be switched off in a model that has none."""

    model: str


NotPlanted = Unfinished | Invalid | NotTried | NoDropout
"""Why the gate was not asked about a planted fault, or has no answer."""


class TightTolerance(Part, frozen=True, kw_only=True):
    """A tolerance below the minimum detectable change; both as tolerances are written."""

    metric: str
    asked: float
    smallest: float


class ToleranceTooTight(Tagged, frozen=True, kw_only=True):
    """Tolerances below the minimum detectable change.

    ``pairs`` is the maximum number of pairs that would judge them, None for stored sessions. ``basis`` is the source of
    the spread: stored sessions, ``reference_runs`` consecutive runs, ``dlbench calibrate``, the smallest spread that
    any machine is assumed to have, or the pairs that were judged.
    """

    metrics: tuple[TightTolerance, ...]
    pairs: int | None = None
    basis: Literal["sessions", "runs", "calibration", "any", "pairs"]
    reference_runs: int = 0


class InvalidRuns(Tagged, frozen=True, kw_only=True):
    """Invalid runs were kept; ``first`` is the first reason, in formats 1 and 2 a sentence."""

    invalid: int
    runs: int
    first: Trouble | str


class Neighbours(Tagged, frozen=True, kw_only=True):
    """Other processes used ``cpus`` CPUs, in the median, while ``disturbed`` of the runs trained."""

    cpus: float
    disturbed: int
    runs: int


class UnsteadyCores(Tagged, frozen=True, kw_only=True):
    """After ``unsteady`` of the runs whose ``core_variation`` is known, it was large: this much in the median."""

    variation: float
    unsteady: int
    runs: int


class StepsExcluded(Tagged, frozen=True, kw_only=True):
    """Steps that are excluded from step times, because other processes left no processor free."""

    steps: int
    runs: int


class MedianRegressed(Tagged, frozen=True, kw_only=True):
    """The median step regressed, which pairs report, and the metric that decides did not."""


class LeftOut(Tagged, frozen=True, kw_only=True):
    """Changes of the user's files that are not committed, and so in neither of the two revisions."""

    files: tuple[str, ...]


class UnevenCompilation(Tagged, frozen=True, kw_only=True):
    """Some runs compiled what the others found compiled."""

    cold: int
    runs: int


class NeverSteady(Tagged, frozen=True, kw_only=True):
    """The steps of some runs were still getting faster or slower at the end."""

    unsteady: int
    runs: int


class TimedTooShort(Tagged, frozen=True, kw_only=True):
    """Steps that were to last ``asked_seconds`` took ``seconds``, the median run's: the recipe has no more of them."""

    seconds: float
    asked_seconds: float


class PageFaults(Tagged, frozen=True, kw_only=True):
    """Getting memory from the kernel is much of what was measured."""

    per_step: float


class Survivors(Tagged, frozen=True, kw_only=True):
    """Workers left processes running, which were ended."""

    names: tuple[str, ...]


class SequentialPairs(Tagged, frozen=True, kw_only=True):
    """The runs of a pair were back to back: their steps could not alternate.

    With the cause "spinning", the worker of ``framework`` used ``cpus`` processors while it waited for its next step.
    """

    cause: Literal["device", "inference", "operator", "loop", "pipeline", "absent", "memory", "spinning", "workers"]
    framework: str = ""
    cpus: float | None = None

    @property
    def is_unforeseen(self) -> bool:
        """Whether the machine or the framework was the cause, and not the kind of case: that is a warning."""
        return self.cause in ("memory", "spinning")


class OfEachWorker(Tagged, frozen=True, kw_only=True):
    """What a network computes otherwise in ``workers`` data-parallel workers than in one: layers and losses."""

    kinds: tuple[str, ...]
    workers: int


class TargetMissed(Tagged, frozen=True, kw_only=True):
    """Runs that did not reach their accuracy, and the shortest that one of them was trained."""

    missed: int
    runs: int
    target: float
    seconds: float
    epochs: float


class SidesDisagree(Tagged, frozen=True, kw_only=True):
    """The medians of the two sides of pairs changed unlike the figures within the pairs, which decide.

    ``sides`` and ``paired`` are changes as in a Verdict: ratios, or points.
    """

    metric: str
    sides: float
    paired: float


class NotRequired(Tagged, frozen=True, kw_only=True):
    """What a test requires of the whole recipe, of which only some steps were trained."""

    bounds: Mapping[str, float]
    steps: int
    recipe_steps: int


class Undivided(Tagged, frozen=True, kw_only=True):
    """Why a step has no phases or no layers; ``what`` names the cause, as the framework does where it can.

    "one_program": the framework compiles the whole step into one program; "one_call": it takes the whole step in one
    call; "setting": the builder divides no step with this setting; "no_function": the builder divides none; "network":
    a layer reads what only the whole network hands over; "no_layers": the builder times no single layers; "purpose": it
    is no training of a network, which alone has these phases; "time": it would pass the timeout; "failed": the worker
    said so.
    """

    cause: Literal[
        "one_program", "one_call", "setting", "no_function", "network", "no_layers", "purpose", "time", "failed"
    ]
    what: str = ""
    unit: Literal["phases", "layers"] = "phases"


class PhasesDoNotAddUp(Tagged, frozen=True, kw_only=True):
    """The sum of the phases of a step, over the step, is not between these two."""

    ratio: float
    least: float
    most: float


class PhaseNotAwaited(Tagged, frozen=True, kw_only=True):
    """A phase of a step went on after it was waited for: copying its results took so long."""

    phase: str
    late_seconds: float
    step_seconds: float


Caution = (
    InvalidRuns
    | Neighbours
    | UnsteadyCores
    | StepsExcluded
    | MedianRegressed
    | LeftOut
    | UnevenCompilation
    | NeverSteady
    | TimedTooShort
    | PageFaults
    | Survivors
    | SequentialPairs
    | OfEachWorker
    | TargetMissed
    | SidesDisagree
    | NotRequired
    | CountsChanged
    | KernelsChanged
    | Undivided
    | PhasesDoNotAddUp
    | PhaseNotAwaited
    | ToleranceTooTight
)
"""Why the figures of a case may mislead."""


class ToleranceTooTightError(OptionError):
    """A tolerance that somebody asked for and that cannot be judged; ``reporting.explain`` has the text."""

    def __init__(self, case: str, reason: ToleranceTooTight) -> None:
        super().__init__(f"{case}: {reason}")
        self.case, self.reason = case, reason


class SharedCaseError(DlbenchError):
    """Two tests train one case in different ways, and would share its baseline."""

    def __init__(self, case: str, tests: tuple[str, str]) -> None:
        super().__init__(f"{case}: {tests}")
        self.case, self.tests = case, tests


class OtherGoldenError(DlbenchError):
    """Golden losses of another network, data set or number of steps; those are the baseline of the ``differences``."""

    def __init__(self, case: str, differences: tuple[Difference, ...]) -> None:
        super().__init__(f"{case}: {differences}")
        self.case, self.differences = case, differences


class NotFinishedError(DlbenchError):
    """What had to be run to its end was not; ``reporting.explain`` has the text."""

    def __init__(self, reason: Unfinished) -> None:
        super().__init__(reason)
        self.reason = reason


class ProblemError(DlbenchError):
    """A problem without a run: a cluster gives no host, or a worker that makes no run stopped answering.

    ``log`` is the last output of that worker. ``reporting.explain`` has the text.
    """

    def __init__(self, problem: Problem, log: tuple[str, ...] = ()) -> None:
        super().__init__(problem, log)
        self.problem, self.log = problem, log
