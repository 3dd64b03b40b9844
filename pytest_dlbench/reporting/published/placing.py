"""Where each published figure stands next to one of ours, or why it cannot."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log

from pytest_dlbench.judging import METRICS, summarise
from pytest_dlbench.judging.claim_cases import Observed
from pytest_dlbench.judging.comparable import is_whole_recipe
from pytest_dlbench.reporting.published import names
from pytest_dlbench.reporting.published.studies import Figure, numbered, studies


class Absence(StrEnum):
    """Why a published figure cannot stand next to one of ours, whatever is run."""

    NOT_PRINTED = "not_printed"
    ZERO = "zero"
    IDLE_GPU = "idle_gpu"
    CONDITION = "condition"
    DERIVED = "derived"
    NO_MODEL = "no_model"
    NO_EQUIVALENT = "no_equivalent"
    SEVERAL_GPUS = "several_gpus"


class Unmatched(StrEnum):
    """Why these records have no figure for a published one that could stand next to ours."""

    NO_GPU = "no_gpu"
    NOT_RUN = "not_run"
    OTHER_DATA = "other_data"
    CUT_SHORT = "cut_short"
    NOT_RECORDED = "not_recorded"


class Caveat(StrEnum):
    """How a published figure and ours differ although they are of the same thing."""

    MACHINE = "machine"
    MEAN_AND_PEAK = "mean_and_peak"
    SHARE_AND_CORES = "share_and_cores"
    SYSTEM_AND_PROCESS = "system_and_process"
    PER_EPOCH = "per_epoch"
    PER_1000 = "per_1000"
    PER_1280 = "per_1280"


class Condition(StrEnum):
    """A condition that a published figure and ours may not share."""

    BATCH_SIZE = "batch_size"
    THREADS = "threads"
    DATASET = "dataset"
    EPOCHS = "epochs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A condition with the published value and ours."""

    condition: Condition
    theirs: str
    ours: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Our side of a published figure: any of the frameworks, in order of preference.

    ``dataset`` is the one that the figure depends on, empty if any will do.
    """

    model: str
    frameworks: tuple[str, ...]
    metric: str
    is_gpu: bool
    dataset: str = ""
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A published figure by its file and its row in there, the first being 1, with its place or the reason for none."""

    file: str
    row: int
    figure: Figure
    place: Place | None = None
    absence: Absence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """A placed figure with ours and the conditions that differ, or the reason why these records have none."""

    placed: Placed
    case: Observed | None = None
    ours: float | None = None
    differences: tuple[Difference, ...] = ()
    unmatched: Unmatched | None = None


