"""From a single operator to the spec of its runs."""

from collections.abc import Mapping
from dataclasses import replace

from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.supports import operators
from pytest_dlbench.errors import OptionError
from pytest_dlbench.model.operators import GEMM, AllReduce, Convolution, Operator
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Case
from pytest_dlbench.running.run_spec import OperatorSpec

LABEL = "operator"
# As many calls as have this much arithmetic in forward passes together, within these numbers: half a
# second on two cores at scale quick.
CALLED_FLOPS: Mapping[str, float] = {"smoke": 2e9, "quick": 5e9, "full": 1e11}
FEWEST_CALLS, MOST_CALLS = 10, 200
# Of an all-reduce, as many as have these bytes of a worker's array together: it has hardly any arithmetic.
CALLED_BYTES: Mapping[str, float] = {"smoke": 5e7, "quick": 5e8, "full": 1e10}
# What a framework reaches in large operators: a product, which libraries tune most, and convolutions, which may be
# faster than it because there are algorithms with less arithmetic. Tens of milliseconds on a processor.
PROBES: Mapping[str, Operator] = {
    "gemm": GEMM(m=1024, n=1024, k=512),
    "convolution": Convolution(
        image=(28, 28), channels=128, batch=2, filters=128, kernel=(3, 3), padding=(1, 1), stride=(1, 1)
    ),
    "convolution-1x1": Convolution(
        image=(14, 14), channels=512, batch=8, filters=512, kernel=(1, 1), padding=(0, 0), stride=(1, 1)
    ),
}
# A GPU is busy with those for less time than a call takes.
PROBES_OF_GPUS: Mapping[str, Operator] = {
    "gemm": GEMM(m=4096, n=4096, k=4096),
    "convolution": Convolution(
        image=(56, 56), channels=256, batch=32, filters=256, kernel=(3, 3), padding=(1, 1), stride=(1, 1)
    ),
}


def operator_spec(
    settings: RunSettings,
    operator: Operator,
    framework: Framework,
    device: Device,
    *,
    label: str = LABEL,
    changes: tuple[Change, ...] = (),
) -> OperatorSpec:
    """How an operator is run; raises OptionError for settings of a recipe, which it does not have.

    ``changes`` are those of a side of a comparison. If the framework lacks the operator, the spec has no place to run.
    """
    if found := (*settings.changes, *changes):
        where = "--dlbench-ab: set:" if changes else "--dlbench-set "
        raise OptionError(f"{where}{found[0].name}: an operator has no recipe; it computes in float32")
    framework = framework.on(device.name)
    probes = PROBES if device.name == "cpu" else PROBES_OF_GPUS
    known, case = operators(framework) or frozenset(), _case(settings, operator, framework, device, label)
    if isinstance(operator, AllReduce):
        operator = replace(operator, workers=max(2, settings.workers))
        probes, refusal = {}, settings.unshared(case, framework, operator.kind)
    else:
        refusal = _refusal(framework, operator, known, settings.workers)
    return OperatorSpec(
        case=case,
        framework=framework,
        place=settings.place(framework, device, refusal),
        operator=operator,
        probes={name: probe for name, probe in probes.items() if probe.kind in known},
        steps=calls(operator, settings.scale),
        seed=settings.seed,
        timeout_seconds=settings.timeout_seconds,
        purpose="operator",
        allocator=settings.allocator,
        wait_seconds=settings.wait_seconds,
        hourly_price=settings.hourly_price,
        gpu_numbers=device.numbers,
    )


def calls(operator: Operator, scale: str) -> int:
    """How often each pass is called, apart from the first call, which compiles."""
    if isinstance(operator, AllReduce):
        wanted = CALLED_BYTES[scale] / operator.least_bytes("forward")
    else:
        wanted = CALLED_FLOPS[scale] / operator.flops("forward")
    return max(FEWEST_CALLS, min(MOST_CALLS, int(wanted)))


def _refusal(framework: Framework, operator: Operator, known: frozenset[str], workers: int) -> str:
    """Why a framework cannot run an operator; empty if it can."""
    if framework.unsupported:
        return framework.unsupported
    if not known:
        return f"the builder of {framework.name} has no single operators (a module operators)"
    if operator.kind not in known:
        return f"the builder of {framework.name} has no operator {operator.kind}"
    return "several workers train; they do not share an operator" if workers > 1 else ""


def _case(settings: RunSettings, operator: Operator, framework: Framework, device: Device, label: str) -> Case:
    parts = (label, framework.name, operator.name, device.in_id, settings.scale, *settings.processors_id)
    return Case(
        id="-".join(parts),
        framework=framework.name,
        model=operator.name,
        dataset="",
        device=device.name,
        scale=settings.scale,
        threads=settings.threads,
        revision=framework.checkout.revision if framework.checkout else None,
        variables=dict(framework.more_variables),
        workers=settings.workers,
    )
