"""Why the figures of a case may mislead, one sentence per reason."""

from collections.abc import Iterator, Sequence
from functools import singledispatch

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.records import CaseResult
from pytest_dlbench.records import reasons as of
from pytest_dlbench.reporting import figures, foreign

# A folder that git should ignore may have thousands.
MOST_FILES = 5
MIB = 2**20
AA_TEST = "A/A test: both sides had the same versions of everything, so any change is a false alarm"


def warnings(result: CaseResult, metrics: Metrics = METRICS) -> tuple[str, ...]:
    """All warnings of a case; files from before cautions were data have them as text."""
    of_pairs = (AA_TEST,) if is_aa(result) else ()
    found = (*of_pairs, *sentences(result.cautions, metrics)) if result.cautions or of_pairs else result.warnings
    return tuple(foreign.lines(found))


def is_aa(result: CaseResult) -> bool:
    """Whether both sides of the case had the same versions of everything."""
    return result.pairing is not None and result.pairing.is_aa


def verdict(result: CaseResult) -> str:
    """The outcome of a case, marked if it is that of an A/A test."""
    return f"{result.outcome} (A/A)" if is_aa(result) else result.outcome.value


def sentences(cautions: Sequence[of.Caution], metrics: Metrics = METRICS) -> Iterator[str]:
    """One sentence per caution, and one per metric whose tolerance is too tight."""
    for caution in cautions:
        yield from _sentences(caution, metrics)


def judges(reason: of.ToleranceTooTight) -> str:
    """What cannot resolve a tolerance."""
    return "the stored sessions" if reason.pairs is None else f"{reason.pairs} pairs"


@singledispatch
def trouble(found: of.Trouble | str) -> str:
    """Why a run is invalid, as a sentence, which is what files of formats 1 and 2 have."""
    raise TypeError(f"no sentence for {type(found).__name__}")


@trouble.register
def _stored(found: str) -> str:
    return found


@trouble.register
def _waited(found: of.Waited) -> str:
    times = f"its threads computed for {found.computed_seconds:.1f} s and waited {found.waited_seconds:.1f} s"
    return f"{times} for a processor: others used {found.foreign_cpus:.1f} CPUs"


@trouble.register
def _stolen(found: of.Stolen) -> str:
    return f"the hypervisor took {found.stolen:.1f} of {found.cpus} CPUs away"


@trouble.register
def _swapped(found: of.Swapped) -> str:
    return f"memory was swapped: {found.read_bytes / MIB:,.0f} MiB came back from the disk"


@trouble.register
def _overheated(found: of.Overheated) -> str:
    return f"the processor was too hot, and slowed {found.times} times"


@trouble.register
def _on_battery(_: of.OnBattery) -> str:
    return "the machine ran on its battery"


@trouble.register
def _gpu_slowed(found: of.GpuSlowed) -> str:
    return f"the GPU {found.gpu} was throttled: {', '.join(_cause(*cause) for cause in found.causes.items())}"


def _cause(name: str, share: float | None) -> str:
    return name if share is None else f"{name} for {share:.0%} of the time"


@trouble.register
def _gpu_shared(found: of.GpuShared) -> str:
    return f"{found.processes} other processes used the GPU {found.gpu}"


@trouble.register
def _steps_unclear(found: of.StepsUnclear) -> str:
    others = f"others used {found.foreign_cpus:.1f} CPUs"
    return f"its steps were checked {found.checks} times while {others}, and seemed not alike"


@trouble.register
def _not_timed(_: of.NotTimed) -> str:
    return "it was not timed: other runs may have used the machine at the same time"


@trouble.register
def _not_examined(found: of.NotExamined) -> str:
    return f"nothing examined whether it is plausible and undisturbed: {found.said}"


@singledispatch
def _sentences(caution: object, _: Metrics) -> Iterator[str]:
    raise TypeError(f"no sentence for {type(caution).__name__}")


