"""From the values of a cell to the spec of its runs."""

import re
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from pytest_dlbench.data import ANY_SHAPE, Dataset, Prepared, SyntheticData, synthetic
from pytest_dlbench.data.cache import prepared_root
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.data.jpeg import as_jpeg, not_jpeg
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Device, Framework, execution
from pytest_dlbench.environments.placing import Absent, Elsewhere, Lack, Place, Places, PlacesElsewhere
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.errors import DataError, DataMissingError, ModelError
from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.model import Model, Network, Purpose, Recipe, infer
from pytest_dlbench.model.needs import needs
from pytest_dlbench.planning import sweep, workers
from pytest_dlbench.planning.matrix import SCALES, misfit
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Case, Context, Machine
from pytest_dlbench.running.devices import lacking
from pytest_dlbench.running.launch import TUNED
from pytest_dlbench.running.run_spec import NetworkSpec, OperatorSpec, ProgramSpec, RunSpec
from pytest_dlbench.running.weights import given_weights, read_weights

# The number of images in the inference table of the Rosetta Stone.
INFERENCE_EXAMPLES = 1000
# An invalid run is done again, but not for ever: a machine that is always busy does not become quiet by waiting.
REPEATS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a case would train: everything known before anything is prepared.

    ``refusal`` says why it cannot be trained (steps are 0 then); it is empty if it can.
    """

    case: Case
    framework: Framework
    network: Network
    dataset: Dataset
    recipe: Recipe
    steps: int
    recipe_steps: int
    refusal: str
    purpose: Purpose = "training"
    least_seconds: float = 0.0
    """How long its timed steps have to last; ``steps`` are the least number of them then."""
    whole: Dataset | None = None
    """The whole data set, if ``dataset`` has a validation split in place of its test split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the runs of all cases of a session are made. ``changes`` are made to whatever recipe a case has."""

    machine: Machine
    runs: int = 5
    """How many of each case, where they are not pairs."""
    keeps_invalid: bool = False
    """Whether runs that measured the machine's troubles are used, marked."""
    scale: str
    threads: int
    workers: int = 1
    """How many train one network data-parallel; ``threads`` are those of each."""
    seed: int
    timeout_seconds: float
    wait_seconds: float = inf
    """How long a case waits for its device."""
    places: Places | PlacesElsewhere = field(default_factory=Places)
    changes: tuple[Change, ...] = ()
    target_accuracy: float | None = None
    hourly_price: float | None = None
    """What an hour of the machine costs, in the user's currency."""
    allocator: str = TUNED
    checkpoints: bool = False
    """Whether trainings are saved, and go on in a fresh process."""
    breaks_down: bool = False
    """Whether steps are divided into their phases after training."""
    times_layers: bool = False
    """Whether every layer is timed, too."""
    metrics: Metrics = field(default_factory=lambda: METRICS)
    """All metrics that are computed for a run: built-in ones and those of hooks."""

    @property
    def repeats(self) -> int:
        """How many invalid runs of a case are done again."""
        return 0 if self.keeps_invalid else REPEATS

    def spec(
        self,
        framework: Framework,
        model: Model,
        data: Dataset | SyntheticData,
        device: Device,
        *,
        recipe: Recipe | None = None,
        label: str = "training",
        steps: int | None = None,
        purpose: Purpose = "training",
        changes: tuple[Change, ...] = (),
        weights: Path | None = None,
    ) -> NetworkSpec:
        """How one cell is run, with its data prepared; if their files are missing, the spec has no place to run.

        ``changes`` of the recipe are those of a side, whose framework's name has them. ``weights`` is an .npz file that
        an inference has in place of drawn ones. Raises ModelError, also if it does not fit the model.
        """
        outline = self.outline(
            framework.on(device.name), model, data, device, recipe=recipe, label=label, purpose=purpose, changes=changes
        )
        spec = self._spec(outline, device, steps, self._hosts(changes))
        return spec if weights is None else with_weights(spec, weights)

    def _spec(self, outline: Outline, device: Device, given: int | None, hosts: int) -> NetworkSpec:
        """An outlined cell with its data prepared, for ``given`` steps if the caller says how many."""
        prepared, place = _prepared(outline.dataset, self.place(outline.framework, device, outline.refusal))
        whole, place = _prepared(outline.whole, place) if outline.whole else (None, place)
        return NetworkSpec(
            case=outline.case,
            framework=outline.framework,
            place=place,
            network=outline.network,
            recipe=outline.recipe,
            data=prepared,
            whole=whole,
            steps=given or outline.steps,
            seed=self.seed,
            timeout_seconds=self.timeout_seconds,
            recipe_steps=outline.recipe_steps,
            purpose=outline.purpose,
            evaluate_after=self._evaluations(outline, given),
            is_broken_down=self.breaks_down and outline.purpose == "training",
            has_layers_timed=self.times_layers,
            least_seconds=0.0 if given else outline.least_seconds,
            target_accuracy=None if outline.purpose == "inference" else self.target_accuracy,
            hourly_price=self.hourly_price,
            allocator=self.allocator,
            wait_seconds=self.wait_seconds,
            gpu_numbers=device.numbers,
            hosts=hosts,
            is_saved=self.checkpoints and outline.purpose == "training",
        )

    def place(self, framework: Framework, device: Device, refusal: str) -> Place | Elsewhere | Absent:
        """Where a framework runs on a device; ``refusal`` is why a case cannot run at all, empty if it can."""
        reason = refusal or self.lacking(framework, device)
        return Absent(lack=Lack.UNSUPPORTED, reason=reason) if reason else self.places.find(framework)

    def lacking(self, framework: Framework, device: Device) -> str:
        """Why a framework cannot run on a device, here or where hosts are leased; empty if it might."""
        if isinstance(self.places, PlacesElsewhere):
            return _not_elsewhere(self.places, device)
        return lacking(framework, device)

    def _evaluations(self, outline: Outline, given: int | None) -> tuple[int, ...]:
        """Steps after which the test split is evaluated, other than the last; none for inference.

        If their number is given, only those steps are run.
        """
        if given or outline.refusal or outline.purpose == "inference":
            return ()
        return evaluations(outline.recipe, outline.dataset, self.scale, outline.steps)

    def outline(
        self,
        framework: Framework,
        model: Model,
        data: Dataset | SyntheticData,
        device: Device,
        *,
        recipe: Recipe | None = None,
        label: str = "training",
        purpose: Purpose = "training",
        changes: tuple[Change, ...] = (),
    ) -> Outline:
        """What one cell trains, without preparing, finding or building anything."""
        dataset = synthetic_for(model) if isinstance(data, SyntheticData) else data
        if reason := misfit(model, dataset, purpose):
            raise ModelError(f"{reason}; model.for_input({dataset.shape}) makes a model for it")
        network = infer(model)
        asked, refusal = self._changed(recipe or model.recipe, dataset, framework, changes)
        framework = framework.computing_with(asked.library)
        asked = _as_framework(asked, framework, device)
        case = self.case(label, framework, (model.name, data.name), device, changes)
        refusal = refusal or self._refusal(case, framework, network, asked, purpose=purpose, hosts=self._hosts(changes))
        is_trained = purpose == "training" and not refusal
        part = from_files(asked, trained_on(asked, dataset)) if is_trained else dataset
        steps = 0 if refusal else steps_of(asked, part, self.scale, network, purpose)
        recipe_steps = 0 if refusal else _steps_of_all(asked, part, purpose)
        may_be_longer = device.name != "cpu" and purpose == "training" and steps < most_steps(data.name, recipe_steps)
        return Outline(
            case=case,
            framework=framework,
            network=network,
            dataset=part,
            recipe=asked,
            steps=steps,
            recipe_steps=recipe_steps,
            refusal=refusal,
            purpose=purpose,
            least_seconds=SCALES[self.scale].least_seconds if may_be_longer and not refusal else 0.0,
            whole=from_files(asked, dataset) if is_trained and asked.validation else None,
        )

    def _hosts(self, of_side: tuple[Change, ...]) -> int:
        """On how many hosts the workers of a case are."""
        return sweep.hosts(self._all_changes(of_side), self.workers)

    def _all_changes(self, of_side: tuple[Change, ...]) -> tuple[Change, ...]:
        """Those of this session and of a side, which replaces them."""
        return tuple({change.name: change for change in (*self.changes, *of_side)}.values())

    def _refusal(
        self, case: Case, framework: Framework, network: Network, recipe: Recipe, *, purpose: Purpose, hosts: int
    ) -> str:
        """Why a cell cannot run; empty if it can."""
        return (
            execution.refusal(framework, case.device, recipe.execution)
            or unsupported(framework, network, recipe)
            or _unchanged(framework)
            or workers.refusal(case, self.machine.cores * hosts, framework, recipe, purpose)
            or workers.unequal(case, network, framework)
            or self._unsaved(purpose)
            or _unread(recipe, purpose)
            or workers.undecided(recipe, hosts)
            or self._cannot_meet(case, framework, hosts)
        )

    def _unsaved(self, purpose: Purpose) -> str:
        """Why no checkpoint can be saved as the session asks for; empty if one can, or need not."""
        if not (self.checkpoints and self.workers > 1 and purpose == "training"):
            return ""
        return "--dlbench-checkpoint: several workers save no checkpoint"

    def unshared(self, case: Case, framework: Framework, kind: str) -> str:
        """Why the workers of a case cannot compute an operator of this kind together; empty if they can."""
        return (
            framework.unsupported
            or workers.of_operator(case, self.machine.cores, framework, kind)
            or self._cannot_meet(case, framework, hosts=1)
        )

    def _cannot_meet(self, case: Case, framework: Framework, hosts: int) -> str:
        """Why the workers of a case cannot meet here, or on the hosts that they are on; empty if they can."""
        is_elsewhere = isinstance(self.places, PlacesElsewhere)
        if hosts > 1:
            return workers.not_spread(framework, is_elsewhere=is_elsewhere)
        return workers.cannot_meet(case, framework, is_elsewhere=is_elsewhere)

    def _changed(
        self, recipe: Recipe, dataset: Dataset, framework: Framework, of_side: tuple[Change, ...]
    ) -> tuple[Recipe, str]:
        """A recipe with the changes of this session and of a side, and why it cannot be used, if it cannot."""
        changes = self._all_changes(of_side)
        try:
            recipe = sweep.chosen(recipe, changes, framework.specification, dataset.shape)
            recipe = sweep.scaled(sweep.changed(recipe, changes), changes, self.workers)
            require_fit(recipe, dataset)
            recipe_steps_of(recipe, trained_on(recipe, dataset))
        except (DataError, ModelError) as error:
            if not changes:
                # The suite's own mistake rather than a point of a sweep.
                raise
            return recipe, str(error)
        return recipe, ""

    def case(
        self, label: str, framework: Framework, cell: tuple[str, str], device: Device, of_side: tuple[Change, ...]
    ) -> Case:
        """The case of a cell, ``(model, dataset)``; raises ModelError for a name that no file can have."""
        # Settings always are in its name, even if they equal the recipe's: it must keep its meaning when the recipe is
        # edited. Those of a side are in its framework's name.
        model, dataset = cell
        replaced = {change.name for change in of_side}
        settings = tuple(change.id for change in self.changes if change.name not in replaced)
        parts = (label, framework.name, model, dataset, device.in_id, self.scale, *settings, *self.processors_id)
        name = "-".join(parts)
        if not re.fullmatch(r"[\w.+=@-]+", name) or name.startswith("."):
            raise ModelError(f"case {name!r} names a file: use letters, digits and . _ + = @ - in names and labels")
        return Case(
            id=name,
            framework=framework.name,
            model=model,
            dataset=dataset,
            device=device.name,
            scale=self.scale,
            threads=self.threads,
            settings={change.name: change.value for change in (*self.changes, *of_side)},
            revision=framework.checkout.revision if framework.checkout else None,
            variables=dict(framework.more_variables),
            workers=self.workers,
        )

    @property
    def processors_id(self) -> tuple[str, ...]:
        """Threads and workers in the id of a case: they belong to it, but their usual number is not in its name."""
        threads = () if self.threads == self.machine.cores else (f"threads{self.threads}",)
        return threads if self.workers == 1 else (*threads, f"workers{self.workers}")

    def context(self, spec: RunSpec) -> Context:
        """What must be the same on both sides before figures are compared."""
        if isinstance(spec, ProgramSpec):
            return _of_program(self.machine, spec)
        if isinstance(spec, OperatorSpec):
            return _of_operator(self.machine, spec)
        assert isinstance(spec, NetworkSpec)
        return _of_network(self.machine, spec)


