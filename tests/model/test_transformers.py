"""What Transformers are made of: shapes, parameters, multiply-adds, and what a builder must know."""

from math import inf, nan

import numpy as np
import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import (
    GELU,
    LSTM,
    SGD,
    Adam,
    AdamW,
    Attention,
    Dense,
    Embedding,
    FirstStep,
    LayerNorm,
    Model,
    Positions,
    Recipe,
    SequenceCrossEntropy,
    TiedDense,
    infer,
)
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.model.needs import needs
from pytest_dlbench.model.traffic import step_bytes

RECIPE = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))
WORDS, STEPS, FEATURES = 20, 7, 6


def language_model(*layers):
    return Model(
        name="small",
        family="transformer",
        input_shape=(STEPS,),
        vocabulary=WORDS,
        layers=layers,
        head=SequenceCrossEntropy(classes=WORDS, ignored=0),
        recipe=RECIPE,
    )


def layers_by_name(*layers):
    return {layer["name"]: layer for layer in infer(language_model(*layers)).as_json()["layers"]}


def test_attention_reads_queries_keys_and_values_and_has_no_parameters():
    inferred = Attention(2).infer((7, 18))
    assert inferred.output == (7, 6)
    assert inferred.parameters == ()
    assert inferred.geometry == {"heads": 2, "causal": False}


@pytest.mark.parametrize("causal", [False, True])
def test_attention_multiplies_every_step_with_every_step_twice(causal):
    assert Attention(2, causal=causal).infer((7, 18)).multiply_adds == 7 * 7 * 6 + 7 * 7 * 6


@pytest.mark.parametrize(("heads", "width"), [(2, 17), (2, 9), (4, 18)])
def test_features_that_do_not_divide_into_heads_are_refused(heads, width):
    with pytest.raises(
        ModelError, match=f"{width} features cannot be divided into queries, keys and values of {heads}"
    ):
        Attention(heads).infer((7, width))


def test_attention_without_heads_is_refused():
    with pytest.raises(ModelError, match="Attention heads must be 1 or more, got 0"):
        Attention(0)


@pytest.mark.parametrize("layer", [Attention(2), Positions(), TiedDense(WORDS), FirstStep()])
@pytest.mark.parametrize("shape", [(18,), (3, 8, 8)])
def test_an_input_that_is_not_a_sequence_is_refused(layer, shape):
    with pytest.raises(ModelError, match=f"{type(layer).__name__} needs a sequence"):
        layer.infer(shape)


def test_attention_after_padded_tokens_knows_their_lengths():
    layers = Embedding(WORDS, FEATURES, padding=0), Positions(), Dense(18), Attention(2), Dense(WORDS)
    assert layers_by_name(*layers)["attention1"]["lengths"] == "embedding1"
    assert "lengths" in needs(infer(language_model(*layers)), RECIPE)


def test_without_padding_attention_has_no_lengths():
    assert "lengths" not in layers_by_name(Embedding(WORDS, 18), Attention(2), Dense(WORDS))["attention1"]


def test_positions_are_trained_vectors_that_start_within_their_limit():
    network = infer(language_model(Embedding(WORDS, FEATURES), Positions(limit=0.5), Dense(WORDS)))
    weight = initial_weights(network, seed=1)["positions1.weight"]
    assert weight.shape == (STEPS, FEATURES)
    assert 0.3 < np.abs(weight).max() < 0.5


@pytest.mark.parametrize("limit", [0.0, -1.0, inf, nan])
def test_positions_without_a_limit_are_refused(limit):
    with pytest.raises(ModelError, match="Positions limit must be above 0 and finite"):
        Positions(limit=limit)


def test_a_tied_layer_names_its_embedding_and_adds_no_parameters():
    layers = Embedding(WORDS, FEATURES), TiedDense(WORDS)
    assert layers_by_name(*layers)["tied1"]["embedding"] == "embedding1"
    network = infer(language_model(*layers))
    assert list(network.parameters) == ["embedding1.weight"]
    assert network.multiply_adds == STEPS * FEATURES * WORDS


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ((Embedding(WORDS, FEATURES), LSTM(5, sequence=True)), "7×5 needs one embedding before it, of 20×5, got 20×6"),
        ((Embedding(21, FEATURES),), "needs one embedding before it, of 20×6, got 21×6"),
        ((Embedding(WORDS, FEATURES, padding=0), Dense(WORDS), Dense(3)), "of 20×3, got 20×6"),
    ],
)
def test_a_tied_layer_that_does_not_fit_the_embedding_is_refused(layers, found):
    with pytest.raises(ModelError, match=found):
        infer(language_model(*layers, TiedDense(WORDS)))


def test_the_first_step_of_a_sequence_is_a_vector():
    assert FirstStep().infer((7, 6)).output == (6,)


@pytest.mark.parametrize("shape", [(6,), (7, 6)])
def test_a_layer_norm_has_a_scale_and_a_shift_for_each_feature(shape):
    inferred = LayerNorm().infer(shape)
    assert inferred.output == shape
    assert {parameter.role: parameter.shape for parameter in inferred.parameters} == {"scale": (6,), "shift": (6,)}


def test_a_layer_norm_of_an_image_is_refused():
    with pytest.raises(ModelError, match="LayerNorm needs a vector or a sequence, got 3×8×8"):
        LayerNorm().infer((3, 8, 8))


@pytest.mark.parametrize("epsilon", [0.0, -1e-5, inf, nan])
def test_a_layer_norm_without_epsilon_is_refused(epsilon):
    with pytest.raises(ModelError, match="LayerNorm epsilon must be above 0 and finite"):
        LayerNorm(epsilon=epsilon)


@pytest.mark.parametrize(("layer", "kind"), [(GELU(), "gelu"), (GELU(tanh=True), "gelu_tanh")])
def test_the_exact_gelu_and_that_by_tanh_are_two_kinds_of_layers(layer, kind):
    assert (layer.kind, layer.infer((7, 6)).output) == (kind, (7, 6))


@pytest.mark.parametrize("decay", [-0.1, inf, nan])
def test_an_adamw_that_does_not_decay_is_refused(decay):
    with pytest.raises(ModelError, match="AdamW needs no negative weight decay"):
        AdamW(weight_decay=decay)


def test_adamw_keeps_as_many_values_as_adam():
    assert AdamW().slots == Adam().slots == 2


def weight_bytes(*layers):
    """The bytes of a step on one example, without those of activations and inputs."""
    network, recipe = infer(language_model(*layers)), Recipe(batch_size=1, epochs=1, optimizer=SGD(0.1))
    return step_bytes(network, recipe) - 4 * (4 * STEPS * WORDS + STEPS)


def test_the_update_touches_all_of_an_embedding_whose_weights_are_tied():
    embedding = Embedding(WORDS, FEATURES)
    assert weight_bytes(embedding, Dense(WORDS, bias=False)) == 4 * 2 * FEATURES * WORDS
    assert weight_bytes(embedding, TiedDense(WORDS)) == 4 * 2 * WORDS * FEATURES
