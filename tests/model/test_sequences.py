"""Layers over sequences: shapes, parameters, multiply-adds, and which sequences end before their padding."""

from typing import get_args

import numpy as np
import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import (
    GRU,
    LSTM,
    SGD,
    Cut,
    Dense,
    Embedding,
    Model,
    Recipe,
    SequenceCrossEntropy,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    Tanh,
    infer,
)
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.model.recipe import Rule

RECIPE = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))


def model_of(*layers, head=None, steps=7):
    return Model(
        name="small",
        family="rnn",
        input_shape=(steps,),
        vocabulary=20,
        layers=layers,
        head=head or SoftmaxCrossEntropy(classes=3),
        recipe=RECIPE,
    )


def layers_by_name(model):
    return {layer["name"]: layer for layer in infer(model).as_json()["layers"]}


def shapes(layer, shape):
    return {parameter.role: parameter.shape for parameter in layer.infer(shape).parameters}


def test_an_embedding_gives_a_vector_for_each_token():
    inferred = Embedding(20, 5).infer((7,))
    assert inferred.output == (7, 5)
    assert inferred.multiply_adds == 0


def test_an_lstm_has_four_gates_and_one_bias():
    assert shapes(LSTM(6), (7, 5)) == {"weight": (5, 24), "recurrent": (6, 24), "bias": (24,)}


def test_a_gru_has_three_gates_and_two_biases():
    assert shapes(GRU(6), (7, 5)) == {"weight": (5, 18), "recurrent": (6, 18), "bias": (18,), "recurrent_bias": (18,)}


@pytest.mark.parametrize(("layer", "gates"), [(LSTM(6), 4), (GRU(6), 3)])
def test_every_step_costs_the_multiply_adds_of_all_gates(layer, gates):
    assert layer.infer((7, 5)).multiply_adds == 7 * gates * 6 * (5 + 6)


def test_a_recurrent_layer_gives_its_last_state_or_all_states():
    assert LSTM(6).infer((7, 5)).output == (6,)
    assert LSTM(6, sequence=True).infer((7, 5)).output == (7, 6)


def test_a_dense_layer_over_a_sequence_shares_its_weights_between_steps():
    inferred = Dense(4).infer((7, 5))
    assert inferred.output == (7, 4)
    assert inferred.parameters[0].shape == (5, 4)
    assert inferred.multiply_adds == 7 * 5 * 4


@pytest.mark.parametrize("shape", [(5,), (3, 8, 8)])
def test_an_input_that_is_not_a_sequence_is_refused(shape):
    with pytest.raises(ModelError, match="LSTM needs a sequence"):
        LSTM(6).infer(shape)


@pytest.mark.parametrize(("first", "last"), [(0, 8), (3, 3), (-1, 4)])
def test_a_cut_outside_the_row_is_refused(first, last):
    with pytest.raises(ModelError, match=f"Cut from {first} to {last} does not fit a row of 7"):
        Cut(first, last).infer((7,))


def test_lengths_come_from_the_embedding_with_a_padding():
    layers = layers_by_name(model_of(Embedding(20, 5, padding=0), Tanh(), LSTM(6, sequence=True), LSTM(6), Dense(3)))
    assert (layers["lstm1"]["lengths"], layers["lstm2"]["lengths"]) == ("embedding1", "embedding1")


def test_without_a_padding_all_steps_count():
    layers = layers_by_name(model_of(Embedding(20, 5), LSTM(6), Dense(3)))
    assert "lengths" not in layers["lstm1"]


@pytest.mark.parametrize("padding", [-1, 20])
def test_a_padding_outside_the_vocabulary_is_refused(padding):
    with pytest.raises(ModelError, match=f"padding must be a token below 20, got {padding}"):
        Embedding(20, 5, padding=padding)


def test_a_language_model_has_a_label_at_each_step():
    head = SequenceCrossEntropy(classes=20)
    network = infer(model_of(Embedding(20, 5), LSTM(6, sequence=True), Dense(20), head=head))
    assert network.label_shape == (7,)
    assert network.as_json()["loss"] == "sequence_cross_entropy"
    assert network.as_json()["ignored"] is None
    assert network.as_json()["vocabulary"] == 20


def test_a_sequence_head_after_a_last_state_is_refused():
    with pytest.raises(
        ModelError, match=r"the output of the last layer, 20, .*SequenceCrossEntropy.*end with Dense\(20\)"
    ):
        infer(model_of(Embedding(20, 5), LSTM(6), Dense(20), head=SequenceCrossEntropy(classes=20)))


def test_one_flag_is_two_classes():
    head = SigmoidCrossEntropy(flags=1)
    network = infer(model_of(Embedding(20, 5), LSTM(6), Dense(1), head=head))
    assert (head.task, head.classes, network.label_shape) == ("class", 2, ())


def test_several_flags_have_one_label_each():
    head = SigmoidCrossEntropy(flags=4)
    network = infer(model_of(Embedding(20, 5), LSTM(6), Dense(4), head=head))
    assert (head.task, head.classes, network.label_shape) == ("flags", 4, (4,))


def test_an_ignored_label_must_be_a_class():
    with pytest.raises(ModelError, match="the ignored label must be a class below 20, got 20"):
        SequenceCrossEntropy(classes=20, ignored=20)


def test_the_bias_of_forget_gates_starts_at_1():
    network = infer(model_of(Embedding(20, 5), LSTM(6), Dense(3)))
    bias = initial_weights(network, seed=1)["lstm1.bias"]
    assert bias.tolist() == [0.0] * 6 + [1.0] * 6 + [0.0] * 12


def test_an_embedding_starts_within_its_limit():
    network = infer(model_of(Embedding(20, 50, limit=0.5), LSTM(6), Dense(3)))
    vectors = initial_weights(network, seed=1)["embedding1.weight"]
    assert 0.45 < abs(vectors).max() <= 0.5


def test_arrays_that_no_rule_covers_start_the_same_by_every_rule():
    network = infer(model_of(Embedding(20, 5), LSTM(6), Dense(3)))
    glorot, he = (initial_weights(network, seed=1, rule=rule) for rule in get_args(Rule))
    equal = {name for name in glorot if np.array_equal(glorot[name], he[name])}
    assert equal == {"embedding1.weight", "lstm1.bias", "fc1.bias"}


def test_recurrent_weights_start_within_glorots_bounds_of_one_gate():
    network = infer(model_of(Embedding(20, 5), GRU(40), Dense(3)))
    recurrent = initial_weights(network, seed=1)["gru1.recurrent"]
    bound = (6 / 80) ** 0.5
    assert 0.95 * bound < abs(recurrent).max() <= bound


def test_labels_after_the_end_of_a_sequence_must_be_ignored():
    layers = (Embedding(20, 5, padding=0), LSTM(6, sequence=True), Dense(20))
    with pytest.raises(ModelError, match="counts the labels there; set the head's ignored label"):
        infer(model_of(*layers, head=SequenceCrossEntropy(classes=20)))
    assert infer(model_of(*layers, head=SequenceCrossEntropy(classes=20, ignored=0))).label_shape == (7,)
