"""The product of two matrices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pytest_dlbench.model.operators.operator import Operator
from pytest_dlbench.model.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class GEMM(Operator):
    """``weights @ data``, m × k times k × n, where either may be kept transposed."""

    kind: ClassVar[str] = "gemm"
    m: int
    n: int
    k: int
    transposes_weights: bool = False
    transposes_data: bool = False

    @property
    def transposition(self) -> str:
        """As BLAS writes it: "n" or "t" for the weights, and for the data."""
        return "nt"[self.transposes_weights] + "nt"[self.transposes_data]

    @property
    def size(self) -> str:
        """Sizes as DeepBench has them: m, n, k, and the transpositions."""
        return f"gemm-{self.m}x{self.n}x{self.k}-{self.transposition}"

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """As they are kept in memory."""
        weights, data = (self.m, self.k), (self.k, self.n)
        return {
            "data": data[::-1] if self.transposes_data else data,
            "weights": weights[::-1] if self.transposes_weights else weights,
        }

    @property
    def output(self) -> Shape:
        """M × n."""
        return self.m, self.n

    @property
    def multiply_adds(self) -> int:
        """One for each element of the output and k."""
        return self.m * self.n * self.k

    @property
    def fan_in(self) -> int:
        """The inner size."""
        return self.k
