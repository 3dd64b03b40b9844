"""docs/zoo.md, from the models themselves: ``python docs/zoo_page.py`` writes it anew."""

from collections.abc import Iterator
from pathlib import Path

from pytest_dlbench.data import DATASETS
from pytest_dlbench.matrix import misfit
from pytest_dlbench.model import Model, infer
from pytest_dlbench.model.shapes import show
from pytest_dlbench.zoo import MODELS

PAGE = Path(__file__).with_name("zoo.md")
HEAD = """# The zoo

The models of five studies, each written once in the [neutral vocabulary](vocabulary.md), in
`pytest_dlbench/zoo/`. Parameters are those that are trained; multiply-adds are of one example, forward. Both
are held against the layers of the sources by `tests/test_zoo.py`. Batch, epochs and optimiser are the
source's own, which scale `full` trains; data sets are those that fit a model as it stands, and `synthetic`
fits all. `dlbench layers MODEL` shows a model layer by layer.

Golden losses are ten losses in float64 on which PyTorch and JAX agree to 1e-12. Dozens of batch normalisations amplify
rounding about tenfold a step at the usual rate of 0.01 (hkbu-resnet-56: PyTorch and JAX differ by 5e-2 in one of ten
losses, in float64); such networks have a rate of 1e-6 to 1e-8, at which they agree to 3e-14, and training still changes
the tenth loss by 1e-4 to 1e-3. Those without golden losses would be trained alike; JAX takes ten minutes for each in
float64, which have not been spent.

Ten losses say what is equal, not that anything is learned: each is of another batch, and differs from the one before
by more than it has fallen. That every network which is not slow learns is another test
(`tests/worker/test_zoo_learns.py`): in PyTorch it knows two examples by heart within 150 steps, to a loss below the
entropy of their labels, which no network reaches that does not look at its inputs. Of the slow ones
thesis-vgg16-cifar10 does not: from the shared weights the outputs of its 16 layers without normalisation differ by 6e-5
between two images. From weights √2 times as large (He et al. 2015) it does, in 34 steps.

This table is written by `python docs/zoo_page.py`, and `tests/test_documentation.py` holds it against the
code.
"""
COLUMNS = (
    *("model", "source", "input", "parameters", "multiply-adds"),
    *("batch", "epochs", "optimiser", "data sets", "golden losses", "marks"),
)


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_table()]) + "\n"


def _table() -> Iterator[str]:
    yield _line(COLUMNS)
    yield _line(["---", "---", "---", "--:", "--:", "--:", "--:", "---", "---", "---", "---"])
    yield from (_line(_cells(model)) for model in MODELS.values())


def _cells(model: Model) -> list[str]:
    network, recipe = infer(model), model.recipe
    shape = show(model.input_shape) + (f" tokens of {model.vocabulary:,}" if model.vocabulary else "")
    trained = (f"{recipe.batch_size:,}", f"{recipe.epochs:,}", type(recipe.optimizer).__name__)
    return [
        f"`{model.name}`",
        ", ".join(model.sources),
        shape,
        f"{network.parameter_count:,}",
        f"{network.multiply_adds:,}",
        *(trained if model.head.is_trained else ("–", "–", "applied only")),
        ", ".join(f"`{data.name}`" for data in DATASETS.values() if not misfit(model, data)) or "–",
        _golden(model),
        ", ".join(mark for mark in model.marks if mark not in model.sources),
    ]


def _golden(model: Model) -> str:
    """The data set on which every framework's losses are held against an oracle's."""
    return ", ".join(f"`{name}`" for name in GOLDEN.get(model.name, ())) or "–"


def _known_golden() -> dict[str, list[str]]:
    """Data sets by model, off the names of the files: model-dataset.json, and models may be prefixes of others."""
    found: dict[str, list[str]] = {}
    for path in sorted(PAGE.parents[1].glob("fixtures/golden/*.json")):
        model = max((name for name in MODELS if path.stem.startswith(f"{name}-")), key=len)
        found.setdefault(model, []).append(path.stem.removeprefix(f"{model}-"))
    return found


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


GOLDEN = _known_golden()

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
