"""Random search: the control, which learns nothing."""

from collections.abc import Sequence
from math import exp, log
from random import Random

from pytest_dlbench.planning.search_space import Choice, SearchSpace, Setting


class RandomEngine:
    """Independent points, uniform in every setting, and in the logarithm of the learning rate."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._space, self._random = space, Random(seed)

    def ask(self) -> Choice:
        """The next point."""
        return self._space.choose(self)

    def tell(self, accuracy: float | None) -> None:
        """Nothing changes."""

    def close(self) -> None:
        """It holds nothing."""

    def one_of(self, _: str, values: Sequence[Setting]) -> Setting:
        """Each is as likely as the others."""
        return self._random.choice(values)

    def between(self, _: str, low: float, high: float) -> float:
        """Uniform in the logarithm."""
        return exp(self._random.uniform(log(low), log(high)))
