"""docs/reference/zoo.md, from the models themselves: ``python docs/zoo_page.py`` writes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest_dlbench as dlb
from pytest_dlbench.model.shapes import show

PAGE = Path(__file__).parent / "reference" / "zoo.md"
HEAD = """# The zoo

The models of five studies, two Transformers and two detectors, each written once in the
[neutral vocabulary](vocabulary.md), in `pytest_dlbench/zoo/`.
Parameters are trainable ones; multiply-adds are for one example, forward. `tests/zoo/test_zoo.py` compares both with
the layers of the sources. Batch, length and optimiser are the source's own, which scale `full` trains: epochs, or steps
if the source counts those. Data sets are those that fit a model without changes; `synthetic` fits all. `dlbench models
NAME` shows a model layer by layer.

## Models

| {columns} |
{table}

This table is written by `python docs/zoo_page.py`; `tests/test_documentation.py` compares it with the code.

## Transformers

No study had one. `transformer-encoder` is BERT-Tiny (Turc et al. 2019; post-norm, exact GELU) as a classifier of the
first token, `gpt` is GPT-2 (Radford et al. 2019; pre-norm, GELU by tanh, tied embeddings) with 4 blocks of 128 features
and 4 heads. Both have trained positions and train with AdamW, a warm-up in the first tenth and half a cosine after it,
on text that comes with Python: `pytest bench -m "training and transformer" --dlbench-models all`. Their multiply-adds
count both products of attention in full. Each framework computes attention by its own function, if it has one:

| framework | attention on a CPU | fused |
|---|---|---|
| `pytorch`, `pytorch-compile`, `keras-torch` | `F.scaled_dot_product_attention` | yes |
| `jax`, `keras-jax` | `jax.nn.dot_product_attention` by XLA; `jax` in float64 two products | no |
| `keras-tensorflow` | `keras.ops.dot_product_attention` | no |
| `paddle` | `F.scaled_dot_product_attention` | no |
| `mlx` | `mx.fast.scaled_dot_product_attention` | only on a GPU, when only applied |
| `tinygrad` | `Tensor.scaled_dot_product_attention` | no |
| `tensorflow`, `tensorflow-xla`, `mxnet`, `mxnet-imperative` | two products and a softmax | no |

All others, and PyTorch before 2.0, are `unsupported`.

## Detectors

`faster-rcnn-shapes` is Faster R-CNN (Ren et al. 2015) in a size for `shapes`, generated images with up to four
rectangles, ellipses and triangles. `pytest bench -m detection` trains it on a CPU within minutes and certifies it, in
PyTorch and JAX; TensorFlow, Keras, Paddle, MXNet and Chainer have it, too. All other frameworks, PyTorch before 1.9,
and Paddle and MXNet in mixed precisions are `unsupported`. At scale full it reaches a `map50` of 0.92 in PyTorch (6
minutes) and 0.91 in JAX (1 minute): one run each, on two cores of an AMD EPYC with other work going on, so that the
times are not comparable.

Multiply-adds count the dense layers once for each region; RoIAlign and suppression, which multiply little, count as
none. All that is random is decided before training, once for all frameworks: which anchors are scored, and in which
order regions are drawn ([vocabulary](vocabulary.md)).

`faster-rcnn-voc` has the size of the tartu study: ResNet-50 without its last stage over images of 600 pixels, nine
anchors a cell, 2,000 proposals before suppression and 128 regions. It takes `voc2012`, or `synthetic` boxes. The study
published no source of its detector, and its text has the backbone, the optimiser and the number of epochs only: what
else there is follows Ren et al., with two dense layers after the regions (Lin et al. 2017). So the study's figures are
not set next to it. It is marked `slow`. In float32, its losses are compared with a bound of 3e-3: apparently rounding
decides which anchors are among the 2,000 best.

## Golden losses

