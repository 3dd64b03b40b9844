"""What a validation split decides: after which epoch training stops, and which epoch was the best."""

from dataclasses import dataclass, field

from pytest_dlbench.records import CurvePoint, Validation
from pytest_dlbench.running.run_spec import NetworkSpec


@dataclass(slots=True, kw_only=True)
class Validating:
    """The evaluations of the validation split in one run, so far. The driver decides, so that all frameworks have it.

    A recipe with a patience is evaluated after each epoch, so that evaluations are epochs.
    """

    spec: NetworkSpec
    points: list[CurvePoint] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, point: CurvePoint, seconds: float) -> None:
        """Take one more evaluation, which took that many seconds."""
        self.points.append(point)
        self.seconds += seconds

    @property
    def is_best(self) -> bool:
        """Whether the last evaluation is better than all before it."""
        return self._place == len(self.points) - 1

    @property
    def is_over(self) -> bool:
        """Whether the patience has run out."""
        patience = self.spec.recipe.patience
        return patience is not None and len(self.points) - 1 - self._place >= patience

    @property
    def result(self) -> Validation:
        """What it has decided so far."""
        last, recipe = self.points[-1], self.spec.recipe
        best = self._epoch(self.points[self._place])
        return Validation(
            examples=self.spec.data.dataset.test_examples,
            seconds=self.seconds,
            curve=tuple(self.points),
            monitor=recipe.monitor,
            best_epoch=best,
            tested_epoch=best if recipe.tested_epoch == "best" else self._epoch(last),
            trained_epochs=self._epoch(last),
            is_early=self.is_over and last.step < self.spec.steps,
        )

    @property
    def _place(self) -> int:
        """The place of the best one, the first of equal ones."""
        monitor = self.spec.recipe.monitor
        figures = [getattr(point, monitor) for point in self.points]
        return figures.index(max(figures) if monitor == "accuracy" else min(figures))

    def _epoch(self, point: CurvePoint) -> float:
        return point.step / self.spec.steps_per_epoch
