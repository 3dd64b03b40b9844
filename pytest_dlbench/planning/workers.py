"""Several data-parallel workers of one run: what they can train, and what they compute unlike one worker."""

from collections.abc import Iterator

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.frameworks import OURS
from pytest_dlbench.environments.programs import lacking
from pytest_dlbench.environments.supports import (
    ONE_PROCESS,
    exact_exchanges,
    exchanges,
    has_workers,
    of_each_worker,
    placements,
    shared_operators,
)
from pytest_dlbench.model import Network, Purpose, Recipe
from pytest_dlbench.records import Case
from pytest_dlbench.records.reasons import OfEachWorker

# What depends on the other examples of a batch, or on random numbers that each worker draws: layers, and losses divided
# by a number of labels or samples that differs from part to part. A framework's workers compute it otherwise, unless
# its module ``parallel`` names what they do.
OF_EACH = ("batch_norm", "dropout", "detections", "ignored_labels")
# Why a framework has nothing that divides a batch among several devices of the processor in one process, by the folder
# of its builder.
NOT_IN_ONE_PROCESS = {
    "pytorch": "DataParallel of PyTorch divides batches among GPUs only, and other exchanges need a process each",
    "paddle": "DataParallel of Paddle has a process for each device",
    "chainer": "ParallelUpdater of Chainer computes the parts of a batch one after the other on processors",
    "keras_torch": "DataParallel of PyTorch divides batches among GPUs only, and other exchanges need a process each",
}


def refusal(case: Case, cores: int, framework: Framework, recipe: Recipe, purpose: Purpose) -> str:
    """Why the workers of a case cannot train it; empty if they can, or if there is one."""
    return next(_refusals(case, cores, framework, recipe, purpose), "") if case.workers > 1 else ""


def unequal(case: Case, network: Network, framework: Framework) -> str:
    """Why the mean of the workers' gradients would not be the gradient of the batch's loss; empty if it is."""
    unlike = unlike_one(case, network, framework)
    if unlike is None or "ignored_labels" not in unlike.kinds:
        return ""
    return (
        f"some labels are ignored, and each worker of {framework.name} divides its loss by the number of the others in"
        " its part of the batch, which differs from part to part"
    )


def _refusals(case: Case, cores: int, framework: Framework, recipe: Recipe, purpose: Purpose) -> Iterator[str]:
    workers = case.workers
    if purpose != "training":
        yield "several workers train; they do not infer"
    in_one = {"is_one_process": _is_one_process(case)}
    if not has_workers(framework, **in_one):
        yield _without_workers(framework, **in_one)
    elif (exchange := _exchange(case)) != "full" and exchange not in exchanges(framework, **in_one):
        known = ", ".join(sorted({"full", *exchanges(framework, **in_one)}))
        yield f"exchange={exchange}: the workers of {framework.name} have no such exchange, only {known}"
    yield from _unplaced(case, cores)
    if recipe.batch_size % workers:
        yield f"a batch of {recipe.batch_size} cannot be cut into {workers} parts of one size"
    if recipe.accumulation > 1:
        yield f"several workers do not accumulate gradients: accumulation={recipe.accumulation}"


def of_operator(case: Case, cores: int, framework: Framework, kind: str) -> str:
    """Why the workers of a case cannot compute an operator together; empty if they can."""
    if kind not in shared_operators(framework):
        return f"the workers of {framework.name} have no operator {kind} (OPERATORS of a module parallel)"
    if case.workers == 1:
        return f"an operator {kind} needs several workers: --dlbench-workers=2"
    return next(_unplaced(case, cores), "")


def _unplaced(case: Case, cores: int) -> Iterator[str]:
    """Why the workers have no place on the device."""
    workers, threads = case.workers, case.threads
    if case.device != "cpu":
        yield f"several workers compute on the CPU only, not on {case.device}"
    if threads * workers > cores:
        needed = (
            f"{workers} workers with {threads} thread{'s' * (threads > 1)} each need {threads * workers} processors"
        )
        yield f"{needed} of their own, and there are {cores}"


def _without_workers(framework: Framework, *, is_one_process: bool) -> str:
    """Why a framework has no workers, or none that are devices of one process."""
    if not is_one_process:
        return f"the builder of {framework.name} has no module parallel: its workers cannot exchange gradients"
    parts = framework.builder.removeprefix(f"{OURS}.").split(".")
    name = f"{parts[0]}_{framework.backend}" if framework.backend else parts[0]
    reason = NOT_IN_ONE_PROCESS.get(name, f"the builder of {framework.name} has no module devices")
    return f"placement={ONE_PROCESS}: {reason}"


def cannot_meet(case: Case, framework: Framework, *, is_elsewhere: bool) -> str:
    """What the workers of a case need, in addition to the framework, and this machine lacks; empty if nothing.

    What other hosts have is found out there.
    """
    if case.workers == 1 or is_elsewhere or _is_one_process(case):
        return ""
    return lacking(f"several workers of {framework.name}", framework.programs_of_workers)


def not_spread(framework: Framework, *, is_elsewhere: bool) -> str:
    """Why workers cannot be on a host each; empty if they can."""
    if not is_elsewhere:
        return "placement=spread needs hosts of a cluster: --dlbench-on=ray or --dlbench-on=srun"
    if "spread" not in placements(framework):
        return f"the workers of {framework.name} meet on one host only: placement=spread is not shown to work with it"
    return ""


def undecided(recipe: Recipe, hosts: int) -> str:
    """Why workers could disagree on when to stop; empty if they cannot."""
    if recipe.patience is None or hosts == 1:
        return ""
    return f"patience={recipe.patience}: each host would decide by itself when to stop, and they could disagree"


def uncertifiable(case: Case, network: Network, framework: Framework) -> str:
    """Why the losses of several workers cannot be those of one; empty if they must be, or for one worker."""
    exact = {"full", *exact_exchanges(framework, is_one_process=_is_one_process(case))}
    if case.workers > 1 and (exchange := _exchange(case)) not in exact:
        return f"the exchange is lossy: exchange={exchange} changes the gradients"
    unlike = unlike_one(case, network, framework)
    kinds = " and ".join(unlike.kinds) if unlike else ""
    return f"{kinds}: each of {case.workers} workers computes it of its part of the batch" if kinds else ""


def _exchange(case: Case) -> str:
    """How the workers exchange gradients."""
    return str(case.settings.get("exchange", "full"))


def _is_one_process(case: Case) -> bool:
    """Whether the workers are devices of one process."""
    return case.settings.get("placement") == ONE_PROCESS


def unlike_one(case: Case, network: Network, framework: Framework) -> OfEachWorker | None:
    """What makes the losses of several workers differ from those of one by design; None if nothing does."""
    named = of_each_worker(framework, is_one_process=_is_one_process(case))
    described = network.as_json()
    found = {layer["kind"] for layer in described["layers"]}
    found |= {"ignored_labels"} if described.get("ignored") is not None else set()
    kinds = tuple(kind for kind in OF_EACH if kind in found and (named is None or kind in named))
    return OfEachWorker(kinds=kinds, workers=case.workers) if kinds and case.workers > 1 else None
