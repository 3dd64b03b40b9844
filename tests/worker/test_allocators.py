"""What frameworks report of their allocators, shown on processors where their allocators count those, too."""

from dataclasses import replace

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.planning.plan import synthetic_for
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, session
from tests.worker.test_mixed_precision import NETWORK, RECIPE

FLOAT32_BYTES = 4
# The weights, their gradients and the velocities of SGD with momentum.
COPIES = 3


@pytest.mark.parametrize("name", ["mlx", "tinygrad"])
def test_the_peak_of_the_allocator_has_all_that_training_holds(name, tmp_path):
    place_of(name)
    framework = replace(FRAMEWORKS[name], builder=f"counts_{name}", folders=(BUILDERS,))
    data = prepare(synthetic_for(NETWORK.model), tmp_path)
    with session(framework, tmp_path / name) as asked:
        asked.hello()
        asked.build(NETWORK, RECIPE)
        first = asked.train(data, RECIPE, 6, taken=3)
        later = asked.train_on(3, 3)
    least = COPIES * FLOAT32_BYTES * NETWORK.parameter_count + data.part("train_inputs").stat().st_size
    assert least < first.device_peak_bytes <= later.device_peak_bytes < 2**30
