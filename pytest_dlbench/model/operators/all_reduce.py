"""The sum of the arrays of several workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pytest_dlbench.model.operators.operator import NUMBER_BYTES, Operator, Pass
from pytest_dlbench.model.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce(Operator):
    """The sum of one array of each worker, which each of them gets.

    The data are workers × numbers: a row for each worker. Its one pass is "forward".
    """

    kind: ClassVar[str] = "all_reduce"
    is_trained: bool = False
    numbers: int
    workers: int = 2

    @property
    def size(self) -> str:
        """The numbers of one worker's array."""
        return f"all-reduce-{self.numbers}"

    @property
    def name(self) -> str:
        """The same: no all-reduce has gradients. The workers are elsewhere in a case's ID."""
        return self.size

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """The arrays of all workers."""
        return {"data": (self.workers, self.numbers)}

    @property
    def output(self) -> Shape:
        """That of one worker's array."""
        return (self.numbers,)

    @property
    def multiply_adds(self) -> int:
        """None: it only adds."""
        return 0

    @property
    def fan_in(self) -> int:
        """The workers."""
        return self.workers

    def products(self, part: str) -> float:  # noqa: ARG002 - there is one array
        """The numbers that are added, one of each worker."""
        return float(self.workers)

    def flops(self, name: Pass) -> float:  # noqa: ARG002 - there is one pass
        """The additions of all workers together."""
        return float((self.workers - 1) * self.numbers)

    def least_bytes(self, name: Pass) -> float:  # noqa: ARG002
        """The bytes of one worker's array: their rate is what nccl-tests call algorithm bandwidth."""
        return float(NUMBER_BYTES * self.numbers)

    @property
    def bus_bytes(self) -> float:
        """The bytes that each worker has to send at least: 2·(n − 1)/n of its array.

        Their rate is what nccl-tests call bus bandwidth, which does not depend on the number of workers.
        """
        return 2 * (self.workers - 1) / self.workers * NUMBER_BYTES * self.numbers
