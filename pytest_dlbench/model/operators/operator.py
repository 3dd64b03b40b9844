"""What every operator has: its arrays, its passes, and what these compute, read and write."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod, sqrt
from typing import Any, ClassVar, Literal, get_args

from pytest_dlbench.model.shapes import Shape

Pass = Literal["forward", "backward_data", "backward_weights", "backward", "forward_backward"]
PASSES: Sequence[Pass] = get_args(Pass)
# The largest difference from NumPy's values in float64, relative to the largest number of an array. Every addition in
# float32 rounds by up to 2⁻²⁴, and the errors of n additions add up as their square root: sums of more than some 28,000
# products reach the bound by rounding alone.
BOUND, ROUNDING = 1e-5, 2**-24
# A multiplication and an addition.
FLOPS = 2
# Of float32, in which all operators compute.
NUMBER_BYTES = 4

RESULTS: Mapping[Pass, tuple[str, ...]] = {
    "forward": ("output",),
    "backward_data": ("data",),
    "backward_weights": ("weights",),
    "backward": ("data", "weights"),
    "forward_backward": ("output", "data", "weights"),
}
"""What each pass computes: the output, and the gradients by the data and by all arrays of weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(ABC):
    """One operator of certain sizes, in float32.

    With ``is_trained`` its gradients are computed, too, for an output's gradient that is given.
    """

    kind: ClassVar[str]
    is_trained: bool = True

    @property
    @abstractmethod
    def size(self) -> str:
        """Its kind and sizes in short, such as ``gemm-1760x16x1760-nn``."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, Shape]:
        """The shapes of the arrays that it reads: "data", "weights", and of recurrent ones "recurrent"."""

    @property
    @abstractmethod
    def output(self) -> Shape:
        """The shape of its output."""

    @property
    @abstractmethod
    def multiply_adds(self) -> int:
        """The multiplications, each with an addition, of the forward pass."""

    @property
    @abstractmethod
    def fan_in(self) -> int:
        """How many products each number of the output sums up."""

    @property
    def name(self) -> str:
        """Its name in cases and reports."""
        return self.size if self.is_trained else f"{self.size}-forward"

    def as_json(self) -> dict[str, Any]:
        """The operator in the form that workers receive."""
        return {"kind": self.kind, **asdict(self)}

    @property
    def digest(self) -> str:
        """A hash of what is computed."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()[:16]

    def results(self, name: Pass) -> tuple[str, ...]:
        """The names of the arrays that a pass computes, in their order."""
        weights = tuple(part for part in self.shapes if part != "data")
        return tuple(part for one in RESULTS[name] for part in (weights if one == "weights" else (one,)))

    def products(self, part: str) -> float:
        """How many products each number of an array that it computes sums up, on average."""
        sizes = {"output": prod(self.output), "data": prod(self.shapes["data"])}
        weights = sum(prod(shape) for name, shape in self.shapes.items() if name != "data")
        return self.multiply_adds / sizes.get(part, weights)

    def bound(self, part: str) -> float:
        """How far an array that it computes may be from its values in float64, relative to the largest number."""
        return max(BOUND, ROUNDING * sqrt(self.products(part)))

    def bounds(self, name: Pass) -> dict[str, float]:
        """The bounds of the arrays that a pass computes."""
        return {part: self.bound(part) for part in self.results(name)}

    def flops(self, name: Pass) -> float:
        """The floating-point operations of a pass: each gradient takes as many as the output."""
        return float(FLOPS * self.multiply_adds * len(RESULTS[name]))

    def least_bytes(self, name: Pass) -> float:
        """The bytes of all arrays that a pass has to read and to write, each once."""
        sizes = {part: prod(shape) for part, shape in self.shapes.items()}
        weights = sum(size for part, size in sizes.items() if part != "data")
        every = {"data": sizes["data"], "weights": weights, "output": prod(self.output)}
        written = sum(every[part] for part in RESULTS[name])
        # A linear operator's gradient by one operand is made of the other one and of the output's gradient.
        unread = {"backward_data": "data", "backward_weights": "weights"}.get(name, "")
        gradient = 0 if name == "forward" else every["output"]
        read = sum(every[part] for part in ("data", "weights") if part != unread) + gradient
        return float(NUMBER_BYTES * (read + written))

    @property
    def bus_bytes(self) -> float:
        """The bytes that each of several workers has to send; 0 for an operator of one."""
        return 0.0

    @property
    def total_bytes(self) -> int:
        """The bytes of all of its arrays and its output, in float32."""
        return NUMBER_BYTES * (sum(map(prod, self.shapes.values())) + prod(self.output))