# What the networks are that no two frameworks share (gatech), that were not trained (rosetta), or trained longer.
_MODELS = {
    "cnn 200 epochs": "tartu-cifar10-cnn",
    "resnet50-features": "rosetta-resnet50-features",
    "tensorflow default MNIST": "gatech-tensorflow-mnist",
    "caffe default MNIST": "gatech-lenet",
    "torch default MNIST": "gatech-torch-mnist",
    "theano default MNIST": "gatech-theano-mnist",
    "tensorflow default CIFAR-10": "gatech-tensorflow-cifar10",
    "caffe default CIFAR-10": "gatech-caffe-cifar10",
    "torch default CIFAR-10": "gatech-torch-cifar10",
    "theano default CIFAR-10": "gatech-theano-cifar10",
    "tensorflow Inception-v3 ImageNet": "gatech-inception-v3",
}
_DATASETS = {
    "MNIST": "mnist",
    "CIFAR-10": "cifar10",
    "CIFAR10": "cifar10",
    "CIFAR-100": "cifar100",
    "SVHN": "svhn-extra",
    "IMDB": "imdb500",
    "PTB": "ptb30",
    "ManyThings spa-eng": "manythings",
    "ImageNet": "imagenet",
    "ChestX-ray14": "chestxray14",
}
# Of these models the texts are in examples of another length than those of _DATASETS.
_TEXTS = {"rosetta-imdb-gru": "imdb150", "hkbu-lstm": "ptb32"}
SYNTHETIC = "synthetic"
_OF_MACHINE = (Caveat.MACHINE,)
_OF_SYSTEM = (Caveat.MACHINE, Caveat.SYSTEM_AND_PROCESS)
# By published metric: ours, and how the two differ.
_METRICS: dict[str, tuple[str, tuple[Caveat, ...]]] = {
    "time_per_minibatch": ("step_time", _OF_MACHINE),
    "training_time": ("training_time", _OF_MACHINE),
    "training_time_10_epochs": ("training_time", _OF_MACHINE),
    "training_time_5_epochs": ("training_time", _OF_MACHINE),
    "training_time_3_epochs": ("training_time", _OF_MACHINE),
    "training_wall_time_as_run": ("training_time", _OF_MACHINE),
    "last_elapsed_time_in_log": ("training_time", _OF_MACHINE),
    "training_time_per_epoch": ("throughput", (Caveat.MACHINE, Caveat.PER_EPOCH)),
    "median_epoch_time": ("throughput", (Caveat.MACHINE, Caveat.PER_EPOCH)),
    "training_speed_avg": ("throughput", _OF_MACHINE),
    "avg_time_per_1000_images": ("throughput", (Caveat.MACHINE, Caveat.PER_1000)),
    "inference_wall_time_1280_images": ("throughput", (Caveat.MACHINE, Caveat.PER_1280)),
    "inference_speed": ("throughput", _OF_MACHINE),
    "testing_time": ("evaluation_time", _OF_MACHINE),
    "evaluation_wall_time_as_run": ("evaluation_time", _OF_MACHINE),
    "accuracy": ("accuracy", ()),
    "test_accuracy": ("accuracy", ()),
    "final_test_accuracy": ("accuracy", ()),
    "best_test_accuracy": ("best_accuracy", ()),
    "auc": ("auroc", ()),
    "memory_avg": ("mean_rss", (Caveat.SYSTEM_AND_PROCESS,)),
    "memory_max": ("peak_rss", (Caveat.SYSTEM_AND_PROCESS,)),
    "host_memory_avg": ("mean_rss", ()),
    "host_memory_max": ("peak_rss", ()),
    "cpu_total_avg": ("cpu_use", (*_OF_SYSTEM, Caveat.SHARE_AND_CORES)),
    "cpu_utilisation_avg": ("cpu_use", (*_OF_SYSTEM, Caveat.SHARE_AND_CORES)),
    "cpu_utilisation_max": ("peak_cpu_use", (*_OF_SYSTEM, Caveat.SHARE_AND_CORES)),
    "cpu_user_avg": ("user_share", _OF_SYSTEM),
    "cpu_system_avg": ("system_share", _OF_SYSTEM),
    "cpu_iowait_avg": ("iowait_share", _OF_MACHINE),
    "gpu_memory_avg": ("gpu_memory", (Caveat.MEAN_AND_PEAK,)),
    "gpu_memory_max": ("gpu_memory", ()),
    "gpu_power_avg": ("gpu_power", _OF_MACHINE),
    "gpu_utilisation_avg": ("gpu_utilisation", _OF_MACHINE),
    "gpu_utilisation_max": ("peak_gpu_utilisation", _OF_MACHINE),
}
_OF_ACCURACY = ("accuracy", "best_accuracy")
# As long as their logs are, whatever the recipe says.
_OF_LOGS = ("last_elapsed_time_in_log",)


def placed(source: str) -> tuple[Placed, ...]:
    """Every figure of a study, none omitted."""
    return tuple(_placed(file, row, figure) for file in studies()[source].files for row, figure in numbered(file))


def counts(figures: Iterable[Placed]) -> Counter[str]:
    """How many are placed, and how many are absent for each reason."""
    return Counter("placed" if one.absence is None else one.absence.value for one in figures)


def our_model(figure: Figure) -> str | None:
    """Our model of a published one, also where no two frameworks shared it."""
    return names.model(figure) or _MODELS.get(figure.model)


def _placed(file: str, row: int, figure: Figure) -> Placed:
    found = _place(figure)
    if isinstance(found, Absence):
        return Placed(file=file, row=row, figure=figure, absence=found)
    return Placed(file=file, row=row, figure=figure, place=found)


def _place(figure: Figure) -> Place | Absence:
    if absence := _of_figure(figure) or _of_ours(figure):
        return absence
    metric, caveats = _METRICS[figure.metric]
    return Place(
        model=our_model(figure) or "",
        frameworks=names.FRAMEWORKS[figure.framework],
        metric=metric,
        is_gpu=figure.gpus == "1",
        dataset=_dataset(figure) if metric in _OF_ACCURACY else "",
        caveats=caveats,
    )


