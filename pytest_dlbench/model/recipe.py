"""How a model is trained: the optimiser, the batch, the number of epochs or steps."""

from dataclasses import dataclass
from math import inf
from typing import Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import require_positive
from pytest_dlbench.model.optimizers import Optimizer
from pytest_dlbench.model.schedules import Moment, Schedule

Precision = Literal["float32", "float64", "bfloat16", "float16"]
MIXED = frozenset({"bfloat16", "float16"})
# Fields that say how a framework computes, off by default in every framework.
EXECUTION = ("autotune", "channels_last", "cuda_graphs", "deterministic", "tf32")
# Fields that records older than them lack, and what they were then.
LATER = {
    "accumulation": 1,
    "crop_padding": 0,
    "flips": False,
    "validation": False,
    "patience": None,
    "monitor": "loss",
    "tested_epoch": "last",
    "library": None,
    "loader": "native",
    "loader_workers": 0,
}
Rule = Literal["glorot", "he"]
Initialisation = Literal[Rule, "framework"]
Input = Literal["memory", "pipeline", "jpeg"]
Loader = Literal["native", "plain"]
Monitor = Literal["loss", "accuracy"]
TestedEpoch = Literal["last", "best"]
Library = Literal["eigen", "ideep", "mkl", "onednn", "openblas"]
Purpose = Literal["training", "inference", "operator", "search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The training settings of one case.

    Its length (at scale full) is either ``epochs``, or ``steps`` if the source counts batches. Every epoch has a new
    seeded order, of which only whole batches are used. ``schedule`` changes the learning rate from step to step.
    ``clip_norm`` limits the Euclidean norm of the gradient of all parameters together (Pascanu et al. 2013).

    ``init="glorot"`` and ``"he"`` start every framework from the same seeded arrays, drawn by that rule
    (``model.initial``); ``"framework"`` starts each framework from its own defaults.

    ``precision="bfloat16"`` and ``"float16"`` mean mixed precision: layers compute in it as in each framework's own
    mixed precision; weights and their updates are float32.

    ``input="memory"`` hands the framework all examples before the first step. With ``"pipeline"`` a thread of the
    worker reads batches while the framework trains on earlier ones, and a step's time includes its wait for input.

    With ``"jpeg"`` the framework's own data loader reads each batch from a folder of JPEG files, with
    ``loader_workers`` processes or threads that decode ahead of the training, or with 0 in the step itself.
    ``loader="plain"`` has the same loader for all frameworks, in Python and NumPy, which is also that of a framework
    without one.

    With ``accumulation`` above 1, each batch is cut into that many parts, one after the other: the update is by the
    mean of their gradients, and the loss of the step is the mean of theirs. Batch normalisation normalises within a
    part.

    ``crop_padding`` pads images by that many zeros on every side and cuts a window of the original size at a random
    place; ``flips`` mirrors every other image, left to right, at random (He et al. 2015). The driver draws the places,
    the worker changes each batch in NumPy, in the thread of the pipeline: so this needs ``input="pipeline"``, and all
    frameworks train on the same pixels.

    The test split is evaluated every ``evaluation_interval`` epochs, outside the training time; None means only after
    the last step.

    ``validation`` trains on four fifths of the training split and evaluates the other fifth, always the same examples,
    whenever the test split is evaluated. With a ``patience``, training stops after that many epochs in a row without a
    lower validation loss, or a higher validation accuracy if ``monitor`` says so. ``tested_epoch`` says of which
    epoch's weights the test results are: the last one's, or those with the best validation.

    The settings of execution are the same for all frameworks, and off in all of them by default, except ``autotune``.
    ``tf32`` lets GPUs round the factors of float32 products to 10 binary digits. With ``autotune``, cuDNN and XLA
    choose algorithms by timing them; None means that each framework does on GPUs what it does by itself.
    ``deterministic`` permits only operations whose results are equal to the bit in every run, so it excludes
    ``autotune``. ``channels_last`` keeps images channels last in memory, where otherwise each framework's builder
    chooses. With ``cuda_graphs`` a step is launched as graphs of kernels. A framework that cannot do what is set does
    not train.

    ``library`` is the one that computes convolutions and products on processors, another setting of execution; None
    means that each framework has its own default.
    """

    batch_size: int
    epochs: int | None = None
    steps: int | None = None
    optimizer: Optimizer
    schedule: Schedule | None = None
    clip_norm: float | None = None
    accumulation: int = 1
    crop_padding: int = 0
    flips: bool = False
    precision: Precision = "float32"
    init: Initialisation = "glorot"
    evaluation_interval: int | None = 1
    validation: bool = False
    patience: int | None = None
    monitor: Monitor = "loss"
    tested_epoch: TestedEpoch = "last"
    input: Input = "memory"
    loader: Loader = "native"
    loader_workers: int = 0
    autotune: bool | None = None
    channels_last: bool = False
    cuda_graphs: bool = False
    deterministic: bool = False
    tf32: bool = False
    library: Library | None = None

    def __post_init__(self) -> None:
        require_positive((self.batch_size,), "the batch size")
        require_positive((self.accumulation,), "the accumulation")
        if self.crop_padding < 0:
            raise ModelError(f"crop_padding must be 0 or more, got {self.crop_padding}")
        if self.loader_workers < 0:
            raise ModelError(f"loader_workers must be 0 or more, got {self.loader_workers}")
        self._require_one_length()
        if self.evaluation_interval is not None:
            require_positive((self.evaluation_interval,), "the evaluation interval")
        if self.patience is not None:
            require_positive((self.patience,), "the patience")
        if self.clip_norm is not None and not 0 < self.clip_norm < inf:
            raise ModelError(f"clip_norm must be above 0 and finite, got {self.clip_norm!r}")
        if self.deterministic and self.autotune:
            raise ModelError(
                "deterministic=true needs autotune=false: which algorithm is the fastest differs from run to run"
            )

    def _require_one_length(self) -> None:
        lengths = {"epochs": self.epochs, "steps": self.steps}
        given = {name: length for name, length in lengths.items() if length is not None}
        if len(given) != 1:
            found = " and ".join(f"{name}={length}" for name, length in given.items()) or "neither"
            raise ModelError(f"a recipe needs either epochs or steps, got {found}")
        for name, length in given.items():
            require_positive((length,), name)

    @property
    def input_in_full(self) -> str:
        """Where examples come from, with the loader of JPEG files: figures of two inputs are not comparable."""
        loader = f", {self.loader} loader, {self.loader_workers} loader workers"
        return f"{self.input}{loader if self.input == 'jpeg' else ''}"

    @property
    def is_augmented(self) -> bool:
        """Whether training images are cropped or flipped."""
        return bool(self.crop_padding or self.flips)

    @property
    def execution(self) -> tuple[str, ...]:
        """The settings of execution that are on, and "library=onednn" if that library is asked for."""
        library = (f"library={self.library}",) if self.library else ()
        return tuple(name for name in EXECUTION if getattr(self, name)) + library

    @property
    def stored_precision(self) -> str:
        """The precision of weights and their updates."""
        return "float32" if self.precision in MIXED else self.precision

    def learning_rates(self, *, steps: int, steps_per_epoch: int) -> tuple[float, ...]:
        """The learning rate of every step."""
        rate = self.optimizer.learning_rate
        if self.schedule is None:
            return (rate,) * steps
        moments = (
            Moment(step=step, epoch=step / steps_per_epoch, share=step / steps, steps=steps) for step in range(steps)
        )
        return tuple(rate * self.schedule.at(moment) for moment in moments)
