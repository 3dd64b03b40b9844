"""What goes beyond a chain of layers over images: branches, sequences, heads, optimisers, schedules, in float64.

As in test_builders_agree, every framework has one worker, from which tests request what they need, and PyTorch is the
oracle (JAX for PyTorch). A builder trains what is in its SUPPORTS, and refuses everything else.

Most of the time goes into compiling: a network that takes long is there once, with the recipe that shows most of it,
and recipes by themselves are tried on what compiles fastest. Frameworks that compile for each size of a batch evaluate
in batches of one size; that the last, smaller batch changes nothing is shown for them by test_builders_agree.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_dlbench.data import Arrays, Dataset
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.data.synthetic import boxes_on_noise
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import (
    GELU,
    GRU,
    LSTM,
    SGD,
    Adadelta,
    Adam,
    AdamW,
    Add,
    Anchors,
    Attention,
    AvgPool,
    BatchNorm,
    Concat,
    Conditioned,
    Conv2D,
    Cosine,
    Cut,
    Dense,
    DetectionLoss,
    Detections,
    Dropout,
    Embedding,
    FirstStep,
    Flatten,
    GlobalAvgPool,
    Head,
    InverseTime,
    Layer,
    LayerNorm,
    LocalResponseNorm,
    LogSoftmax,
    MaxPool,
    Model,
    PadChannels,
    Positions,
    Recipe,
    RegionProposals,
    ReLU,
    RMSprop,
    RoIAlign,
    SequenceCrossEntropy,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    StepDecay,
    Tanh,
    TiedDense,
    WarmUpCosine,
    infer,
)
from pytest_dlbench.model.needs import needs
from pytest_dlbench.running.messages import Built, Evaluated, Failed, Inferred, Trained, Updated
from tests.worker.places import place_of
from tests.worker.sessions import Session, session
from tests.worker.test_builders_agree import BOUNDS, SINGLE_PRECISION_ONLY, TRAINED

# What a builder supports only on other backends or in newer releases, and why: it refuses before it builds anything.
LACKS: Mapping[str, Mapping[str, str]] = {
    "pytorch-1.0": {
        "adamw": "new in 1.3",
        "attention": "new in 2.0",
        "gelu": "new in 1.4",
        "gelu_tanh": "new in 1.12",
        "region_proposals": "new in 1.9",
    },
    "tinygrad": {"gelu": "its erf is accurate to 1.5e-7"},
    "keras2-cntk": {"lstm": "its output is the cell", "start": "a GRU gives wrong results"},
}
# Takes seconds for each size of a batch that is evaluated.
COMPILES_EACH_SIZE = frozenset({"jax", "keras-jax", "pytorch-compile", "tensorflow-xla", "tinygrad"})
STEPS, EXAMPLES, CLASSES, WORDS, BATCH = 6, 48, 4, 20, 16
IMAGE = (2, 9, 10)
PLAIN = Recipe(batch_size=8, epochs=4, optimizer=SGD(0.1, momentum=0.9, weight_decay=1e-3), precision="float64")


def model(
    name: str, *layers: Layer, shape: tuple[int, ...] = IMAGE, head: Head | None = None, words: int | None = None
) -> Model:
    head = head or SoftmaxCrossEntropy(classes=CLASSES)
    return Model(name=name, family="rnn", input_shape=shape, layers=layers, head=head, recipe=PLAIN, vocabulary=words)


def classifier(name: str, *layers: Layer, shape: tuple[int, ...] = IMAGE) -> Model:
    return model(name, *layers, GlobalAvgPool(), Flatten(), Dense(CLASSES), shape=shape)


def reader(name: str, *layers: Layer, head: Head | None = None) -> Model:
    return model(name, *layers, shape=(5,), head=head, words=WORDS)


LANGUAGE = reader(
    "language-model",
    Embedding(WORDS, 5, limit=1.0),
    LSTM(6, sequence=True),
    Dropout(0.0),
    Dense(WORDS),
    head=SequenceCrossEntropy(classes=WORDS),
)
FLAGS = model("flags", Flatten(), Dense(6), head=SigmoidCrossEntropy(flags=6))
PAIRS = model(
    "pairs-of-sentences",
    Conditioned(
        LSTM(6, sequence=True),
        start=(Cut(0, 5), Embedding(WORDS, 5, padding=0, limit=1.0), LSTM(6)),
        sequence=(Cut(5, 9), Embedding(15, 4, limit=1.0)),
    ),
    Dense(15),
    shape=(9,),
    head=SequenceCrossEntropy(classes=15, ignored=0),
    words=15,
)
# What images go through besides chains of layers, compiled once. Some windows of both poolings extend past the image.
# No ReLU comes before MaxPool: with ties in a window the gradient is ambiguous, and Caffe2's differs.
BRANCHED = classifier(
    "branched",
    # As in Inception.
    Concat((Conv2D(3, 1), ReLU()), (AvgPool(3, stride=1, padding=1),), ()),
    Conv2D(4, 3),
    # A shortcut to more channels at half the size; an odd row is dropped.
    Add((AvgPool(2), PadChannels(6)), (Conv2D(6, 2, stride=2),)),
    Tanh(),
    MaxPool(3, stride=2, ceil=True),
    AvgPool(3, stride=2, ceil=True),
    Conv2D(4, 3, groups=2),
    ReLU(),
    Conv2D(6, (3, 2), groups=2, padding="same", stride=2),
    shape=(2, 49, 50),
)
RESIDUAL = classifier("residual", Add((Conv2D(2, 3, padding=1), BatchNorm(), ReLU(), Conv2D(2, 1)), ()), ReLU())
LSTM_ALONE = reader("lstm", Embedding(WORDS, 5, limit=1.0), LSTM(6), Dense(CLASSES))
LOG_SOFTMAX = model("log-softmax", Flatten(), Dense(CLASSES), LogSoftmax())
BIGRAMS = reader(
    "bigrams", Embedding(WORDS, 5, limit=1.0), Dense(WORDS), head=SequenceCrossEntropy(classes=WORDS, ignored=0)
)
# Pre-norm, as in GPT-2, with causal attention and tied weights.
DECODER = reader(
    "decoder",
    Embedding(WORDS, 6, limit=1.0),
    Positions(limit=1.0),
    Add((LayerNorm(epsilon=1e-3), Dense(18), Attention(2, causal=True), Dense(6)), ()),
    Add((LayerNorm(), Dense(8), GELU(tanh=True), Dense(6)), ()),
    LayerNorm(),
    TiedDense(WORDS),
    head=SequenceCrossEntropy(classes=WORDS),
)
# Post-norm, as in BERT, of sequences that end before their padding.
ENCODER = reader(
    "encoder",
    Embedding(WORDS, 6, padding=0, limit=1.0),
    Positions(limit=1.0),
    Add((Dense(18), Attention(3), Dense(6)), ()),
    LayerNorm(),
    Add((Dense(8), GELU(), Dense(6)), ()),
    LayerNorm(),
    FirstStep(),
    Dense(CLASSES),
)
MASKED_DECODER = reader(
    "decoder-of-lengths",
    Embedding(WORDS, 6, padding=0, limit=1.0),
    Dense(18),
    Attention(2, causal=True),
    TiedDense(WORDS),
    head=SequenceCrossEntropy(classes=WORDS, ignored=0),
)
# Two shapes at each of 6×6 cells, some beyond the edges; all of it is trained on, and proposals are suppressed.
DETECTOR = model(
    "detector",
    Conv2D(4, 3, stride=2, padding=1),
    ReLU(),
    Conv2D(5, 3, stride=2, padding=1),
    ReLU(),
    RegionProposals(
        anchors=Anchors(shapes=((7, 7), (10, 14)), stride=4),
        trunk=(Conv2D(6, 3, padding=1), Tanh()),
        before=30,
        after=8,
        samples=16,
        overlap=0.5,
    ),
    RoIAlign(3),
    Dense(8),
    ReLU(),
    Detections(2),
    shape=(2, 24, 24),
    head=DetectionLoss(classes=2, objects=3),
)
MODELS = (
    DETECTOR,
    DECODER,
    ENCODER,
    MASKED_DECODER,
    # A flattened image, whose order differs between layouts.
    model("layer-norm", Flatten(), LayerNorm(), Dense(CLASSES)),
    RESIDUAL,
    BRANCHED,
    classifier("response-norm", Conv2D(7, 3), LocalResponseNorm(3, alpha=0.5), ReLU(), LocalResponseNorm(k=2.0)),
    LOG_SOFTMAX,
    model("features", Flatten(), Concat((Dense(3), Tanh()), (Dense(2),)), BatchNorm(), Dense(CLASSES)),
    FLAGS,
    BIGRAMS,
    LANGUAGE,
    LSTM_ALONE,
    model("one-flag", Flatten(), Dense(1), head=SigmoidCrossEntropy(flags=1)),
    reader(
        "lstm-of-lengths", Embedding(WORDS, 5, padding=0, limit=1.0), LSTM(6, sequence=True), LSTM(5), Dense(CLASSES)
    ),
    reader("gru", Embedding(WORDS, 5, limit=1.0), GRU(6, sequence=True), Tanh(), GRU(5), Dense(CLASSES)),
    reader("gru-of-lengths", Embedding(WORDS, 5, padding=0, limit=1.0), GRU(6), Dense(CLASSES)),
    PAIRS,
)
# Large epsilons, so that it matters where they are added.
RECIPES = {
    "adam": replace(PLAIN, optimizer=Adam(0.01, beta1=0.8, beta2=0.99, epsilon=1e-2)),
    # A decay that is a tenth of a step of Adam.
    "adamw": replace(PLAIN, optimizer=AdamW(0.01, beta1=0.8, beta2=0.99, epsilon=1e-2, weight_decay=0.5)),
    "adadelta": replace(PLAIN, optimizer=Adadelta(0.9, rho=0.8, epsilon=1e-3)),
    "rmsprop": replace(PLAIN, optimizer=RMSprop(0.01, rho=0.8, epsilon=1e-2)),
    "clipped": replace(PLAIN, optimizer=SGD(0.5, momentum=0.5), clip_norm=0.3),
    "accumulated": replace(PLAIN, accumulation=2),
    "steps": replace(PLAIN, schedule=StepDecay(0.1, (1.0 / 3.0, 0.5))),
    "cosine": replace(PLAIN, optimizer=Adam(0.01), schedule=Cosine(0.1)),
    "warm-up": replace(PLAIN, optimizer=AdamW(0.01), schedule=WarmUpCosine(0.4, 0.1)),
    "inverse time": replace(PLAIN, optimizer=SGD(0.1, momentum=0.9, nesterov=True), schedule=InverseTime(0.5, 0.75)),
}
# The case that differs only in its input: with a schedule, for flags, and for tokens.
RESIDENT = {"steps, pipeline": "steps", "flags, pipeline": "flags", "bigrams, pipeline": "bigrams"}
# The case with the same gradients of whole batches, and so the same losses except for rounding.
WHOLE = {"accumulated": LOG_SOFTMAX.name}
# A name, the model, the recipe. Recipes are tried on what compiles fastest: for a network of flags tinygrad takes ten
# times as long.
_IN_MEMORY: Mapping[str, tuple[Model, Recipe]] = {
    **{tried.name: (tried, PLAIN) for tried in MODELS},
    **{name: (LOG_SOFTMAX, recipe) for name, recipe in RECIPES.items()},
    # Embeddings have sparse gradients, and some frameworks keep an LSTM's weights in one array or have two biases.
    LSTM_ALONE.name: (LSTM_ALONE, replace(RECIPES["adam"], clip_norm=0.3)),
    # Its embedding is the last layer's weights, too.
    DECODER.name: (DECODER, RECIPES["adamw"]),
    # Whose batch normalisation is of each part.
    "residual, accumulated": (RESIDUAL, RECIPES["accumulated"]),
}
CASES: Mapping[str, tuple[Model, Recipe]] = {
    **_IN_MEMORY,
    **{
        piped: (tried, replace(recipe, input="pipeline"))
        for piped, (tried, recipe) in ((piped, _IN_MEMORY[resident]) for piped, resident in RESIDENT.items())
    },
}


def _examples(tried: Model) -> Arrays:
    """Noise; sequences of tokens end at a random place, and the second of a pair of sentences with them."""
    generator = np.random.default_rng(7)
    network, head = infer(tried), tried.head
    if isinstance(head, DetectionLoss):
        sizes = {"objects": head.objects, "examples": (EXAMPLES, EXAMPLES)}
        return boxes_on_noise(tried.input_shape, head.classes, seed=7, **sizes)
    inputs: Any = generator.uniform(0, 1, size=(EXAMPLES, *tried.input_shape)).astype(np.float32)
    if tried.vocabulary:
        inputs = generator.integers(1, tried.vocabulary, size=(EXAMPLES, *tried.input_shape)).astype(np.int32)
        ends = generator.integers(1, 6, size=EXAMPLES)
        # The first five tokens of a pair are the source.
        inputs[:, :5][np.arange(5) >= ends[:, None]] = 0
    shape = (EXAMPLES, *network.label_shape)
    labels: Any = generator.integers(0, 2 if head.task == "flags" else head.classes, size=shape)
    labels = labels.astype(np.float32 if head.task == "flags" else np.int64)
    return Arrays(train_inputs=inputs, train_labels=labels, test_inputs=inputs, test_labels=labels)


def data_of(tried: Model) -> Dataset:
    return Dataset(
        name=f"noise-for-{tried.name}",
        version=1,
        shape=tried.input_shape,
        classes=tried.head.classes,
        train_examples=EXAMPLES,
        test_examples=EXAMPLES,
        make=lambda: _examples(tried),
        task=tried.head.task,
        vocabulary=tried.vocabulary,
        label_shape=infer(tried).label_shape if tried.head.task in ("tokens", "boxes") else (),
    )


# Theano takes ten seconds or more to compile the loop of a recurrent layer, once for each framework based on it: theano
# and lasagne train all cases, those that share a builder with another only one recurrent layer.
SHARING = frozenset({"theano-pymc", "keras2-theano"})


def cases_of(framework: str) -> list[str]:
    """The cases requested from a framework."""
    if framework not in SHARING:
        return list(CASES)
    return [case for case, (tried, _) in CASES.items() if case == "lstm" or not tried.vocabulary]


def lacks(framework: str, case: str) -> frozenset[str]:
    """What a framework lacks of what a case needs."""
    tried, recipe = CASES[case]
    needed = needs(infer(tried), recipe)
    # Unsupported features are reported before the builder can find out more.
    return (needed - (supports(FRAMEWORKS[framework]) or set())) or (needed & LACKS.get(framework, {}).keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    built: Built
    trained: Trained
    evaluated: Evaluated
    again: Evaluated
    inferred: Inferred
    outputs: Any
    updated: Updated


def attempt(
    asked: Session, tried: Model, recipe: Recipe, data: Any, folder: Path, *, first_batch: int = BATCH
) -> Trial | Failed:
    built = asked.build(infer(tried), recipe)
    if isinstance(built, Failed):
        return built
    answers = (
        asked.train(data, recipe, STEPS),
        asked.evaluate(data, batch_size=first_batch),
        asked.evaluate(data, batch_size=BATCH),
        asked.infer(data, batch_size=BATCH, outputs=folder / "outputs.npy"),
        asked.ask("check_updates", numbers=[0, 1, 2]),
    )
    failed = next((answer for answer in answers if isinstance(answer, Failed)), None)
    if failed:
        return failed
    return Trial(
        built=built,
        trained=answers[0],
        evaluated=answers[1],
        again=answers[2],
        inferred=answers[3],
        updated=answers[4],
        outputs=np.load(folder / "outputs.npy"),
    )


ORACLES = frozenset({"pytorch", "jax"})
Answers = Callable[[str], Trial | Failed]


@contextmanager
def answers(name: str, folder: Path, noise: Path) -> Iterator[Answers]:
    """The answers of a framework's worker, each case computed once, and only if a test requests it.

    So two processes of pytest-xdist that share the tests of a framework share its work, too.
    """
    precision: Any = "float32" if name in SINGLE_PRECISION_ONLY else "float64"
    with session(FRAMEWORKS[name], folder) as asked:
        hello = asked.hello()
        assert not isinstance(hello, Failed), f"{hello.message}\n{hello.traceback}"

        @cache
        def answer(case: str) -> Trial | Failed:
            tried, recipe = CASES[case]
            data, first_batch = prepare(data_of(tried), noise), BATCH if name in COMPILES_EACH_SIZE else 2 * BATCH
            return attempt(asked, tried, replace(recipe, precision=precision), data, folder, first_batch=first_batch)

        yield answer


@pytest.fixture(scope="module")
def ask(tmp_path_factory) -> Iterator[Callable[[str, str], Trial | Failed]]:
    """A framework's answer to a case. The oracle's workers are kept, and the last one of the others."""
    noise = tmp_path_factory.mktemp("noise")
    workers: dict[str, Answers] = {}
    with ExitStack() as oracles, ExitStack() as last:

        def ask(name: str, case: str) -> Trial | Failed:
            if name not in workers and name not in ORACLES:
                last.close()
                for gone in workers.keys() - ORACLES:
                    del workers[gone]
            if name not in workers:
                stack = oracles if name in ORACLES else last
                workers[name] = stack.enter_context(answers(name, tmp_path_factory.mktemp(name), noise))
            return workers[name](case)

        yield ask


@pytest.fixture
def framework(request) -> str:
    place_of(request.param, "vocabulary")
    return request.param


def agrees_with_memory(piped: Trial, resident: Trial | Failed) -> bool:
    """Whether training from a pipeline is bitwise equal to training from memory."""
    assert isinstance(resident, Trial), resident.message
    return piped.trained.losses == resident.trained.losses and piped.evaluated.loss == resident.evaluated.loss


def agrees_with_whole_batches(accumulated: Trial, whole: Trial | Failed, bound: float) -> bool:
    """Whether batches in parts give the losses of whole ones."""
    assert isinstance(whole, Trial), whole.message
    return accumulated.trained.losses == pytest.approx(whole.trained.losses, rel=bound, abs=0)


@pytest.mark.parametrize(
    ("framework", "case"), [(name, case) for name in TRAINED for case in cases_of(name)], indirect=["framework"]
)
def test_trains_as_the_oracle_what_it_supports_and_refuses_the_rest(ask, framework, case):
    tried, _ = CASES[case]
    our, missing = ask(framework, case), lacks(framework, case)
    if missing:
        assert isinstance(our, Failed)
        assert our.kind == "unsupported"
        assert all(lack in our.message for lack in missing)
        return
    assert isinstance(our, Trial), f"{our.message}\n{our.traceback}"
    their = ask("jax" if framework == "pytorch" else "pytorch", case)
    assert isinstance(their, Trial)
    bound = BOUNDS["float32" if framework in SINGLE_PRECISION_ONLY else "float64"]
    assert our.trained.losses == pytest.approx(their.trained.losses, rel=bound, abs=0)
    assert float(our.evaluated.loss) == pytest.approx(float(their.evaluated.loss), rel=bound, abs=0)
    assert our.evaluated.examples == our.again.examples == their.evaluated.examples
    assert our.evaluated.correct == our.again.correct
    assert our.evaluated.top5_correct == their.evaluated.top5_correct
    assert our.evaluated.map50 == their.evaluated.map50
    assert our.evaluated.auroc == pytest.approx(their.evaluated.auroc, abs=0)
    assert (our.evaluated.auroc is not None) == (tried.head.loss == "sigmoid_cross_entropy")
    assert our.evaluated.class_accuracies == their.evaluated.class_accuracies
    assert bool(our.evaluated.class_accuracies) == (tried.head.loss == "softmax_cross_entropy")
    assert (our.evaluated.map50 is not None) == (tried.head.task == "boxes")
    has_classes = tried.head.loss != "sigmoid_cross_entropy" and tried.head.classes > 10
    assert (our.evaluated.top5_correct is not None) == has_classes
    assert our.inferred.examples == EXAMPLES
    assert our.inferred.output == infer(tried).output
    assert our.outputs == pytest.approx(their.outputs, rel=10 * bound, abs=10 * bound)
    assert our.built.parameters == {name: parameter.shape for name, parameter in infer(tried).parameters.items()}
    assert our.updated.changed == (True, True, True)
    # Not a separate test: in another process of pytest-xdist the framework would train both cases again.
    assert case not in WHOLE or agrees_with_whole_batches(our, ask(framework, WHOLE[case]), bound)
    assert case not in RESIDENT or agrees_with_memory(our, ask(framework, RESIDENT[case]))


def test_the_current_frameworks_of_the_oracle_support_everything():
    wanted = frozenset().union(*(needs(infer(tried), recipe) for tried, recipe in CASES.values()))
    assert wanted <= supports(FRAMEWORKS["pytorch"])
    assert wanted <= supports(FRAMEWORKS["jax"])