def _of_ours(figure: Figure) -> Absence | None:
    """Reasons on our side."""
    reasons = (
        (Absence.NO_MODEL, our_model(figure) is None),
        (Absence.NO_EQUIVALENT, figure.framework not in names.FRAMEWORKS),
        (Absence.SEVERAL_GPUS, figure.gpus not in ("0", "1")),
        (Absence.ZERO, figure.value in ("0", "0.0")),
    )
    return next((absence for absence, applies in reasons if applies), None)


def _of_figure(figure: Figure) -> Absence | None:
    """Reasons in the figure itself."""
    if figure.value in ("", "-"):
        return Absence.NOT_PRINTED
    if figure.metric.startswith("gpu_") and figure.gpus == "0":
        return Absence.IDLE_GPU
    is_difference = figure.metric.startswith("training_time_extra")
    return Absence.CONDITION if figure.metric == "epochs_logged" else Absence.DERIVED if is_difference else None


def match(figures: Iterable[Placed], cases: Sequence[Observed]) -> Iterator[Matched]:
    """Our figure for each of those that have a place, or why these records have none."""
    for one in figures:
        if one.place:
            yield _match(one, one.place, cases)


def _match(one: Placed, place: Place, cases: Sequence[Observed]) -> Matched:
    metric = METRICS[place.metric]
    on_device = [case for case in cases if case.case.device == ("gpu" if place.is_gpu else "cpu")]
    same = [case for case in on_device if case.case.model == place.model and case.case.framework in place.frameworks]
    if not same:
        is_without_gpu = place.is_gpu and not any(case.case.model == place.model for case in on_device)
        return Matched(placed=one, unmatched=Unmatched.NO_GPU if is_without_gpu else Unmatched.NOT_RUN)
    on_data = [case for case in same if place.dataset in ("", case.case.dataset)]
    if not on_data:
        return Matched(placed=one, unmatched=Unmatched.OTHER_DATA)
    whole = [case for case in on_data if not metric.needs_whole_recipe or is_whole_recipe(case.case, case.context)]
    if not whole:
        return Matched(placed=one, unmatched=Unmatched.CUT_SHORT)
    known = [case for case in whole if place.metric in summarise(case.runs)]
    if not known:
        return Matched(placed=one, unmatched=Unmatched.NOT_RECORDED)
    case = min(known, key=lambda case: _distance(one.figure, place, case))
    differences = tuple(_differences(one.figure, case))
    return Matched(placed=one, case=case, ours=summarise(case.runs)[place.metric], differences=differences)


def _differences(figure: Figure, case: Observed) -> Iterator[Difference]:
    """The known conditions that differ; studies do not print all."""
    logged = re.search(r"(\d+) epochs logged", figure.note) if figure.metric in _OF_LOGS else None
    counts: tuple[tuple[Condition, str, int | None], ...] = (
        (Condition.BATCH_SIZE, figure.batch_size, case.context.batch_size),
        (Condition.THREADS, figure.threads, case.case.threads),
        (Condition.EPOCHS, logged[1] if logged else "", case.recipe.get("epochs")),
    )
    for condition, theirs, ours in counts:
        if theirs.isdigit() and ours and int(theirs) != ours:
            yield Difference(condition=condition, theirs=f"{int(theirs):,}", ours=f"{ours:,}")
    if _dataset(figure) != case.case.dataset:
        yield Difference(condition=Condition.DATASET, theirs=figure.dataset, ours=case.case.dataset)


def _dataset(figure: Figure) -> str:
    """Our name of a published data set; their synthetic ones are named by their shape."""
    if figure.dataset.startswith(SYNTHETIC):
        return SYNTHETIC
    return _TEXTS.get(our_model(figure) or "") or _DATASETS.get(figure.dataset, figure.dataset)


def _distance(figure: Figure, place: Place, case: Observed) -> tuple[int, float, float]:
    """How far the conditions of a case are from the published ones: framework, batch size, threads."""
    batch = int(figure.batch_size) if figure.batch_size.isdigit() else case.context.batch_size
    ours = case.context.batch_size
    of_batch = abs(log(ours / batch)) if ours and batch else 0.0
    of_threads = abs(log(case.case.threads / int(figure.threads))) if figure.threads.isdigit() else -case.case.threads
    return place.frameworks.index(case.case.framework), of_batch, of_threads
