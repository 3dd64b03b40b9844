"""The library that computes convolutions and products on processors: which a framework can be asked for, and how."""

from collections.abc import Collection, Mapping

from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.supports import supports

PREFIX = "library="
_XLA = "XLA compiles its own code for processors, and has no switch between libraries"
_ONE = "its package has been built with {}, and with no other library"
# Why a framework has none of the libraries, or not all that its builder has for others. By its name.
REASONS: Mapping[str, str] = {
    "jax": _XLA,
    "keras-jax": _XLA,
    "tensorflow-xla": _XLA,
    "paddle": "its layers call MKL, with the flag for oneDNN, too",
    "tinygrad": "it compiles its own code",
    "mlx": _ONE.format("one BLAS"),
    "pytorch-1.0": "PyTorch 1.0 has no switch for oneDNN",
    "caffe2": _ONE.format("MKL"),
    "tensorflow1": _ONE.format("Eigen"),
    "keras2-tensorflow": _ONE.format("Eigen"),
    "keras2-theano": "its builder has no switch for it; that of theano has library=mkl and library=openblas",
    "lasagne": "its builder has no switch for it; that of theano has library=mkl and library=openblas",
    "keras2-cntk": _ONE.format("MKL"),
    "cntk": _ONE.format("MKL"),
}
# Of frameworks that share a builder, those of each: Keras has those of its back end.
OF_BACKENDS: Mapping[str, frozenset[str]] = {
    "keras-tensorflow": frozenset({"eigen", "onednn"}),
    "keras-torch": frozenset({"mkl", "onednn"}),
}
_TENSORFLOW = {"eigen": {"TF_ENABLE_ONEDNN_OPTS": "0"}, "onednn": {"TF_ENABLE_ONEDNN_OPTS": "1"}}
# Its builder's own variable: it links what Theano compiles to that BLAS.
_THEANO = {"mkl": {"DLBENCH_BLAS": "mkl"}, "openblas": {"DLBENCH_BLAS": "openblas"}}
_MXNET = {"openblas": {"MXNET_MKLDNN_ENABLED": "0"}, "onednn": {"MXNET_MKLDNN_ENABLED": "1"}}
# Variables that must be set before the framework is imported. By its name.
VARIABLES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "tensorflow": _TENSORFLOW,
    "keras-tensorflow": _TENSORFLOW,
    "mxnet": _MXNET,
    "mxnet-imperative": _MXNET,
    "theano": _THEANO,
    "theano-pymc": _THEANO,
}


def libraries(framework: Framework) -> frozenset[str] | None:
    """Those that a framework can be asked for; None where only running its builder would say."""
    name, supported = framework.plain_name, supports(framework)
    if name in REASONS:
        return frozenset()
    if supported is None:
        return None
    found = frozenset(entry.removeprefix(PREFIX) for entry in supported if entry.startswith(PREFIX))
    return found & OF_BACKENDS.get(name, found)


def refusal(framework: Framework, device: str, setting: str) -> str:
    """Why it cannot compute with a library ("library=onednn"); empty if it can, or if that is not known."""
    if device != "cpu":
        return f"{setting} on a GPU: it chooses between libraries of processors"
    known = libraries(framework)
    if known is None or setting.removeprefix(PREFIX) in known:
        return ""
    others = ", ".join(f"{PREFIX}{name}" for name in sorted(known))
    return f"{setting}: {framework.name} cannot: {f'it has {others}' if others else reason(framework)}"


def reason(framework: Framework) -> str:
    """Why it can be asked for no library; empty if it can."""
    none = libraries(framework) == frozenset()
    return REASONS.get(framework.plain_name, "its builder has no switch for it") if none else ""


def variables(framework: Framework, execution: Collection[str]) -> Mapping[str, str]:
    """The variables that choose the library among these settings of execution."""
    of_framework = VARIABLES.get(framework.plain_name, {})
    chosen = (of_framework.get(setting.removeprefix(PREFIX), {}) for setting in execution if setting.startswith(PREFIX))
    return {name: value for found in chosen for name, value in found.items()}
