"""What a test gets from the ``dlbench`` fixture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import cast

from pytest_dlbench import judging
from pytest_dlbench.data import Dataset, SyntheticData
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.equivalence import BOUND
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.model import Model, Purpose, Recipe
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.sides import Sides
from pytest_dlbench.records import CaseResult, Certificate, Golden, Record, Run
from pytest_dlbench.reporting import explain
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import ab, benchmark, certify
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric in all runs of a case."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the runs."""
        return fmean(self.values)

    @property
    def median(self) -> float:
        """Over the runs."""
        return median(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A trained and judged case, for whatever else a test wants to say about it."""

    record: Record
    verdict: CaseResult
    figures: Mapping[str, Figure]

    @property
    def accuracy(self) -> Figure:
        """Test accuracy after training, as a share of 1; of tokens, that of all which are not ignored."""
        return self.figures["accuracy"]

    @property
    def top5_accuracy(self) -> Figure:
        """The share of answers whose label is among the five likeliest; KeyError for no more than ten classes."""
        return self.figures["top5_accuracy"]

    @property
    def perplexity(self) -> Figure:
        """exp(test loss) of a sequence; KeyError where labels are no tokens."""
        return self.figures["perplexity"]

    @property
    def step_time(self) -> Figure:
        """The 10 % quantile of the steady steps, in seconds."""
        return self.figures["step_time"]

    @property
    def throughput(self) -> Figure:
        """Samples a second, the first step or batch left out."""
        return self.figures["throughput"]

    @property
    def latency(self) -> Figure:
        """The 10 % quantile of the batches behind the first, in seconds; KeyError for a training."""
        return self.figures["latency"]

    @property
    def peak_rss(self) -> Figure:
        """Peak resident memory of the worker's processes, in bytes."""
        return self.figures["peak_rss"]


class Dlbench:
    """Trains cells of the matrix, or applies their networks, in fresh worker processes."""

    def __init__(
        self,
        *,
        session: Session,
        settings: RunSettings,
        registry: Registry,
        sides: Sequence[Sides],
        node: str,
        recipe: Recipe | None,
        tolerance: Mapping[str, float],
        tell: Callable[[Record, CaseResult], None],
        settle: Callable[[Record, CaseResult], None],
        skip: Callable[[str], None],
    ) -> None:
        self._session, self._settings, self._registry, self._node = session, settings, registry, node
        self._recipe, self._tolerance, self._tell, self._settle, self._skip = recipe, tolerance, tell, settle, skip
        self._old_sides = {pair.new.name: pair.old for pair in sides}

    def train(
        self,
        framework: Framework | str,
        model: Model | str,
        dataset: Dataset | SyntheticData | str,
        device: Device | str = "cpu",
        *,
        recipe: Recipe | None = None,
        label: str = "training",
    ) -> Result:
        """Train one case in as many fresh processes as --dlbench-runs says, compare it with its baseline, and gate.

        A framework that is the new side of --dlbench-ab is run in pairs with the old side instead, until it is decided.
        Fails or skips the test by the case's outcome. With --dlbench-budget a case has an equal share of the time that
        is left, and is inconclusive where that does not decide it.

        ``recipe`` comes before the ``recipe`` fixture, and that before the model's own; --dlbench-set changes whichever
        it is. ``label`` starts the case's id, and tells apart two ways to train the same cell.
        """

        def spec_of(side: Framework | str) -> RunSpec:
            return self._spec(side, model, dataset, device, recipe=recipe, label=label)

        return self._result(framework, spec_of)

    def infer(
        self,
        framework: Framework | str,
        model: Model | str,
        dataset: Dataset | SyntheticData | str,
        device: Device | str = "cpu",
        *,
        recipe: Recipe | None = None,
        label: str = "inference",
    ) -> Result:
        """Apply a network to 1,000 examples, or as many as the scale has, batch by batch; else as ``train`` does.

        Weights are those that training begins with; of the recipe only the batch size, the precision and the
        initialisation matter. Labels are not looked at: any data set will do whose inputs fit.
        """

        def spec_of(side: Framework | str) -> RunSpec:
            return self._spec(side, model, dataset, device, recipe=recipe, label=label, purpose="inference")

        return self._result(framework, spec_of)

    def _result(self, framework: Framework | str, spec_of: Callable[[Framework | str], RunSpec]) -> Result:
        """A case run and judged, in pairs with its old side where the session has one."""
        spec = spec_of(framework)
        if old_side := self._old_sides.get(spec.framework.name):
            record, result = ab.train(self._session, spec_of(old_side), spec, self._node, self._tolerance)
        else:
            record, result = benchmark.train(self._session, spec, self._node, self._tolerance)
        self._tell(record, result)
        self._settle(record, result)
        figures = {name: Figure(values=values) for name, values in judging.read_all(record.runs).items()}
        return Result(record=record, verdict=result, figures=figures)

    def run(
        self,
        framework: Framework | str,
        model: Model | str,
        dataset: Dataset | SyntheticData | str,
        device: Device | str = "cpu",
        *,
        recipe: Recipe | None = None,
        steps: int | None = None,
        seed: int | None = None,
        evaluations: int = 1,
        label: str = "run",
        is_timed: bool = True,
    ) -> Run:
        """One run of ``steps`` steps in a fresh process, recorded in the journal and not judged.

        Skips the test where the framework cannot be imported, or cannot build the model. ``steps`` and ``seed`` come
        before the options'. With several ``evaluations`` the run fails if they do not give the same to the bit. One
        that is not timed shares the processors with others of its kind, under ``pytest -n 2`` for instance.
        """
        spec = self._spec(framework, model, dataset, device, recipe=recipe, label=label, steps=steps)
        seed = spec.seed if seed is None else seed
        seeded = replace(spec, seed=seed, evaluations=evaluations, is_timed=is_timed)
        (run,) = make_runs(self._session, seeded, 1)
        if judging.of_runs([run]) in judging.SKIPPING:
            self._skip(explain.text(unfinished(run)))
        return run

    def certify(
        self,
        framework: Framework | str,
        model: Model | str,
        dataset: Dataset | SyntheticData | str,
        device: Device | str = "cpu",
        *,
        golden: Golden,
        recipe: Recipe,
        seed: int,
        bound: float = BOUND,
    ) -> Certificate:
        """Train as many steps as there are golden losses, in a fresh process, and say how far it is from them.

        Equal is what differs by no more than ``bound``, relatively, in every loss, and by no more than five times of it
        in the evaluation after them.

        The certificate is kept if it is equal, so that later records of the same network and versions bear it; else an
        earlier one is revoked. Skips the test where the framework is not here or cannot build the model, and fails it
        where the run does not finish, evaluates differently the second time, or builds other shapes than inferred.
        """
        spec = self._spec(
            framework,
            model,
            dataset,
            device,
            recipe=recipe,
            label="equivalence",
            steps=len(golden.losses),
            # Golden losses are of this recipe, whatever is set on the command line.
            settings=replace(self._settings, changes=()),
        )
        run, certificate = certify.certify(self._session, replace(spec, seed=seed), golden, bound)
        if judging.of_runs([run]) in judging.SKIPPING:
            self._skip(explain.text(unfinished(run)))
        if certificate is None:
            raise DlbenchError(explain.text(unfinished(run)))
        return certificate

    def _spec(
        self,
        framework: Framework | str,
        model: Model | str,
        dataset: Dataset | SyntheticData | str,
        device: Device | str,
        *,
        recipe: Recipe | None,
        label: str,
        steps: int | None = None,
        settings: RunSettings | None = None,
        purpose: Purpose = "training",
    ) -> RunSpec:
        def find(axis: str, value: object) -> object:
            return self._registry.find(axis, value, self._node)

        return (settings or self._settings).spec(
            cast("Framework", find("framework", framework)),
            cast("Model", find("model", model)),
            cast("Dataset | SyntheticData", find("dataset", dataset)),
            cast("Device", find("device", device)),
            recipe=recipe or self._recipe,
            label=label,
            steps=steps,
            purpose=purpose,
        )