def _as_framework(recipe: Recipe, framework: Framework, device: Device) -> Recipe:
    """A recipe that leaves autotuning to the framework, turned on if this framework does it by itself."""
    is_open = recipe.autotune is None and not recipe.deterministic
    return replace(recipe, autotune=True) if is_open and execution.autotunes(framework, device.name) else recipe


def _of_program(machine: Machine, spec: ProgramSpec) -> Context:
    return Context(
        machine=machine,
        network_digest="",
        dataset_digest="".join(prepared.digest for _, prepared in sorted(spec.data.items())),
        batch_size=None,
        steps=spec.steps,
        precision="",
        init="",
        recipe_steps=spec.steps,
        input="",
        allocator=spec.allocator,
    )


def _of_operator(machine: Machine, spec: OperatorSpec) -> Context:
    return Context(
        machine=machine,
        network_digest=spec.operator.digest,
        dataset_digest="",
        batch_size=None,
        steps=spec.steps,
        precision="float32",
        init="",
        recipe_steps=spec.steps,
        input="",
        allocator=spec.allocator,
    )


def _of_network(machine: Machine, spec: NetworkSpec) -> Context:
    return Context(
        machine=machine,
        network_digest=spec.network.digest,
        dataset_digest="".join(data.digest for data in (spec.data, spec.whole) if data),
        batch_size=spec.recipe.batch_size,
        steps=spec.steps,
        precision=spec.recipe.precision,
        init=spec.recipe.init,
        input=spec.recipe.input_in_full,
        recipe_steps=spec.recipe_steps,
        allocator=spec.allocator,
        execution=spec.recipe.execution,
        weights=spec.weights.digest if spec.weights else "",
    )


