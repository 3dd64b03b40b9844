"""Data loaders of JPEG files: every framework trains on the pixels of the prepared data, in the driver's order."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.jpeg import as_jpeg
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy, infer
from tests.worker.places import place_of
from tests.worker.sessions import session

ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "pytest_dlbench" / "worker" / "dlworker" / "frameworks"
PAGE = (ROOT / "docs" / "explanation" / "frameworks.md").read_text()
SWEEP = "loaders"
STEPS = 6
RECIPE = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))
MODEL = Model(
    name="linear",
    family="fcn",
    input_shape=(3, 16, 24),
    layers=(Flatten(), Dense(4)),
    head=SoftmaxCrossEntropy(classes=4),
    recipe=RECIPE,
)


def rows() -> dict[str, tuple[str, str, float]]:
    """The loader, the decoder and the levels that may differ, by framework."""
    table = PAGE.partition("## Data loaders")[2].partition("## ")[0]
    found = re.findall(r"^\| (`[^|]*) \| ([^|]*) \| [^|]* \| ([^|]*) \| ([\d.]+) \|$", table, re.MULTILINE)
    return {
        name: (loader, decoder, float(levels))
        for names, loader, decoder, levels in found
        for name in re.findall(r"`([\w.-]+)`", names)
    }


ROWS = rows()
# One for each loader; the others have the same.
NAMES = ("chainer", "jax", "keras-jax", "keras2-tensorflow", "mxnet", "paddle", "pytorch", "tensorflow", "tensorflow1")

# Equal levels round when they are scaled, and steps from losses of up to 15 make more of that: 1.6e-6 in TensorFlow 1
# on a processor without AVX-512.
ROUNDING = {"tensorflow1": 1e-5}


def test_the_table_has_a_row_for_every_framework():
    assert set(ROWS) == {name for name, framework in FRAMEWORKS.items() if framework.builder}


def test_every_loader_of_a_folder_is_tried():
    tried = {FRAMEWORKS[name].builder.split(".")[2] for name in NAMES}
    assert {file.parent.name for file in FOLDERS.glob("*/loader.py")} <= tried


@pytest.mark.parametrize("name", NAMES)
def test_a_loader_has_the_prepared_pixels_in_the_driver_s_order(name, tmp_path):
    place_of(name, SWEEP)
    data = prepare(as_jpeg(synthetic(MODEL.input_shape, 4)), tmp_path / "data")
    loader, decoder, levels = ROWS[name]
    losses = {}
    with session(FRAMEWORKS[name], tmp_path / "run") as worker:
        worker.hello()
        for workers in (None, 0, 2):
            recipe = RECIPE if workers is None else replace(RECIPE, input="jpeg", loader_workers=workers)
            worker.build(infer(MODEL), recipe)
            first = worker.train(data, recipe, STEPS, STEPS - 2, images=str(data.folder))
            then = worker.train_on(STEPS - 2, 2)
            losses[workers] = first.losses + then.losses
            if workers is not None:
                found = first.loading
                assert (found.loader, found.decoder.partition(" ")[0], found.workers) == (loader, decoder, workers)
                # Scaling a level to an input rounds.
                assert found.deviation <= levels + 1e-4
                assert len(found.decode_seconds) == len(found.read_seconds) == len(first.step_seconds) == STEPS - 2
                assert min(*found.decode_seconds, *found.read_seconds) > 0
                assert len(then.loading.decode_seconds) == 2
                assert all(first.input_seconds)
        worker.ask("close")
    assert losses[0] == losses[2]
    # A level is 0.004 of an input, and an input one of 1,152.
    assert np.allclose(losses[0], losses[None], rtol=ROUNDING.get(name, 1e-6) if levels == 0 else 2e-3, atol=0)
