"""What went wrong in a run, as a sentence; some have more lines, with what to do."""

import signal
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import singledispatch
from typing import Protocol

from pytest_dlbench.records import problems as of

CAUSES: Mapping[str, str] = {
    "memory": ": the kernel killed it because memory ran out",
    "pipe": ", or so it seemed: it closed its pipe, did not exit, and was killed",
}
KERNELS_LOG = "; the kernel's log shows whether memory ran out"
NOT_AWAITED = "does not wait for its own work (a missing synchronisation)"
NOT_OWN_LOSS = "do not train, or do not report their own loss"


class Ended(Protocol):
    """A run, a trial, a reason or a host: it has a problem, or a message of others, or neither."""

    @property
    def problem(self) -> of.Problem | None:
        """What went wrong."""
        ...

    @property
    def message(self) -> str:
        """What others said about it."""
        ...


def of_run(run: Ended) -> str:
    """What went wrong in a run; empty if nothing did."""
    return _either(run.problem, run.message)


def first_line(run: Ended) -> str:
    """The same in one line."""
    return of_run(run).partition("\n")[0]


def users(holders: Sequence[of.Holder]) -> str:
    """Who uses a device."""
    return "; ".join(map(_user, holders)) or "another session uses it, whose name is not known"


def _user(holder: of.Holder) -> str:
    since = datetime.fromtimestamp(holder.since).astimezone()
    return f"{holder.user} uses it since {since:%d %b %H:%M:%S} (process {holder.pid}: {holder.command})"


def _either(problem: of.Problem | None, said: str) -> str:
    return said if problem is None else text(problem)


@singledispatch
def text(problem: object) -> str:
    """The sentence about a problem."""
    raise TypeError(f"no sentence for {type(problem).__name__}")


# The worker stopped answering


@text.register
def _timed_out(problem: of.TimedOut) -> str:
    ended = f"the run was ended after {problem.limit_seconds:g} s; --dlbench-timeout=SECONDS allows more"
    return f"no answer to {problem.request!r} in time: {ended}"


@text.register
def _hung(problem: of.Hung) -> str:
    idle = f"its processes have used no processor for {problem.idle_seconds:g} s"
    return f"no answer to {problem.request!r}: the worker hangs, because {idle}"


@text.register
def _not_prepared(problem: of.NotPrepared) -> str:
    free = "" if problem.free_bytes is None else f" ({problem.free_bytes / 2**20:,.0f} MiB free)"
    where = f"; temporary files are in {problem.folder}{free}" if problem.folder else ""
    return f"the run could not be prepared: {problem.said}{where}; TMPDIR=FOLDER names a folder for temporary files"


@text.register
def _worker_died(problem: of.WorkerDied) -> str:
    when = "had ended before" if problem.is_before else "died during"
    return f"the worker {when} {problem.request!r}{CAUSES.get(problem.cause) or _ended(problem)}"


def _ended(problem: of.WorkerDied) -> str:
    if problem.cause == "status":
        return f" (exit status {problem.number})"
    return f" (killed by {_signal(problem.number)}){KERNELS_LOG if problem.number == signal.SIGKILL else ''}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@text.register
def _bad_answer(problem: of.BadAnswer) -> str:
    answer = f"the answer to {problem.request!r}"
    match problem.fault:
        case "too_long":
            return f"{answer} is longer than {problem.limit_bytes} bytes"
        case "several":
            return f"more than one answer to {problem.request!r}: {problem.quoted}"
        case "not_json":
            return f"{answer} is not JSON: {problem.quoted}"
        case "no_status":
            return f"{answer} has no status 'done' or 'failed': {problem.quoted}"


# The worker is not what was requested


@text.register
def _wrong_versions(problem: of.WrongVersions) -> str:
    if problem.python:
        remedy = f"to see what is installed: {problem.python} -m pip list"
    else:
        remedy = f"if it was changed after it was built, delete {problem.folder}; --dlbench-build builds it again"
    heading = f"the environment {problem.environment!r} of {problem.framework} is not what it should be:"
    return "\n  ".join([heading, *map(_wrong_version, problem.versions), remedy])


def _wrong_version(version: of.WrongVersion) -> str:
    state = f"{' and '.join(version.installed)} is installed" if version.installed else "it is not installed"
    if version.reported:
        return f"the builder reports {version.reported}, but {state}"
    return f"{' or '.join(version.requested)} was requested, {state}"


@text.register
def _same_versions(problem: of.SameVersions) -> str:
    same = "; ".join(
        f"{one.baseline} for {problem.baseline}, {one.candidate} for {problem.candidate}, and both have {one.installed}"
        for one in problem.versions
    )
    return (
        f"the two sides were asked for different versions and have the same: {same}\n"
        "  name versions that differ; for an A/A test, name the same on both sides"
    )


@text.register
def _other_files(problem: of.OtherFiles) -> str:
    return (
        f"{', '.join(problem.modules)}: imported from {problem.repository}, as it is, and not from the revision"
        f" {problem.revision}\n  workers find a revision's modules in its root, in src, and in the folders of the"
        " framework's builder: name their folder there, Framework(folders=…)"
    )


