"""What computes recurrent layers: two sides with other kernels are compared in these, too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_dlbench.judging.counts import CAUSED
from pytest_dlbench.records import CaseResult, RecurrentKernel, Run
from pytest_dlbench.records.reasons import KernelsChanged

Kernels = Mapping[str, RecurrentKernel]


def of_runs(runs: Sequence[Run]) -> Kernels:
    """The kernels on which all of these runs agree; empty if they do not, or if they are unknown."""
    known = [run.recurrent_kernels or {} for run in runs]
    return known[0] if known and all(found == known[0] for found in known) else {}


def change(old: Kernels, new: Kernels, *, are_named_alike: bool = True) -> KernelsChanged | None:
    """How the kernels of two sides differ; None if they do not, or if those of a side are unknown.

    Only kinds are compared of frameworks that do not name their kernels alike.
    """
    differ = dict(old) != dict(new) if are_named_alike else set(old.values()) != set(new.values())
    return KernelsChanged(baseline=old, candidate=new) if old and new and differ else None


def with_change(result: CaseResult, found: KernelsChanged | None) -> CaseResult:
    """The result with changed kernels: among the reasons of what got worse, and otherwise as a notice."""
    if found is None:
        return result
    if result.outcome in CAUSED:
        return replace(result, reasons=(*result.reasons, found))
    return replace(result, cautions=(*result.cautions, found))