def _not_elsewhere(places: PlacesElsewhere, device: Device) -> str:
    """Why a case cannot run on a leased host; empty if the host decides."""
    if device.name == "cpu":
        return ""
    if not places.has_gpu:
        return "hosts are leased without GPUs, unless by --dlbench-on=srun with --dlbench-devices=gpu"
    return "SLURM chooses the GPU: use --dlbench-devices=gpu, without numbers" if device.numbers else ""


def _unchanged(framework: Framework) -> str:
    """Why a revision of the user's code would change nothing in a case; empty if it may, or if there is none."""
    checkout = framework.checkout
    if checkout is None or any(folder.is_relative_to(checkout.root) for folder in framework.folders):
        return ""
    return f"all revisions are the same for {framework.specification}: its builder is not in {checkout.repository}"


def synthetic_for(model: Model) -> Dataset:
    """The synthetic data set that a model can be trained on."""
    head = model.head
    return synthetic(
        model.input_shape,
        head.classes,
        task=head.task,
        vocabulary=model.vocabulary,
        label_shape=infer(model).label_shape if head.task in ("tokens", "boxes") else (),
    )


def _prepared(dataset: Dataset, place: Place | Elsewhere | Absent) -> tuple[Prepared, Place | Elsewhere | Absent]:
    """The prepared data set and the place; if its files are missing, an unprepared one and no place."""
    try:
        return prepare(dataset), place
    except DataMissingError as error:
        nothing = Prepared(dataset=dataset, folder=prepared_root() / dataset.folder_name, digest="")
        # A framework that is not installed is the more direct reason.
        return nothing, place if isinstance(place, Absent) else Absent(lack=Lack.NO_DATA, reason=str(error))


