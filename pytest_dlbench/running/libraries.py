"""Whether the library that a recipe asks for computes, by the calls that libraries report."""

from collections.abc import Mapping

from pytest_dlbench.model.recipe import Library
from pytest_dlbench.records.problems import OtherLibrary

# oneDNN's calls that move numbers, and the product that Eigen's kernels take from oneDNN in TensorFlow.
NOT_KERNELS = frozenset({"gemm_api", "reorder"})
# The library by whose report each is recognised; Eigen and OpenBLAS report nothing.
REPORTED_AS: Mapping[Library, str] = {"onednn": "onednn", "ideep": "onednn", "mkl": "mkl"}
# What may compute a part of a step, too: products of PyTorch with oneDNN, and of iDeep, are MKL's.
BESIDES: Mapping[Library, frozenset[str]] = {"onednn": frozenset({"mkl"}), "ideep": frozenset({"mkl"})}


def other_library(framework: str, requested: Library, calls: Mapping[str, Mapping[str, int]]) -> OtherLibrary | None:
    """Why another library computes than the one that was requested; None if it is the one."""
    computing = {name for name, kinds in calls.items() if set(kinds) - NOT_KERNELS}
    expected = {REPORTED_AS[requested]} if requested in REPORTED_AS else set()
    if expected <= computing <= expected | BESIDES.get(requested, frozenset()):
        return None
    return OtherLibrary(framework=framework, requested=requested, calls=calls)