@text.register
def _other_threads(problem: of.OtherThreads) -> str:
    return f"{problem.requested} threads were requested, but {problem.framework} uses {problem.found}"


@text.register
def _other_device(problem: of.OtherDevice) -> str:
    if not problem.found:
        return f"{problem.framework} does not report what it computes on: its Trainer lacks computes_on()"
    found = f"{problem.found}: {problem.name or 'without a name'}"
    requested = problem.requested if ":" in problem.requested else f"a {problem.requested}"
    return f"{requested} was requested, but {problem.framework} computes on a {found}"


@text.register
def _other_library(problem: of.OtherLibrary) -> str:
    calls = [f"{name}: {kind} ×{count}" for name, kinds in problem.calls.items() for kind, count in kinds.items()]
    reported = ", ".join(calls) or "no calls of oneDNN or MKL"
    return (
        f"library={problem.requested} was requested, but {problem.framework} does not compute this network with it;"
        f" libraries report in a step: {reported}"
    )


# What it built or computed is not what it should be


@text.register
def _other_parameters(problem: of.OtherParameters) -> str:
    differing = sorted([*problem.built.items(), *problem.expected.items()])
    return f"the parameters of the built network differ from those of {problem.model}: {differing}"


@text.register
def _other_output(problem: of.OtherOutput) -> str:
    return f"one example gives an output of {problem.found}, {problem.model} has {problem.expected}"


@text.register
def _other_outputs(problem: of.OtherOutputs) -> str:
    return (
        f"with the same weights and examples, outputs differ by {problem.deviation:.1e} from those of"
        f" {problem.reference}; the bound is {problem.bound:.1e}"
    )


@text.register
def _off_reference(problem: of.OffReference) -> str:
    deviation = "nan" if problem.deviation is None else f"{problem.deviation:.1e}"
    why = f": 2⁻²⁴·√n for sums of n = {problem.products:,.0f} products" if problem.products else ""
    return (
        f"the {problem.array} of its pass {problem.operator_pass} differs from NumPy's in float64 by {deviation} of the"
        f" largest number; the bound is {problem.bound:.1e}{why}"
    )


@text.register
def _not_finite(problem: of.NotFinite) -> str:
    match problem.figure:
        case "loss":
            return f"the loss became {problem.value} at step {problem.step} of {problem.steps}"
        case "test_loss" | "validation_loss":
            is_last = problem.step == problem.steps
            where = "after training" if is_last else f"after step {problem.step} of {problem.steps}"
            return f"the {problem.figure.replace('_', ' ')} {where} is {problem.value}"
        case "reported":
            return f"the {problem.name} after {problem.steps} steps is {problem.value}"
        case "output":
            return "not all outputs are finite numbers"


@text.register
def _steps_missing(problem: of.StepsMissing) -> str:
    if problem.unit == "loop":
        return (
            f"main(run) ended after {problem.reported} of {problem.requested} steps; train for run.total_steps,"
            f" or measure fewer: dlbench.measure(..., steps={problem.reported})"
        )
    reported = f"the worker reported {problem.reported} with {problem.examples} examples"
    return f"{problem.requested} {problem.unit} were requested, {reported}"


@text.register
def _calls_missing(problem: of.CallsMissing) -> str:
    requested = f"{problem.requested} calls of {', '.join(problem.passes)} and the probes {', '.join(problem.probes)}"
    reported = ", ".join(f"{count} of {name}" for name, count in problem.reported.items())
    probes = ", ".join(problem.reported_probes)
    return f"{requested} were requested, the worker reported {reported} and {probes}"


@text.register
def _no_number_of_samples(problem: of.NoNumberOfSamples) -> str:
    return f"main(run) reported {problem.name}={problem.reported:g}; expected a whole number of at least 1"


# Sanity checks


@text.register
def _too_fast(problem: of.TooFast) -> str:
    return (
        f"impossible: {problem.share:.0%} of the arithmetic that this machine is capable of"
        f" (limit {problem.limit:.0%}); steps do less than the network has, or their clock stops too early"
    )


@text.register
def _above_data_sheet(problem: of.AboveDataSheet) -> str:
    return (
        f"impossible: a large product in {problem.precision} ran at {problem.measured / 1e12:.1f} TFLOP/s, the data"
        f" sheet of this GPU has {problem.published / 1e12:.1f}; steps do not wait for their work, or numbers are"
        " rounded to TF32 although that is not set"
    )


@text.register
def _loss_below_bound(problem: of.LossBelowBound) -> str:
    bound = f"this loss cannot be below {problem.bound:g}"
    return f"impossible: the loss is {problem.loss:g} at step {problem.step}, but {bound}"