@_sentences.register
def _invalid_runs(caution: of.InvalidRuns, _: Metrics) -> Iterator[str]:
    yield f"{caution.invalid} of {caution.runs} runs are invalid: {trouble(caution.first)}"


@_sentences.register
def _neighbours(caution: of.Neighbours, _: Metrics) -> Iterator[str]:
    yield (
        f"other processes on this machine used {caution.cpus:.1f} CPUs while {caution.disturbed} of {caution.runs} runs"
        " trained: they affected the times"
    )


@_sentences.register
def _unsteady_cores(caution: of.UnsteadyCores, _: Metrics) -> Iterator[str]:
    yield (
        f"right after {caution.unsteady} of {caution.runs} runs, equal work took up to {caution.variation:.1f} times"
        " its shortest processor time: what no counter reports, such as other guests of this machine's host, slowed the"
        " cores and affected the times"
    )


@_sentences.register
def _steps_excluded(caution: of.StepsExcluded, _: Metrics) -> Iterator[str]:
    yield (
        f"{caution.steps} steps of {caution.runs} runs are excluded from the step times: other processes left no"
        " processor free"
    )


@_sentences.register
def _median_regressed(_: of.MedianRegressed, __: Metrics) -> Iterator[str]:
    yield (
        "the median step regressed and the 10 % quantile did not: some steps are delayed, by the candidate (waiting for"
        " input, collecting garbage) or by other processes; this fails no test without a tolerance of its own for"
        " step_time_median"
    )


@_sentences.register
def _left_out(caution: of.LeftOut, _: Metrics) -> Iterator[str]:
    shown, more = caution.files[:MOST_FILES], len(caution.files) - MOST_FILES
    files = f"{', '.join(shown)}{f' and {more} more' if more > 0 else ''}"
    yield f"changes that are not committed are in neither revision: {files}; the side 'worktree' has them"


@_sentences.register
def _uneven_compilation(caution: of.UnevenCompilation, _: Metrics) -> Iterator[str]:
    yield (
        f"{caution.cold} of {caution.runs} runs compiled what the others found in the cache: their first steps are not"
        " comparable"
    )


@_sentences.register
def _never_steady(caution: of.NeverSteady, _: Metrics) -> Iterator[str]:
    yield (
        f"{caution.unsteady} of {caution.runs} runs never reached a steady state: their steps were still getting faster"
        " or slower"
    )


@_sentences.register
def _timed_too_short(caution: of.TimedTooShort, _: Metrics) -> Iterator[str]:
    seconds, asked = (figures.seconds(value) for value in (caution.seconds, caution.asked_seconds))
    yield (
        f"timed steps last {seconds} in place of {asked}: the recipe has no more of them for this data set; a larger"
        " data set or more epochs give more"
    )


@_sentences.register
def _page_faults(caution: of.PageFaults, _: Metrics) -> Iterator[str]:
    yield f"{caution.per_step:,.0f} page faults per step: much of the measured time is the kernel's, allocating memory"


@_sentences.register
def _survivors(caution: of.Survivors, _: Metrics) -> Iterator[str]:
    yield f"workers left processes running, which were terminated: {', '.join(caution.names)}"


@_sentences.register
def _of_each_worker(caution: of.OfEachWorker, _: Metrics) -> Iterator[str]:
    differing = " and ".join(_OF_EACH_WORKER[kind] for kind in caution.kinds)
    yield f"losses of {caution.workers} workers are not those of one: {differing}"


_OF_EACH_WORKER = {
    "batch_norm": "batch normalisation uses the mean and variance of each worker's part of the batch",
    "dropout": "each worker draws dropout masks of its own",
    "detections": "each worker divides a detector's losses by the number of samples in its part of the batch",
    "ignored_labels": "each worker divides its loss by the number of labels that count in its part of the batch",
}


@_sentences.register
def _target_missed(caution: of.TargetMissed, _: Metrics) -> Iterator[str]:
    trained = f"{caution.seconds:.3g} s, or {caution.epochs:.3g} epochs"
    missed = f"{caution.missed} of {caution.runs} runs did not reach an accuracy of {100 * caution.target:g} %"
    yield f"{missed}: their time to it is longer than {trained}, after which training ended"


