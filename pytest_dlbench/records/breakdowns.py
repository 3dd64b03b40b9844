"""What a step consists of: a measurement of its own, after the steps that are timed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dlbench.records.reasons import PhaseNotAwaited, PhasesDoNotAddUp, Undivided

StepPhase = Literal["input", "forward", "backward", "forward_backward", "exchange", "backward_exchange", "update"]
"""A phase of a step, in the order in which they come; not to be confused with the phases of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSeconds:
    """The seconds of a layer of the network in several passes: forward, and backward for all of its gradients.

    The last one, "loss", is the loss with its gradient.
    """

    name: str
    kind: str
    forward_seconds: tuple[float, ...]
    backward_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Alternating whole steps and steps in phases, taken after training; each phase was waited for.

    ``step_seconds`` are whole steps, ``phase_seconds`` those of each phase in the steps between them. ``copy_seconds``
    are of a few more steps: pairs of seconds, copying the results of a phase as soon as it was waited for, and once
    more. ``undivided`` says why a framework cannot be stopped between phases; all else is empty then. ``flaw`` says why
    the phases are not those of the step: they do not add up to it, or one was not waited for. ``layers`` are those of
    the network, each waited for in passes that followed the steps in phases, if they were asked for; ``no_layers`` says
    why there are none.
    """

    step_seconds: tuple[float, ...] = ()
    phase_seconds: Mapping[StepPhase, tuple[float, ...]] = field(default_factory=dict)
    copy_seconds: Mapping[StepPhase, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    undivided: Undivided | None = None
    flaw: PhasesDoNotAddUp | PhaseNotAwaited | None = None
    layers: tuple[LayerSeconds, ...] = ()
    no_layers: Undivided | None = None