@text.register
def _losses_repeat(problem: of.LossesRepeat) -> str:
    if problem.loss is None:
        of_all = f"{problem.repeated} of {problem.steps - 1} steps report the loss of the step before"
        return f"impossible: {of_all}, to the last digit; some steps {NOT_OWN_LOSS}"
    advice = " (return 0.0 if there is none)" if problem.is_of_program else ""
    constant = f"the loss is {problem.loss:g} in each of {problem.steps} steps"
    return f"impossible: {constant}, to the last digit; steps {NOT_OWN_LOSS}{advice}"


@text.register
def _steps_change_nothing(problem: of.StepsChangeNothing) -> str:
    if problem.test_loss:
        return (
            f"impossible: {problem.steps} more steps leave the test loss at {problem.test_loss} to the last digit;"
            " steps do not touch the weights (or the learning rate is 0)"
        )
    return (
        f"impossible: {problem.unchanged} of {problem.steps} more steps, taken one by one, changed no parameter;"
        " steps are asked for, and not all of them train"
    )


@text.register
def _not_resumed(problem: of.NotResumed) -> str:
    expected, found = problem.losses
    where, part = (f"in step {problem.step}", "optimiser's state") if problem.step else ("on test examples", "model")
    # A loss that is not finite, or missing, is wrong by any bound.
    bound = f"where at most {problem.bound:g} is allowed"
    apart = "" if problem.deviation is None else f": a relative difference of {problem.deviation:.2g}, {bound}"
    return (
        f"training that goes on from a checkpoint ({problem.mechanism}) in a fresh process has the loss {found} {where}"
        f" instead of {expected}{apart}; does the checkpoint lack a part of the {part}?"
    )


@text.register
def _evaluation_varies(problem: of.EvaluationVaries) -> str:
    first, second = problem.losses
    if not problem.is_checked:
        return f"evaluated twice: loss {first}, then {second}; is dropout left on?"
    return (
        f"impossible: the same weights give a test loss of {first}, and then of {second};"
        " evaluation changes with repetition (dropout left on?)"
    )


@text.register
def _not_awaited(problem: of.NotAwaited) -> str:
    if problem.unit == "steps":
        return (
            f"impossible: {problem.count} steps ended after {problem.seconds:.3f} s, but the evaluation after them took"
            f" {problem.after_seconds:.3f} s and alone takes {problem.alone_seconds:.3f} s; a step {NOT_AWAITED}"
        )
    return (
        f"impossible: of its pass {problem.operator_pass}, {problem.count} calls ended after {problem.seconds:.4f} s,"
        f" but a copy of the last result took {problem.after_seconds:.4f} s, and again takes"
        f" {problem.alone_seconds:.4f} s; a call {NOT_AWAITED}"
    )


@text.register
def _not_double(problem: of.NotDouble) -> str:
    return (
        f"impossible: {problem.steps} steps took {problem.seconds:.3f} s and {2 * problem.steps} took"
        f" {problem.double_seconds:.3f} s, which is far from 1:2; steps are not all done, or not alike"
    )


# The machine, and its hosts


@text.register
def _device_busy(problem: of.DeviceBusy) -> str:
    limit = f"within {problem.limit_seconds:g} s" if problem.limit_seconds else "at once"
    use = users(problem.holders)
    return f"{problem.device} did not become free {limit}: {use}; --dlbench-wait=TIME waits longer"


@text.register
def _machine_lost(problem: of.MachineLost) -> str:
    match problem.cause:
        case "silent":
            return f"{problem.host} has not answered for {problem.silent_seconds:g} s"
        case "engine":
            return f"{problem.host} was lost: {problem.said}"
        case "ended":
            return f"{problem.host}: {problem.said}"
        case "none_left" if problem.engine == "slurm":
            return f"SLURM gives no other node: {problem.said}"
        case "none_left":
            return f"the Ray cluster has no {'other ' * problem.is_repetition}node with CPUs"


# Several workers


@text.register
def _workers_differ(problem: of.WorkersDiffer) -> str:
    ranks = " and ".join(map(str, problem.ranks))
    match problem.aspect:
        case "versions":
            listed = (f"{name} {one or 'none'} and {two or 'none'}" for name, (one, two) in problem.versions.items())
            return f"the workers {ranks} of {problem.workers} have different versions: {', '.join(listed)}"
        case "shapes":
            return "the workers have built networks of different shapes"
        case "steps":
            return f"the workers took different numbers of steps: {', '.join(map(str, problem.steps))}"
        case "weights":
            whose = f"the weights of worker {ranks} of {problem.workers} are not those of worker 1"
            return f"after training, {whose}: their gradients were not exchanged in every step"


@text.register
def _of_workers(problem: of.OfWorkers) -> str:
    ranks = " and ".join(map(str, problem.ranks))
    said = _either(problem.problem, problem.said)
    return f"worker{'s' * (len(problem.ranks) > 1)} {ranks} of {problem.workers}: {said}"


@text.register
def _nothing_found(problem: of.NothingFound) -> str:
    within = f"within {problem.budget_seconds:g} s of processor time"
    last = f"{problem.outcome} {_either(problem.problem, problem.said)}".rstrip()
    return f"seed {problem.seed}: none of {problem.trials} trials finished {within}; the last one: {last}"
