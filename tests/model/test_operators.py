"""Single operators: NumPy's gradients against differences of its values, and arithmetic and traffic by hand."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.model.operator_values import arrays as arrays_of
from pytest_dlbench.model.operator_values import values
from pytest_dlbench.model.operators import GEMM, PASSES, Convolution, Operator, Recurrent

PRODUCT = GEMM(m=3, n=4, k=5)
IMAGES = Convolution(image=(7, 9), channels=2, batch=3, filters=4, kernel=(3, 2), padding=(1, 0), stride=(2, 3))
SEQUENCES = Recurrent(cell="gru", units=4, batch=3, steps=5)
EVERY = [
    *(replace(PRODUCT, transposes_weights=one, transposes_data=two) for one in (0, 1) for two in (0, 1)),
    IMAGES,
    replace(IMAGES, padding=(0, 2), stride=(1, 1)),
    *(replace(SEQUENCES, cell=cell) for cell in ("rnn", "lstm", "gru")),
]
STEP = 1e-6


@pytest.mark.parametrize("operator", EVERY, ids=lambda one: one.name)
def test_gradients_are_those_of_finite_differences(operator: Operator):
    arrays = {name: array.astype(float) for name, array in arrays_of(operator, 1).items()}
    found = values(operator, arrays)

    def weighted(name: str, direction: np.ndarray) -> float:
        moved = values(operator, {**arrays, name: arrays[name] + direction})["output"]
        return float((moved * arrays["gradient"]).sum())

    generator = np.random.default_rng(2)
    for name in operator.shapes:
        direction = generator.normal(size=arrays[name].shape)
        slope = (weighted(name, STEP * direction) - weighted(name, -STEP * direction)) / (2 * STEP)
        assert slope == pytest.approx(float((found[name] * direction).sum()), rel=1e-6), name


@pytest.mark.parametrize("operator", EVERY, ids=lambda one: one.name)
def test_shapes_are_those_of_its_arrays_and_its_name_has_all_sizes(operator: Operator):
    found = values(operator, arrays_of(operator, 1))
    assert found["output"].shape == operator.output
    assert {name: found[name].shape for name in operator.shapes} == operator.shapes
    assert len({one.name for one in EVERY}) == len(EVERY)
    assert replace(operator, is_trained=False).digest != operator.digest


def test_a_convolution_is_that_of_its_definition():
    arrays = arrays_of(IMAGES, 1)
    padded = np.pad(arrays["data"], ((0, 0), (0, 0), (1, 1), (0, 0)))
    # The third filter at the second row and column of the second image.
    expected = (padded[1, :, 2:5, 3:5].astype(float) * arrays["weights"][2]).sum()
    assert values(IMAGES, arrays)["output"][1, 2, 1, 1] == pytest.approx(expected)


def test_a_product_has_the_arithmetic_and_the_traffic_of_blas():
    assert [PRODUCT.flops(name) for name in PASSES] == [120, 120, 120, 240, 360]
    # 15 weights, 20 numbers of data and 12 of the output, which is read as a gradient.
    read_and_written = [47, 47, 47, 15 + 20 + 12 + 35, 15 + 20 + 12 + 47]
    assert [PRODUCT.least_bytes(name) for name in PASSES] == [4 * numbers for numbers in read_and_written]


def test_a_layer_over_sequences_multiplies_inputs_and_states_for_every_gate():
    assert SEQUENCES.multiply_adds == 5 * 3 * 3 * 4 * (4 + 4)
    assert replace(SEQUENCES, cell="lstm").multiply_adds == 5 * 3 * 4 * 4 * (4 + 4)


def test_only_long_sums_may_deviate_more_than_the_bound():
    assert PRODUCT.bound("output") == 1e-5
    long = replace(PRODUCT, k=500_000)
    assert long.bounds("forward") == {"output": pytest.approx(2**-24 * 500_000**0.5)}
    assert long.bounds("backward") == {"data": 1e-5, "weights": 1e-5}
    assert replace(PRODUCT, k=28_000).bound("output") == 1e-5
