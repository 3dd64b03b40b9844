"""Mixed precision: close to float32, and not the same."""

from dataclasses import replace

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Absent, Places
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import SGD, BatchNorm, Conv2D, Dense, Flatten, Model, Recipe, ReLU, SoftmaxCrossEntropy, infer
from pytest_dlbench.model.needs import needs
from pytest_dlbench.planning import synthetic_for
from pytest_dlbench.running.messages import Failed
from tests.worker.sessions import session

STEPS = 10
RECIPE = Recipe(batch_size=32, epochs=1, optimizer=SGD(0.02, momentum=0.9))
NETWORK = infer(
    Model(
        name="small",
        family="cnn",
        input_shape=(2, 9, 9),
        layers=(Conv2D(8, 3), BatchNorm(), ReLU(), Flatten(), Dense(16), ReLU(), Dense(4)),
        head=SoftmaxCrossEntropy(classes=4),
        recipe=RECIPE,
    )
)
# Of losses that fall from 1.6 to 0.05. bfloat16 has eight binary digits, float16 eleven.
BOUNDS = {"bfloat16": 0.03, "float16": 0.01}
CASES = [
    (name, precision)
    for name in ("pytorch", "jax")
    for precision in BOUNDS
    if precision in (supports(FRAMEWORKS[name]) or ())
]


@pytest.mark.parametrize(("name", "precision"), CASES)
def test_trains_nearly_as_float32_does(name, precision, tmp_path):
    place = Places().find(FRAMEWORKS[name])
    if isinstance(place, Absent):
        pytest.skip(place.reason)
    data, found = prepare(synthetic_for(NETWORK.model), tmp_path), {}
    with session(FRAMEWORKS[name], tmp_path / name) as asked:
        asked.hello()
        for each in ("float32", precision):
            recipe = replace(RECIPE, precision=each)
            built = asked.build(NETWORK, recipe)
            assert not isinstance(built, Failed), built.message
            found[each] = asked.train(data, recipe, STEPS), asked.evaluate(data)
    (exact, exactly), (mixed, evaluated) = found["float32"], found[precision]
    assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])
    assert mixed.losses != exact.losses
    assert float(evaluated.loss) == pytest.approx(float(exactly.loss), rel=0, abs=2 * BOUNDS[precision])


def test_a_builder_without_it_is_known_before_anything_runs():
    needed = needs(NETWORK, replace(RECIPE, precision="float16"))
    assert needed - supports(FRAMEWORKS["jax"]) == {"float16"}
    assert needed <= supports(FRAMEWORKS["pytorch"])
