"""Branches that split and merge, and how they are described to the worker."""

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import (
    LSTM,
    SGD,
    Add,
    AvgPool,
    Concat,
    Conditioned,
    Conv2D,
    Cut,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Model,
    PadChannels,
    Recipe,
    ReLU,
    SequenceCrossEntropy,
    SoftmaxCrossEntropy,
    infer,
)

RECIPE = Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1))


def network_of(*layers, shape=(2, 8, 8)):
    layers = (*layers, Flatten(), Dense(3)) if len(shape) == 3 else layers
    head = SoftmaxCrossEntropy(classes=3)
    return infer(Model(name="small", family="cnn", input_shape=shape, layers=layers, head=head, recipe=RECIPE))


ENCODER = (Cut(0, 4), Embedding(9, 5, padding=0), LSTM(6))


def pairs(encoder=ENCODER):
    layers = (Conditioned(LSTM(6, sequence=True), start=encoder, sequence=(Cut(4, 7), Embedding(8, 5))), Dense(8))
    head = SequenceCrossEntropy(classes=8, ignored=0)
    return Model(name="pairs", family="rnn", input_shape=(7,), vocabulary=9, layers=layers, head=head, recipe=RECIPE)


def layer_json(network, name):
    return next(layer for layer in network.as_json()["layers"] if layer["name"] == name)


def test_layers_of_a_chain_list_no_inputs():
    assert all("inputs" not in layer for layer in network_of(Conv2D(4, 3), ReLU()).as_json()["layers"])


def test_a_sum_reads_the_last_layer_of_each_branch():
    network = network_of(ReLU(), Add((Conv2D(2, 3, padding=1), ReLU()), (Conv2D(2, 1),)))
    assert layer_json(network, "add1")["inputs"] == ("relu2", "conv2")


def test_an_empty_branch_is_the_layer_before_the_split():
    network = network_of(ReLU(), Add((Conv2D(2, 3, padding=1),), ()))
    assert layer_json(network, "add1")["inputs"] == ("conv1", "relu1")


def test_branches_that_split_at_the_start_read_the_networks_input():
    network = network_of(Concat((Conv2D(4, 1),), (Conv2D(5, 1),)))
    assert layer_json(network, "conv2")["inputs"] == ("input",)


def test_layers_in_branches_are_numbered_with_the_others():
    network = network_of(Conv2D(2, 1), Add((Conv2D(2, 1), ReLU()), (Conv2D(2, 1),)), Conv2D(2, 1))
    names = [placed.name for placed in network.layers]
    assert names == ["conv1", "conv2", "relu1", "conv3", "add1", "conv4", "flatten1", "fc1"]


def test_nested_branches_split_where_they_begin():
    inner = Add((Conv2D(2, 1),), ())
    network = network_of(Add((ReLU(), inner), ()))
    assert layer_json(network, "add1")["inputs"] == ("conv1", "relu1")
    assert layer_json(network, "add2")["inputs"] == ("add1", "input")


def test_a_concatenation_has_the_channels_of_all_branches():
    network = network_of(Concat((Conv2D(4, 1),), (Conv2D(5, 1),), ()))
    assert layer_json(network, "concat1")["output"] == (4 + 5 + 2, 8, 8)


def test_multiply_adds_and_parameters_of_branches_count():
    network = network_of(Add((Conv2D(2, 3, padding=1),), (Conv2D(2, 1),)))
    assert network.multiply_adds == 2 * 2 * 9 * 64 + 2 * 2 * 64 + 128 * 3
    assert network.parameter_count == (36 + 2) + (4 + 2) + (128 * 3 + 3)


def test_a_sum_of_different_shapes_is_refused_with_both():
    with pytest.raises(
        ModelError, match=r"add1.* does not fit: Add needs branches of the same shape, got 4×8×8, 2×8×8"
    ):
        network_of(Add((Conv2D(4, 1),), ()))


def test_a_concatenation_of_images_of_different_sizes_is_refused():
    with pytest.raises(ModelError, match=r"Concat needs branches that differ only in channels, got 4×8×8, 2×4×4"):
        network_of(Concat((Conv2D(4, 1),), (AvgPool(2),)))


def test_one_branch_is_refused():
    with pytest.raises(ModelError, match="Add needs two branches or more"):
        Add((ReLU(),))


def test_padding_cannot_remove_channels():
    with pytest.raises(ModelError, match=r"PadChannels\(1\) on an image that has 2 channels"):
        network_of(PadChannels(1))


def test_another_wiring_has_another_digest():
    one = network_of(Add((ReLU(), ReLU()), (ReLU(),)))
    other = network_of(Add((ReLU(),), (ReLU(), ReLU())))
    assert one.digest != other.digest


def test_dropout_is_removed_from_branches_too():
    model = pairs((Cut(0, 4), Dropout(0.1), Embedding(9, 5, padding=0), LSTM(6))).without_dropout()
    assert model == pairs()
    with_sum = Model(
        name="sum",
        family="cnn",
        input_shape=(4,),
        layers=(Add((Dropout(0.5), ReLU()), (Dropout(0.5),)), Dense(3)),
        head=SoftmaxCrossEntropy(classes=3),
        recipe=RECIPE,
    )
    assert with_sum.without_dropout().layers[0] == Add((ReLU(),), ())


def test_a_decoder_starts_in_the_final_state_of_the_encoder():
    assert layer_json(infer(pairs()), "lstm2")["start"] == "lstm1"


def test_both_sentences_are_cut_from_the_networks_input():
    network = infer(pairs())
    assert "inputs" not in layer_json(network, "cut1")
    assert layer_json(network, "cut2")["inputs"] == ("input",)


def test_the_encoder_gets_the_embedding_that_determines_lengths():
    network = infer(pairs())
    assert layer_json(network, "lstm1")["lengths"] == "embedding1"
    assert "lengths" not in layer_json(network, "lstm2")


def test_an_encoder_and_a_decoder_of_different_sizes_are_refused():
    with pytest.raises(ModelError, match=r"Conditioned: start must end with LSTM\(6\)"):
        pairs((Cut(0, 4), Embedding(9, 5), LSTM(7)))