@_sentences.register
def _sides_disagree(caution: of.SidesDisagree, metrics: Metrics) -> Iterator[str]:
    sides, paired = (figures.size(caution.metric, change, metrics) for change in (caution.sides, caution.paired))
    yield (
        f"{caution.metric}: {sides} between the medians of the two sides, {paired} within the pairs, which decides:"
        " the two runs of a pair share what the machine did meanwhile; the medians also have what changed between pairs"
    )


@_sentences.register
def _not_required(caution: of.NotRequired, metrics: Metrics) -> Iterator[str]:
    required = ", ".join(figures.bound(name, value, metrics) for name, value in caution.bounds.items())
    yield f"{caution.steps:,} of {caution.recipe_steps:,} steps were trained; not required: {required}"


@_sentences.register
def _too_tight(caution: of.ToleranceTooTight, metrics: Metrics) -> Iterator[str]:
    """Default tolerances: these metrics may stay inconclusive, and fail nothing if only their own spread is why."""
    own = "; it varies that much from run to run, and does not decide" if caution.basis == "pairs" else ""
    for one in caution.metrics:
        least = figures.enough(one.metric, one.smallest, metrics)
        resolved = f"{judges(caution)} on this machine resolve no change below {least}, above its tolerance"
        yield f"{one.metric}: {resolved}{own}"


@_sentences.register
def _sequential(caution: of.SequentialPairs, _: Metrics) -> Iterator[str]:
    why = {
        "memory": "two workers do not fit in the free memory",
        "spinning": f"{caution.framework} used {caution.cpus or 0:.2f} CPUs while it waited for its next step",
    }
    if caution.is_unforeseen:
        yield f"the steps of both sides did not alternate: {why[caution.cause]}"


UNDIVIDED = {
    "one_program": "the framework compiles the whole step into one program ({what})",
    "one_call": "the framework takes the whole step in one call ({what})",
    "setting": "the builder does not divide steps with the setting {what}",
    "no_function": "the builder {what} has no function breakdown(trainer)",
    "network": "the builder cannot compute the network layer by layer, because of {what}",
    "no_layers": "the builder {what} has no function layerwise(trainer)",
    "purpose": "only trainings of networks have them, and this case is of the kind {what}",
    "time": "measuring them would take about {what}, past the timeout",
    "failed": "the worker could not measure them: {what}",
}


@_sentences.register
def _undivided(caution: of.Undivided, _: Metrics) -> Iterator[str]:
    unit = "phases of a step" if caution.unit == "phases" else "times of layers"
    yield f"no {unit}: {UNDIVIDED[caution.cause].format(what=caution.what)}"


@_sentences.register
def _phases_do_not_add_up(caution: of.PhasesDoNotAddUp, _: Metrics) -> Iterator[str]:
    yield (
        f"the phases of a step are not shown: together they take {caution.ratio:.2f} times as long as the step, and"
        f" {caution.least:g} to {caution.most:g} would be plausible"
    )


@_sentences.register
def _phase_not_awaited(caution: of.PhaseNotAwaited, _: Metrics) -> Iterator[str]:
    yield (
        f"the phases of a step are not shown: the phase {caution.phase} went on for"
        f" {1000 * caution.late_seconds:.2f} ms after it was waited for, of a step of"
        f" {1000 * caution.step_seconds:.2f} ms; the builder does not wait for it"
    )


@_sentences.register
def _counts_changed(caution: of.CountsChanged, metrics: Metrics) -> Iterator[str]:
    changes = "; ".join(figures.counted(change, metrics) for change in caution.changes)
    yield f"what a step does changed, in all runs: {changes}; this fails no test"


@_sentences.register
def _kernels_changed(caution: of.KernelsChanged, _: Metrics) -> Iterator[str]:
    yield f"recurrent layers are computed by other kernels: {figures.changed_kernels(caution)}; this fails no test"
