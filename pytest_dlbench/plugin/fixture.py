"""What the ``dlbench`` fixture provides to a test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from statistics import fmean, median
from typing import Any, NoReturn, cast

from pytest_dlbench import judging
from pytest_dlbench.data import Dataset, SyntheticData
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.frameworks import NotInRevisionError
from pytest_dlbench.environments.of_programs import HERE, place_of
from pytest_dlbench.environments.placing import Absent, Lack
from pytest_dlbench.errors import DlbenchError, OptionError
from pytest_dlbench.judging import Metrics, requirements
from pytest_dlbench.judging.equivalence import BOUND, is_equal
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.model import Model, Purpose, Recipe
from pytest_dlbench.model.operators import Operator
from pytest_dlbench.planning import sweep
from pytest_dlbench.planning.operators import LABEL as OPERATOR
from pytest_dlbench.planning.operators import operator_spec
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.programs import LABEL, program_of, program_spec
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.search import LABEL as SEARCH
from pytest_dlbench.planning.search import search_plan
from pytest_dlbench.planning.search_space import SearchSpace
from pytest_dlbench.planning.sides import AskedSides, Side
from pytest_dlbench.planning.workers import uncertifiable
from pytest_dlbench.records import CaseResult, Certificate, Golden, Record, Run
from pytest_dlbench.records.reasons import Caution, NotInBaseline, NotRequired
from pytest_dlbench.reporting import explain
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec
from pytest_dlbench.workflows import ab, added, benchmark, certify, search
from pytest_dlbench.workflows.handover import Handed, Taker
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric over all runs of a case."""

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
    """A trained and judged case, for further assertions of a test."""

    record: Record
    verdict: CaseResult
    figures: Mapping[str, Figure]
    _metrics: Metrics
    _note: Callable[[CaseResult, Caution], None]

    def require(self, **bounds: float) -> None:
        """Fail the test unless the medians over the runs keep these bounds, by metric.

        Each is the least value, or the most for a metric of which less is better: ``require(accuracy=0.9,
        peak_rss=2**30)``. What only the whole recipe gives (accuracy, perplexity, training time and similar) is
        required only where all of its steps were trained; elsewhere a warning says so.
        """
        __tracebackhide__ = True
        now, later = requirements.applicable(self.verdict, bounds, self._metrics)
        if later:
            steps, recipe_steps = self.verdict.steps or 0, self.verdict.recipe_steps or 0
            self._note(self.verdict, NotRequired(bounds=later, steps=steps, recipe_steps=recipe_steps))
        if unmet := requirements.unmet(self.verdict, now, self._metrics):
            raise AssertionError(explain.required(self.verdict, unmet, self._metrics))

    @property
    def accuracy(self) -> Figure:
        """Test accuracy after training, from 0 to 1; for sequences, over all tokens that are not ignored."""
        return self.figures["accuracy"]

    @property
    def top5_accuracy(self) -> Figure:
        """The share of examples whose label is among the five likeliest; KeyError for ten classes or fewer."""
        return self.figures["top5_accuracy"]

    @property
    def perplexity(self) -> Figure:
        """exp(test loss) of a language model; KeyError if labels are not tokens."""
        return self.figures["perplexity"]

    @property
    def step_time(self) -> Figure:
        """The 10 % quantile of the steady steps, in seconds."""
        return self.figures["step_time"]

    @property
    def throughput(self) -> Figure:
        """Samples per second, without the first step or batch."""
        return self.figures["throughput"]

    @property
    def latency(self) -> Figure:
        """The 10 % quantile of the batches after the first, in seconds; KeyError for training."""
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
        sides: AskedSides,
        node: str,
        recipe: Recipe | None,
        weights: Path | None,
        tolerance: Mapping[str, float],
        root: Path,
        environment: str | Sequence[str] | None,
        declared: Sequence[str],
        report: Callable[[Record, CaseResult], None],
        settle: Callable[[Record, CaseResult], None],
        note: Callable[[CaseResult, Caution], None],
        certified: Callable[[Certificate], None],
        skip: Callable[[str], None],
        taker: Taker | None,
    ) -> None:
        self._session, self._settings, self._registry, self._node = session, settings, registry, node
        self._sides = sides
        self._recipe, self._weights, self._tolerance = recipe, weights, tolerance
        self._root, self._environment, self._declared = root, environment, declared
        self._report, self._settle, self._note, self._skip = report, settle, note, skip
        self._certified = certified
        self._taker = taker

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
        """Train one case in --dlbench-runs fresh processes, compare it with its baseline, and gate.

        The candidate of --dlbench-ab runs in pairs with its baseline instead, until the case is decided. Fails or skips
        the test according to the case's outcome. With --dlbench-budget, a case gets an equal share of the time left,
        and is inconclusive if that is not enough.

        ``recipe`` overrides the ``recipe`` fixture, which overrides the model's own; --dlbench-set changes any of them.
        ``label`` begins the case's ID, and distinguishes two ways to train the same cell.
        """

        def spec_of(side: Side) -> RunSpec:
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
        weights: Path | str | None = None,
    ) -> Result:
        """Apply a network to 1,000 examples, or as many as the scale has, batch by batch; otherwise like ``train``.

        Weights are freshly initialised, or those of ``weights``, by default of --dlbench-weights: an .npz file with an
        array for each of the model's, by its name. Of the recipe only the batch size, precision and initialisation
        matter. Any data set whose inputs fit will do; if its labels are the model's classes, given weights are also
        evaluated on its test split.

        All frameworks of a session have the same outputs, or fail: they are compared with those of the first one.
        """
        given = self._weights if weights is None else self._root / weights

        def spec_of(side: Side) -> RunSpec:
            return self._spec(
                side, model, dataset, device, recipe=recipe, label=label, purpose="inference", weights=given
            )

        return self._result(framework, spec_of)

    def operate(
        self, framework: Framework | str, operator: Operator, device: Device | str = "cpu", *, label: str = OPERATOR
    ) -> Result:
        """Call a single operator many times, and judge the time of each of its passes; otherwise like ``train``.

        Where the framework computes them apart, the gradients by the data and by the weights are passes of their own.
        A run fails if a result differs from NumPy's in float64 by more than 1e-5 of the largest number, or if a call
        does not wait for its work. Numbers are float32. ``label`` begins the case's ID.
        """

        def spec_of(side: Side) -> RunSpec:
            where = cast("Device", self._registry.find("device", device, self._node))
            return operator_spec(self._settings, operator, side.framework, where, label=label, changes=side.changes)

        return self._result(framework, spec_of)

    def search(
        self,
        framework: Framework | str,
        engine: str,
        dataset: Dataset | str,
        device: Device | str = "cpu",
        *,
        budget_seconds: float,
        space: SearchSpace | None = None,
        epochs: int = 2,
        seeds: int | None = None,
        label: str = SEARCH,
    ) -> Result:
        """Search for a network with a budget of processor time, with ``seeds`` seeds, by default --dlbench-runs.

        ``engine`` is "random", "tpe" (Optuna's), or "autokeras", which searches among its own networks in
        keras-tensorflow. Each trial trains a network of ``space`` for ``epochs`` in a fresh process, on four fifths of
        the training part of the data set, and is validated on the rest. The best network of each search is then trained
        on all of the training part, and tested: ``winner_accuracy``. No trial sees the test part. A trial that fails is
        recorded, and the search goes on; one that ends after the budget cannot win.

        The figures are reported, and not compared with a baseline. ``label`` begins the case's ID.
        """
        self._skip_if_taken()
        found = self._framework(framework)
        if self._sides.of(found):
            raise OptionError("--dlbench-ab: a search is not compared in pairs, because each side would train others")
        plan = search_plan(
            self._settings,
            found,
            cast("Dataset", self._registry.find("dataset", dataset, self._node)),
            cast("Device", self._registry.find("device", device, self._node)),
            engine=engine,
            space=space,
            budget_seconds=budget_seconds,
            epochs=epochs,
            label=label,
        )
        first = self._settings.seed
        every = range(first, first + (seeds or self._settings.runs))
        return self._concluded(*search.search(self._session, plan, self._node, every))

    def measure(
        self,
        program: str | PathLike[str] | Callable[..., Any],
        framework: Framework | str | None = None,
        device: Device | str = "cpu",
        *,
        steps: int = 100,
        data: str | Sequence[str] = (),
        environment: str | Sequence[str] | None = None,
        label: str = LABEL,
        **parameters: Any,
    ) -> Result:
        """Run a program, a training loop of your own, and judge it like ``train``.

        ``program`` is a file relative to pytest's root folder, ``FILE.py::FUNCTION``, the name of a module, or a
        function of the test's module. It takes ``steps`` steps. ``parameters`` are JSON values, part of the case's ID,
        and ``run.parameters`` in the program; ``data`` are the data sets that it asks for with ``run.data``.

        It runs in the environment of ``framework`` or in ``environment``: a requirement, a requirements or lock file,
        or the path of a Python; by default in the Python that runs pytest. The mark ``dlbench(environment=…)`` gives
        it for a test, a class or a module. Raises OptionError for what cannot be run.
        """
        root = self._root
        found = program_of(program, parameters, root)
        datasets = self._datasets(data)

        def spec_of(side: Side) -> RunSpec:
            return program_spec(
                self._settings,
                found,
                side.framework,
                cast("Device", self._registry.find("device", device, self._node)),
                root=root,
                steps=steps,
                data=datasets,
                label=label,
                changes=side.changes,
            )

        return self._result(self._where(framework, environment), spec_of)

    def _datasets(self, names: str | Sequence[str]) -> Sequence[Dataset]:
        """Registered data sets, one or several."""
        several = (names,) if isinstance(names, str) else names
        return [cast("Dataset", self._registry.find("dataset", name, self._node)) for name in several]

    def _where(self, framework: Framework | str | None, environment: str | Sequence[str] | None) -> Framework | str:
        """Where a program runs."""
        if framework is not None and environment is not None:
            raise OptionError(f"{self._node}: dlbench.measure: give a framework or an environment, not both")
        if framework is not None:
            return framework
        wanted = environment if environment is not None else self._environment
        return HERE if wanted is None else place_of(wanted, self._root, self._node)

    def _result(self, framework: Framework | str, spec_of: Callable[[Side], RunSpec]) -> Result:
        """Run and judge a case, in pairs if the session has two sides of its framework."""
        found = self._framework(framework)
        if self._taker:
            tolerance = self._tolerance
            self._taker.take(
                Handed(session=self._session, node=self._node, tolerance=tolerance, framework=found, spec_of=spec_of)
            )
            self._skip("handed over")
        if sides := self._sides.of(found):
            record, result = self._in_pairs(spec_of(sides.new), lambda: spec_of(sides.old))
        else:
            spec = spec_of(Side(framework=found))
            record, result = benchmark.train(self._session, spec, self._node, self._tolerance)
        return self._concluded(record, result)

    def _concluded(self, record: Record, result: CaseResult) -> Result:
        """Report a case, settle the outcome of its test, and return its figures."""
        self._report(record, result)
        self._settle(record, result)
        figures = {name: Figure(values=values) for name, values in judging.read_all(record.runs).items()}
        if record.program:
            self._require_reported(figures)
        metrics = self._session.settings.metrics
        return Result(record=record, verdict=result, figures=figures, _metrics=metrics, _note=self._note)

    def _in_pairs(self, candidate: RunSpec, baseline_of: Callable[[], RunSpec]) -> tuple[Record, CaseResult]:
        """Run both sides, or only the candidate if it is what adds the program."""
        try:
            baseline = baseline_of()
        except NotInRevisionError as error:
            missing = NotInBaseline(revision=error.revision.name, commit=error.revision.commit, path=error.path)
            return added.train(self._session, candidate, self._node, self._tolerance, missing)
        return ab.train(self._session, baseline, candidate, self._node, self._tolerance)

    def _require_reported(self, figures: Mapping[str, Figure]) -> None:
        """Raise OptionError for a metric that the test declares, and that not every run has: it was not judged."""
        if missing := [name for name in self._declared if name not in figures]:
            raise OptionError(
                f"{self._node}: its mark declares the metric {missing[0]!r}, which not every run of the program"
                f" reported; report it, run.report({missing[0]}=…), or drop it from the mark"
            )

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
        """Make one run of ``steps`` steps in a fresh process, recorded in the journal but not judged.

        Skips the test if the framework cannot be imported or cannot build the model. ``steps`` and ``seed`` override
        the options. With several ``evaluations``, the run fails unless their results are identical to the bit. Runs
        with ``is_timed=False`` may share the CPUs with each other, for example under ``pytest -n 2``.
        """
        self._skip_if_taken()
        side = Side(framework=self._framework(framework))
        spec = self._spec(side, model, dataset, device, recipe=recipe, label=label, steps=steps)
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
        """Train as many steps as there are golden losses, in a fresh process, and measure the deviation from them.

        The framework is equal if no loss deviates by more than ``bound`` (relative), nor the evaluation after them by
        more than five times ``bound``.

        If equal, the certificate is kept and attached to the records of the same network, versions, data, class of
        machine, precision and settings of execution, earlier ones of the session included; otherwise an earlier one is
        revoked. Skips the test if the framework is not installed or cannot build the model, and fails it if the run
        does not finish, evaluates differently the second time, or builds shapes other than those inferred.
        """
        self._skip_if_taken()
        spec = self._spec(
            Side(framework=self._framework(framework)),
            model,
            dataset,
            device,
            recipe=recipe,
            label="equivalence",
            steps=len(golden.losses),
            # Golden losses belong to this recipe, whatever the command line sets.
            settings=replace(self._settings, changes=()),
        )
        run, certificate = certify.certify(self._session, replace(_certifiable(spec), seed=seed), golden, bound)
        if certificate is None:
            self._end_without_certificate(run)
        if is_equal(certificate):
            self._certified(certificate)
        return certificate

    def _end_without_certificate(self, run: Run) -> NoReturn:
        """Skip or fail the test of a run that did not finish."""
        reason = explain.text(unfinished(run))
        if judging.of_runs([run]) in judging.SKIPPING:
            self._skip(reason)
        raise DlbenchError(reason)

    def _skip_if_taken(self) -> None:
        """End a test whose runs are not judged where a command asks for cases: it must not run them."""
        if self._taker:
            self._skip("it has no case to hand over")

    def _framework(self, framework: Framework | str) -> Framework:
        return cast("Framework", self._registry.find("framework", framework, self._node))

    def _spec(
        self,
        side: Side,
        model: Model | str,
        dataset: Dataset | SyntheticData | str,
        device: Device | str,
        *,
        recipe: Recipe | None,
        label: str,
        steps: int | None = None,
        settings: RunSettings | None = None,
        purpose: Purpose = "training",
        weights: Path | None = None,
    ) -> NetworkSpec:
        def find(axis: str, value: object) -> object:
            return self._registry.find(axis, value, self._node)

        sweep.refuse_unknown(side.changes, "--dlbench-ab: set")
        return (settings or self._settings).spec(
            side.framework,
            cast("Model", find("model", model)),
            cast("Dataset | SyntheticData", find("dataset", dataset)),
            cast("Device", find("device", device)),
            recipe=recipe or self._recipe,
            label=label,
            steps=steps,
            purpose=purpose,
            changes=side.changes,
            weights=weights,
        )


def _certifiable(spec: NetworkSpec) -> NetworkSpec:
    """The spec, without a place to run if its losses cannot be those of one worker."""
    reason = uncertifiable(spec.case, spec.network, spec.framework)
    return replace(spec, place=Absent(lack=Lack.UNSUPPORTED, reason=reason)) if reason else spec