def unsupported(framework: Framework, network: Network, recipe: Recipe) -> str:
    """Why a framework cannot train a network with a recipe; empty if no reason is known."""
    supported = supports(framework)
    if framework.unsupported or supported is None:
        return framework.unsupported
    missing = sorted(needs(network, recipe) - supported)
    return f"the builder of {framework.name} has no {', no '.join(missing)}" if missing else ""


def recipe_steps_of(recipe: Recipe, dataset: Dataset) -> int:
    """The recipe's steps, or its epochs in whole batches; ModelError if a batch exceeds all examples."""
    per_epoch = dataset.train_examples // recipe.batch_size
    if not per_epoch:
        raise ModelError(
            f"a batch of {recipe.batch_size} is more than the {dataset.train_examples} examples of {dataset.name}"
        )
    return recipe.steps or (recipe.epochs or 0) * per_epoch


def trained_on(recipe: Recipe, dataset: Dataset) -> Dataset:
    """The data set, or with a validation split four fifths of its training split, and the others as its test split."""
    return validated(dataset) if recipe.validation else dataset


def from_files(recipe: Recipe, dataset: Dataset) -> Dataset:
    """The data set, or with ``input="jpeg"`` its images as JPEG files, and the pixels that these decode to."""
    return as_jpeg(dataset) if recipe.input == "jpeg" else dataset


