"""Why a framework cannot turn a setting of execution on, known before it is imported."""

from collections.abc import Collection, Mapping

from pytest_dlbench.environments import libraries
from pytest_dlbench.environments.frameworks import OURS, Framework
from pytest_dlbench.environments.supports import supports

# What processors do not have.
OF_GPUS: Mapping[str, str] = {
    "autotune": "it chooses cuDNN's algorithms",
    "cuda_graphs": "they launch kernels on a GPU",
    "tf32": "it is a format of NVIDIA's GPUs",
}
_CHANNELS_FIRST = "all layers that the builder uses are channels first"
_NO_SWITCH = "the framework has no switch for it"
_NOT_CAPTURED = "the framework calls each operator of a step, and captures no graph"
# By the folder of the builder, or by the framework where its back ends differ.
REASONS: Mapping[str, Mapping[str, str]] = {
    "pytorch": {"cuda_graphs": f"{_NOT_CAPTURED}; pytorch-compile does"},
    "tensorflow": {"cuda_graphs": f"{_NOT_CAPTURED}; tensorflow-xla does"},
    "keras-torch": {
        "channels_last": "Keras's channels-last pooling copies images to the other layout and back in PyTorch",
        "cuda_graphs": _NOT_CAPTURED,
    },
    "keras-tensorflow": {"cuda_graphs": "Keras chooses by itself what XLA compiles"},
    "paddle": {"channels_last": _CHANNELS_FIRST, "cuda_graphs": _NOT_CAPTURED, "tf32": _NO_SWITCH},
    "mxnet": {"channels_last": _CHANNELS_FIRST, "cuda_graphs": _NOT_CAPTURED, "tf32": _NO_SWITCH},
    "tinygrad": {
        "autotune": "it computes without cuDNN, by kernels of its own",
        "channels_last": _CHANNELS_FIRST,
        "deterministic": _NO_SWITCH,
    },
    "mlx": dict.fromkeys(("autotune", "cuda_graphs", "deterministic", "tf32"), _NO_SWITCH),
}
# Frameworks that choose algorithms by timing them unless they are asked not to. Without that, XLA names none to cuDNN:
# convolutions of tartu-mnist-cnn took up to 55 times as long on an H200.
AUTOTUNE_BY_THEMSELVES = frozenset(
    {"jax", "keras-jax", "keras-tensorflow", "mxnet", "mxnet-imperative", "tensorflow", "tensorflow-xla"}
)
# Frameworks whose switch for this is one of cuDNN or of XLA's code for GPUs.
DETERMINISTIC_ON_GPUS = frozenset({"jax", "keras-jax", "mxnet", "mxnet-imperative", "paddle"})


def autotunes(framework: Framework, device: str) -> bool:
    """Whether a framework chooses algorithms by timing them if a recipe does not say."""
    return device != "cpu" and framework.plain_name in AUTOTUNE_BY_THEMSELVES


def refusal(framework: Framework, device: str, execution: Collection[str]) -> str:
    """The reason, empty if it can turn all of them on, or if that is not known."""
    return next(filter(None, (_refusal(framework, device, name) for name in sorted(execution))), "")


def _refusal(framework: Framework, device: str, name: str) -> str:
    if name.startswith(libraries.PREFIX):
        return libraries.refusal(framework, device, name)
    if device == "cpu" and name in OF_GPUS:
        return f"{name}=true on a processor: {OF_GPUS[name]}"
    if device == "cpu" and name == "deterministic" and framework.plain_name in DETERMINISTIC_ON_GPUS:
        return f"{name}=true: {framework.name} has a switch for it on GPUs only"
    supported = supports(framework)
    reasons = REASONS.get(framework.plain_name) or REASONS.get(_folder(framework), {})
    # A variant in a builder's folder may have what others there lack.
    is_lacking = framework.plain_name in REASONS or supported is None or name not in supported
    return f"{name}=true: {framework.name} cannot: {reasons[name]}" if is_lacking and name in reasons else ""


def _folder(framework: Framework) -> str:
    package, _, rest = framework.builder.partition(f"{OURS}.")
    return rest.partition(".")[0] if not package else ""