Golden losses are ten losses in float64 on which PyTorch and JAX agree to 1e-11 (`faster-rcnn-voc`, normalised over one
image at a time, to 3e-11). Dozens of batch normalisations amplify
rounding about tenfold a step at the usual rate of 0.01 (hkbu-resnet-56: PyTorch and JAX differ by 5e-2 in one of ten
losses, in float64); such networks have a rate of 3e-5 to 1e-8, at which they agree to 2e-12, and training still changes
the tenth loss by 1e-4 to 1e-3. Every network that is trained has golden losses.

Ten losses show that two trainings are equal, not that anything is learned: each loss is from another batch, and differs
from the one before by more than training has reduced it. A separate test (`tests/worker/test_zoo_learns.py`) checks
that every network that is not marked slow learns: in PyTorch it memorises two examples within 150 steps, to a loss
below the entropy of their labels, which no network reaches that ignores its inputs.

Every recipe starts from weights by Glorot's rule (`init=glorot`) except those of VGG16, whose 16 layers without
normalisation halve the signal: its outputs for two images would differ by 6e-5, and 150 steps bring the loss to 0.69,
the entropy of two labels. With He's rule (`init=he`) thesis-vgg16-cifar10 learns, and is in that test although it is
slow. All golden losses are from weights by Glorot's rule, because what they compare needs no learning.
"""
COLUMNS = (
    *("model", "source", "input", "parameters", "multiply-adds"),
    *("batch", "length", "optimiser", "data sets", "golden losses", "marks"),
)


def page() -> str:
    """The whole page."""
    heading, *rows = _table()
    return HEAD.replace("| {columns} |", heading).replace("{table}", "\n".join(rows))


def _table() -> Iterator[str]:
    yield _line(COLUMNS)
    yield _line(["---", "---", "---", "--:", "--:", "--:", "---", "---", "---", "---", "---"])
    yield from (_line(_cells(model)) for model in dlb.MODELS.values())


def _cells(model: dlb.Model) -> list[str]:
    network, recipe = dlb.infer(model), model.recipe
    shape = show(model.input_shape) + (f" tokens of {model.vocabulary:,}" if model.vocabulary else "")
    trained = (f"{recipe.batch_size:,}", _length(recipe), type(recipe.optimizer).__name__)
    return [
        f"`{model.name}`",
        ", ".join(model.sources) or "–",
        shape,
        f"{network.parameter_count:,}",
        f"{network.multiply_adds:,}",
        *(trained if model.head.is_trained else ("–", "–", "applied only")),
        ", ".join(f"`{data.name}`" for data in dlb.DATASETS.values() if not dlb.misfit(model, data)) or "–",
        _golden(model),
        ", ".join(mark for mark in model.marks if mark not in model.sources),
    ]


def _length(recipe: dlb.Recipe) -> str:
    if recipe.steps:
        return f"{recipe.steps:,} steps"
    return f"{recipe.epochs:,} epoch{'s' if recipe.epochs != 1 else ''}"


def _golden(model: dlb.Model) -> str:
    """The data sets on which every framework's losses are compared with an oracle's."""
    return ", ".join(f"`{name}`" for name in GOLDEN.get(model.name, ())) or "–"


def _known_golden() -> dict[str, list[str]]:
    """Data sets by model, from the names of the files: model-dataset.json; a model may be a prefix of another."""
    found: dict[str, list[str]] = {}
    for path in sorted(PAGE.parents[2].glob("bench/fixtures/golden/*.json")):
        model = max((name for name in dlb.MODELS if path.stem.startswith(f"{name}-")), key=len)
        dataset = path.stem.removeprefix(f"{model}-")
        if not _is_of_this_machine(dataset):
            found.setdefault(model, []).append(dataset)
    return found


def _is_of_this_machine(dataset: str) -> bool:
    """Whether these data are not the same on all machines: their golden losses are not committed."""
    known = dlb.DATASETS.get(dataset)
    return bool(known and (known.source or known.edition))


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


GOLDEN = _known_golden()

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