def with_weights(spec: NetworkSpec, path: Path) -> NetworkSpec:
    """An inference with the weights of a file, whose hash is a part of its case; evaluated where the data has labels.

    Raises ModelError if the file cannot be read, or does not fit the model.
    """
    given, model = given_weights(path), spec.network.model
    read_weights(spec.network, given)
    case = replace(
        spec.case,
        id=f"{spec.case.id}-weights_{given.digest[:8]}",
        settings={**spec.case.settings, "weights": given.digest},
    )
    has_labels = model.head.is_trained and not misfit(model, spec.data.dataset)
    return replace(spec, case=case, weights=given, has_labels=has_labels)


def _unread(recipe: Recipe, purpose: Purpose) -> str:
    """Why a case cannot read its examples as its recipe says; empty if it can."""
    is_read = recipe.input != "jpeg" or purpose == "training"
    return "" if is_read else f"input=jpeg is how a training gets its batches, not {purpose}"


def require_fit(recipe: Recipe, dataset: Dataset) -> None:
    """Raise ModelError for settings of a recipe that do not fit each other, or the data."""
    _require_validation(recipe)
    if recipe.batch_size % recipe.accumulation:
        raise ModelError(
            f"a batch of {recipe.batch_size} cannot be cut into {recipe.accumulation} parts of one size; choose an"
            " accumulation that divides it"
        )
    _require_loader(recipe, dataset)
    if not recipe.is_augmented:
        return
    if dataset.vocabulary is not None or len(dataset.shape) != 3 or dataset.task == "boxes":
        raise ModelError(
            f"crop_padding and flips are for images (channels, height, width) without boxes, not for {dataset.name}"
        )
    if recipe.input != "pipeline":
        raise ModelError("crop_padding and flips need input=pipeline, whose thread crops and flips each batch")


def _require_loader(recipe: Recipe, dataset: Dataset) -> None:
    """Raise ModelError for settings of a loader without one, or for examples that are no images of one class."""
    if recipe.input == "jpeg":
        if reason := not_jpeg(dataset):
            raise ModelError(f"input=jpeg: {reason}")
    elif recipe.loader_workers or recipe.loader != "native":
        setting = f"loader_workers={recipe.loader_workers}" if recipe.loader_workers else f"loader={recipe.loader}"
        raise ModelError(f"{setting} needs input=jpeg, whose batches a loader decodes")


def _require_validation(recipe: Recipe) -> None:
    """Raise ModelError for settings that need a validation split, or an evaluation after each epoch."""
    if not recipe.validation and (recipe.patience is not None or recipe.tested_epoch == "best"):
        setting = f"patience={recipe.patience}" if recipe.patience is not None else "tested_epoch=best"
        raise ModelError(f"{setting} needs validation=true, the split by which epochs are compared")
    if recipe.patience is not None and recipe.evaluation_interval != 1:
        raise ModelError(
            f"patience counts epochs, after each of which it needs an evaluation: evaluation_interval=1, not"
            f" {recipe.evaluation_interval or 'none'}"
        )


def most_steps(dataset: str, recipe_steps: float) -> float:
    """How many steps a case may train: the recipe's, but any number on data that no accuracy is known for."""
    return inf if dataset == ANY_SHAPE.name else recipe_steps


def steps_of(recipe: Recipe, dataset: Dataset, scale: str, network: Network, purpose: Purpose = "training") -> int:
    """Steps of one run: those of the recipe, up to the limits of the scale, but at least two if the recipe has two.

    For inference: the batches of INFERENCE_EXAMPLES, up to the time of a training run at this scale.
    """
    steps, limit = _steps_of_all(recipe, dataset, purpose), SCALES[scale]
    # Training costs as much as three forward passes, inference is one.
    multiply_adds = limit.multiply_adds * (3 if purpose == "inference" else 1)
    examples = min(limit.examples, multiply_adds / network.multiply_adds, steps * recipe.batch_size)
    return min(steps, max(2, int(examples / recipe.batch_size)))


def evaluations(recipe: Recipe, dataset: Dataset, scale: str, steps: int) -> tuple[int, ...]:
    """Steps after which the test split is evaluated, other than the last: by the recipe's interval, none at smoke."""
    if recipe.evaluation_interval is None or scale == "smoke" or not steps:
        return ()
    interval = recipe.evaluation_interval * (dataset.train_examples // recipe.batch_size)
    return tuple(range(interval, steps, interval))


def _steps_of_all(recipe: Recipe, dataset: Dataset, purpose: Purpose) -> int:
    if purpose == "inference":
        # The first batch is not timed.
        return max(2, -(-INFERENCE_EXAMPLES // recipe.batch_size))
    return recipe_steps_of(recipe, dataset)
