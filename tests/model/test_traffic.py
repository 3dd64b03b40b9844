"""Bytes of a step, checked against figures calculated by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.model import (
    GRU,
    LSTM,
    SGD,
    Adadelta,
    Adam,
    Conv2D,
    Dense,
    Embedding,
    Flatten,
    Model,
    Recipe,
    ReLU,
    RMSprop,
    SoftmaxCrossEntropy,
    infer,
)
from pytest_dlbench.model.traffic import step_bytes
from pytest_dlbench.zoo import MODELS

PLAIN = SGD(0.1)
# Convolution: 4 filters of 9 numbers and 4 biases, 4×6×6 outputs. Dense: 144×3 and 3 biases, 3 outputs.
PARAMETERS, OUTPUTS = 4 * 9 + 4 + 144 * 3 + 3, 144 + 3
LAYERS = (Conv2D(4, 3), ReLU(), Flatten(), Dense(3))


def bytes_of(optimizer=PLAIN, *, layers=LAYERS, shape=(1, 8, 8), vocabulary=None, batch=8, **recipe):
    asked = Recipe(batch_size=batch, epochs=1, optimizer=optimizer, **recipe)
    head = SoftmaxCrossEntropy(classes=3)
    model = Model(
        name="small", family="cnn", input_shape=shape, layers=layers, head=head, recipe=asked, vocabulary=vocabulary
    )
    return step_bytes(infer(model), asked)


def test_weights_move_twice_activations_four_times_and_inputs_once():
    assert bytes_of() == 4 * (2 * PARAMETERS + 4 * 8 * OUTPUTS + 8 * 64) == 24_664


def test_every_further_example_moves_its_activations_and_inputs():
    assert bytes_of(batch=1) == 4 * (2 * PARAMETERS + 4 * OUTPUTS + 64)
    assert bytes_of(batch=2) - bytes_of(batch=1) == 4 * (4 * OUTPUTS + 64)


@pytest.mark.parametrize(
    ("optimizer", "slots"), [(SGD(0.1, momentum=0.9), 1), (RMSprop(), 1), (Adam(), 2), (Adadelta(), 2)]
)
def test_every_slot_of_the_optimiser_is_read_and_written(optimizer, slots):
    assert bytes_of(optimizer) - bytes_of() == 4 * 2 * slots * PARAMETERS


def test_float64_moves_twice_the_bytes_of_float32():
    assert bytes_of(precision="float64") == 2 * bytes_of()


def test_mixed_precision_halves_activations_but_not_weights():
    assert bytes_of(precision="bfloat16") == 4 * 2 * PARAMETERS + 2 * (4 * 8 * OUTPUTS + 8 * 64)


@pytest.mark.parametrize("sequence", [True, False])
def test_a_recurrent_layer_moves_the_states_of_all_steps(sequence):
    layers = (Embedding(10, 2), LSTM(5, sequence=sequence), *((Flatten(),) if sequence else ()), Dense(3))
    dense = (35 if sequence else 5) * 3 + 3
    weights = 4 * 5 * (2 + 5 + 1) + dense
    outputs = 7 * 5 + 3
    found = bytes_of(layers=layers, shape=(7,), vocabulary=10, batch=1)
    assert found == 4 * (2 * weights + 4 * outputs + 7)


@pytest.mark.parametrize(
    ("optimizer", "times"), [(PLAIN, 0), (SGD(0.1, weight_decay=1e-4), 2), (SGD(0.1, momentum=0.9), 4), (Adam(), 6)]
)
def test_an_embedding_table_counts_if_the_update_touches_all_of_it(optimizer, times):
    small, large = (
        bytes_of(optimizer, layers=(Embedding(tokens, 2), GRU(5), Dense(3)), shape=(7,), vocabulary=10)
        for tokens in (10, 1010)
    )
    assert large - small == 4 * times * 2 * 1000


@given(st.sampled_from(sorted(MODELS)), st.integers(1, 512))
def test_doubling_the_batch_moves_more_bytes_but_less_than_twice_as_many(name, batch):
    model = MODELS[name]
    network, recipe = infer(model), model.recipe
    one, many = (
        step_bytes(network, Recipe(batch_size=size, epochs=1, optimizer=recipe.optimizer))
        for size in (batch, 2 * batch)
    )
    assert one < many < 2 * one
