"""Learning-rate schedules: the factor on the optimiser's rate at every step.

The driver resolves a schedule to one rate for each step, so that a framework has nothing to interpret.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import cos, inf, pi
from typing import ClassVar

from pytest_dlbench.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Progress of training: the step, from 0, also in epochs and as a share of all steps."""

    step: int
    epoch: float
    share: float
    steps: int


@dataclass(frozen=True, slots=True)
class StepDecay:
    """Multiplies by ``factor`` after each of ``epochs``, as in ``StepDecay(0.1, (30, 60))``, or each of ``steps``."""

    kind: ClassVar[str] = "step_decay"
    factor: float
    epochs: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        places = (0.0, *self.epochs, *self.steps)
        if (
            not 0 < self.factor < inf
            or bool(self.epochs) == bool(self.steps)
            or any(a >= b for a, b in pairwise(places))
        ):
            raise ModelError(f"StepDecay needs a factor above 0 and increasing epochs or steps above 0, got {self}")

    def at(self, moment: Moment) -> float:
        """The factor at a step."""
        passed = [moment.epoch >= epoch for epoch in self.epochs] + [moment.step >= step for step in self.steps]
        return float(self.factor ** sum(passed))


@dataclass(frozen=True, slots=True)
class Cosine:
    """Half a cosine from 1 to ``last`` over the whole training (Loshchilov & Hutter 2017, without restarts)."""

    kind: ClassVar[str] = "cosine"
    last: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.last < 1:
            raise ModelError(f"Cosine needs a last factor of at least 0 and below 1, got {self.last!r}")

    def at(self, moment: Moment) -> float:
        """The factor at a step."""
        return self.last + (1 - self.last) * (1 + cos(pi * moment.share)) / 2


@dataclass(frozen=True, slots=True)
class WarmUpCosine:
    """Rises in equal steps to 1 in the first ``warm_up`` of training, then falls as half a cosine to ``last``.

    ``warm_up`` is a share of all steps, so that short trainings warm up and decay, too. The first step has a rate above
    0, the last one of the warm-up has the whole rate.
    """

    kind: ClassVar[str] = "warm_up_cosine"
    warm_up: float
    last: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.warm_up < 1 or not 0 <= self.last < 1:
            raise ModelError(
                f"WarmUpCosine needs a warm-up above 0 and below 1 and a last factor of at least 0 and below 1, got"
                f" {self}"
            )

    def at(self, moment: Moment) -> float:
        """The factor at a step."""
        if moment.share < self.warm_up:
            return min(1.0, (moment.step + 1) / (self.warm_up * moment.steps))
        progress = (moment.share - self.warm_up) / (1 - self.warm_up)
        return self.last + (1 - self.last) * (1 + cos(pi * progress)) / 2


@dataclass(frozen=True, slots=True)
class InverseTime:
    """``(1 + gamma·step)^-power``: Caffe's "inv" policy; with power 1, the decay of Keras 2."""

    kind: ClassVar[str] = "inverse_time"
    gamma: float
    power: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.gamma < inf or not 0 < self.power < inf:
            raise ModelError(f"InverseTime needs gamma and power above 0, got {self}")

    def at(self, moment: Moment) -> float:
        """The factor at a step."""
        return float((1 + self.gamma * moment.step) ** -self.power)


Schedule = StepDecay | Cosine | WarmUpCosine | InverseTime
