"""Optuna's tree-structured Parzen estimator (Bergstra et al. 2011)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pytest_dlbench.planning.search_space import Choice, SearchSpace, Setting

if TYPE_CHECKING:
    import optuna

# Points at random before the first estimate; Optuna's ten are more than a small budget has trials.
RANDOM_POINTS = 5


class _Pick:
    def __init__(self, trial: "optuna.trial.Trial") -> None:
        self._trial = trial

    def one_of(self, name: str, values: Sequence[Setting]) -> Setting:
        return cast("Setting", self._trial.suggest_categorical(name, values))

    def between(self, name: str, low: float, high: float) -> float:
        found: float = self._trial.suggest_float(name, low, high, log=True)
        return found


class TPEEngine:
    """Points that are likely to be better than most before them; failed ones do not count."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        # Slow to load, and an optional extra.
        import optuna  # noqa: PLC0415

        # It would write a line for every trial.
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space, self._failed = space, optuna.trial.TrialState.FAIL
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=RANDOM_POINTS)
        self._study = optuna.create_study(sampler=sampler, direction="maximize")

    def ask(self) -> Choice:
        """The next point."""
        self._trial = self._study.ask()
        return self._space.choose(_Pick(self._trial))

    def tell(self, accuracy: float | None) -> None:
        """The validation accuracy of the last point; None if its trial failed."""
        if accuracy is None:
            self._study.tell(self._trial, state=self._failed)
        else:
            self._study.tell(self._trial, accuracy)

    def close(self) -> None:
        """Its study is in memory."""
