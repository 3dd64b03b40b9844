"""Single operators of every framework that has them: values and gradients are NumPy's in float64, to 1e-5."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.supports import operators
from pytest_dlbench.model.operator_values import arrays, values
from pytest_dlbench.model.operators import GEMM, RESULTS, Convolution, Operator, Recurrent
from pytest_dlbench.running import messages
from tests.worker.places import place_of
from tests.worker.sessions import session

PRODUCT = GEMM(m=40, n=24, k=56)
IMAGES = Convolution(image=(13, 17), channels=6, batch=4, filters=8, kernel=(3, 5), padding=(1, 2), stride=(2, 1))
SEQUENCES = Recurrent(cell="rnn", units=24, batch=4, steps=7)
EVERY = {
    one.name: one
    for one in (
        *(replace(PRODUCT, transposes_weights=weights, transposes_data=data) for weights in (0, 1) for data in (0, 1)),
        IMAGES,
        # The kernel does not reach the last pixels, and padding is larger than it (as in DeepBench's ResNets).
        replace(IMAGES, kernel=(1, 1), padding=(3, 3), stride=(2, 2)),
        *(replace(SEQUENCES, cell=cell) for cell in ("rnn", "lstm", "gru")),
        replace(PRODUCT, is_trained=False),
    )
}
HAVING = sorted(name for name, one in FRAMEWORKS.items() if operators(one))


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The results of all operators of a framework that it has, by one worker for all, and its refusals."""

    @cache
    def computed(name: str) -> dict[str, dict[str, np.ndarray]]:
        place_of(name, "operators")
        folder = tmp_path_factory.mktemp(name)
        with session(FRAMEWORKS[name], folder) as worker:
            worker.hello()
            known = operators(FRAMEWORKS[name])
            return {key: _results(worker, one, folder) for key, one in EVERY.items() if one.kind in known}

    return computed


def _results(worker, operator: Operator, folder) -> dict[str, np.ndarray]:
    path = folder / "arrays.npz"
    np.savez(path, **arrays(operator, 1))
    asked = {"operator": (operator.as_json(), str(path)), "probes": {"again": (operator.as_json(), str(path))}}
    prepared = messages.parse("prepare", worker.raw("prepare", **asked), messages.OPERATOR_ANSWERS)
    assert isinstance(prepared, messages.Prepared), prepared
    outputs = str(folder / "outputs.npz")
    raw = worker.raw("operate", calls=2, rounds=1, outputs=outputs)
    operated = messages.parse("operate", raw, messages.OPERATOR_ANSWERS)
    assert isinstance(operated, messages.Operated), operated
    assert operated.seconds.keys() == set(prepared.passes)
    with np.load(outputs) as found:
        return dict(found)


@pytest.mark.parametrize("operator", EVERY)
@pytest.mark.parametrize("framework", HAVING)
def test_values_and_gradients_are_numpys(computed, framework, operator):
    if operator not in computed(framework):
        assert EVERY[operator].kind not in operators(FRAMEWORKS[framework])
        return
    found, one = computed(framework)[operator], EVERY[operator]
    expected = values(one, arrays(one, 1))
    passes = {name.partition(".")[0] for name in found}
    assert found.keys() == {f"{name}.{part}" for name in passes for part in one.results(name)}
    for name, array in found.items():
        right = expected[name.partition(".")[2]]
        assert np.max(np.abs(array - right)) <= 1e-5 * np.max(np.abs(right)), name


@pytest.mark.parametrize("framework", HAVING)
def test_passes_give_every_gradient_once_unless_only_the_output_is_asked_for(computed, framework):
    for name, found in computed(framework).items():
        passes = {one.partition(".")[0] for one in found}
        gradients = [part for one in passes for part in RESULTS[one] if part != "output"]
        assert sorted(gradients) == (["data", "weights"] if EVERY[name].is_trained else [])


def test_a_framework_without_operators_has_none():
    assert operators(FRAMEWORKS["pytorch-compile"]) is None
    assert operators(Framework(name="own", builder="of_somebody_else")) is None
