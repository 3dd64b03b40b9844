"""One recurrent layer over a batch of sequences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_dlbench.model.operators.operator import Operator
from pytest_dlbench.model.shapes import Shape

Cell = Literal["rnn", "lstm", "gru"]
GATES: Mapping[Cell, int] = {"rnn": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent(Operator):
    """All outputs of a layer with as many inputs as units, without biases, from a first state of zeros.

    The ``cell`` is "rnn" (with tanh), "lstm" (gates in the order input, forget, cell, output), or "gru" (reset, update,
    new; the reset gate applies to the recurrent product, as in cuDNN). The data are steps × batch × inputs, and both
    arrays of weights gates·units × inputs.
    """

    kind: ClassVar[str] = "recurrent"
    cell: Cell
    units: int
    batch: int
    steps: int

    @property
    def size(self) -> str:
        """Sizes as DeepBench has them: units, batch and steps."""
        return f"{self.cell}-{self.units}-n{self.batch}-t{self.steps}"

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """The sequences, and weights for the input and the last output."""
        weights = (GATES[self.cell] * self.units, self.units)
        return {"data": (self.steps, self.batch, self.units), "weights": weights, "recurrent": weights}

    @property
    def output(self) -> Shape:
        """The outputs of all steps."""
        return self.steps, self.batch, self.units

    @property
    def multiply_adds(self) -> int:
        """Of both products in all steps, which DeepBench's own program halves: it skips that with the input."""
        return self.steps * self.batch * GATES[self.cell] * self.units * 2 * self.units

    @property
    def fan_in(self) -> int:
        """Inputs and outputs."""
        return 2 * self.units
