"""From the values of a cell to the plan of its runs."""

import re
from dataclasses import dataclass, field

from pytest_dlbench.data import Dataset, Prepared, SyntheticData, synthetic
from pytest_dlbench.data.cache import prepared_root
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.placing import Absent, Lack, Place, Places
from pytest_dlbench.errors import DataMissingError, ModelError
from pytest_dlbench.matrix import SCALES, misfit
from pytest_dlbench.model import Model, Recipe, infer
from pytest_dlbench.records import Case, Context, Machine
from pytest_dlbench.running.training import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds for every case of a session."""

    machine: Machine
    scale: str
    threads: int
    seed: int
    timeout_seconds: float
    places: Places = field(default_factory=Places)

    def plan(
        self,
        framework: Framework,
        model: Model,
        data: Dataset | SyntheticData,
        device: Device,
        *,
        recipe: Recipe | None = None,
        label: str = "training",
        steps: int | None = None,
    ) -> Plan:
        """How one cell is run; raises ModelError for what cannot be trained.

        The data are prepared by then, or the plan has no place to run, because their files are not here.
        """
        dataset = synthetic_for(model) if isinstance(data, SyntheticData) else data
        if reason := misfit(model, dataset):
            raise ModelError(f"{reason}; model.for_input({dataset.shape}) makes a model for it")
        recipe = recipe or model.recipe
        usual_steps = steps_of(recipe, dataset, self.scale)
        prepared, place = _prepared(dataset, self.places.find(framework))
        return Plan(
            case=self._case(label, framework.name, model.name, data.name, device.name),
            framework=framework,
            place=place,
            network=infer(model),
            recipe=recipe,
            data=prepared,
            steps=steps or usual_steps,
            seed=self.seed,
            timeout_seconds=self.timeout_seconds,
        )

    def _case(self, label: str, framework: str, model: str, dataset: str, device: str) -> Case:
        # Threads belong to a case, but the usual number does not lengthen its name.
        threads = () if self.threads == self.machine.cores else (f"threads{self.threads}",)
        name = "-".join((label, framework, model, dataset, device, self.scale, *threads))
        if not re.fullmatch(r"[\w.+=@-]+", name) or name.startswith("."):
            raise ModelError(f"case {name!r} names a file: use letters, digits and . _ + = @ - in names and labels")
        return Case(
            id=name,
            framework=framework,
            model=model,
            dataset=dataset,
            device=device,
            scale=self.scale,
            threads=self.threads,
        )

    def context(self, plan: Plan) -> Context:
        """What must be the same on both sides before figures are compared."""
        return Context(
            machine=self.machine,
            network_digest=plan.network.digest,
            dataset_digest=plan.data.digest,
            batch_size=plan.recipe.batch_size,
            steps=plan.steps,
            precision=plan.recipe.precision,
            init=plan.recipe.init,
        )


def synthetic_for(model: Model) -> Dataset:
    """The synthetic data set that a model can be trained on."""
    head = model.head
    return synthetic(
        model.input_shape,
        head.classes,
        task=head.task,
        vocabulary=model.vocabulary,
        label_shape=infer(model).label_shape if head.task == "tokens" else (),
    )


def _prepared(dataset: Dataset, place: Place | Absent) -> tuple[Prepared, Place | Absent]:
    """The data set on disk, and the place; nothing on disk, and no place, where its files are not here."""
    try:
        return prepare(dataset), place
    except DataMissingError as error:
        nothing = Prepared(dataset=dataset, folder=prepared_root() / dataset.folder_name, digest="")
        # A framework that is not here is the nearer reason.
        return nothing, place if isinstance(place, Absent) else Absent(lack=Lack.NO_DATA, reason=str(error))


def steps_of(recipe: Recipe, dataset: Dataset, scale: str) -> int:
    """Steps of one run: the recipe's epochs in whole batches, or as many examples as the scale has."""
    per_epoch = dataset.train_examples // recipe.batch_size
    if not per_epoch:
        raise ModelError(
            f"a batch of {recipe.batch_size} is more than the {dataset.train_examples} examples of {dataset.name}"
        )
    limit = SCALES[scale]
    steps = recipe.epochs * per_epoch
    return steps if limit is None else max(1, min(steps, limit // recipe.batch_size))
