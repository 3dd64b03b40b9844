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

This table is written by `python docs/zoo_page.py`, and `tests/test_documentation.py` holds it against the
code.
"""
COLUMNS = (
    *("model", "source", "input", "parameters", "multiply-adds"),
    *("batch", "epochs", "optimiser", "data sets", "marks"),
)


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_table()]) + "\n"


def _table() -> Iterator[str]:
    yield _line(COLUMNS)
    yield _line(["---", "---", "---", "--:", "--:", "--:", "--:", "---", "---", "---"])
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
        ", ".join(mark for mark in model.marks if mark not in model.sources),
    ]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
