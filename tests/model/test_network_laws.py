"""What holds for every network that fits together."""

import json
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.model import (
    SGD,
    AvgPool,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    Sigmoid,
    SoftmaxCrossEntropy,
    Tanh,
    infer,
)
from pytest_dlbench.model.initial import initial_weights

law = settings(deadline=None, max_examples=60)

sizes = st.integers(1, 4)
either = sizes | st.tuples(sizes, sizes)
anywhere = st.sampled_from([ReLU(), Tanh(), Sigmoid(), BatchNorm(), Dropout(0.25)])
convolutions = st.builds(
    Conv2D, sizes, either, stride=either, padding=st.sampled_from(["same", 2, (3, 2)]), bias=st.booleans()
)
pools = st.builds(MaxPool, either, stride=either | st.none(), padding=st.just("same")) | st.builds(
    AvgPool, either, padding=st.just("same")
)
dense = st.builds(Dense, st.integers(1, 9), bias=st.booleans())


@st.composite
def models(draw):
    classes = draw(st.integers(2, 5))
    before = draw(st.lists(convolutions | pools | anywhere, max_size=4))
    behind = draw(st.lists(dense | anywhere, max_size=3))
    return Model(
        name="drawn",
        family="cnn",
        input_shape=(draw(sizes), draw(st.integers(1, 9)), draw(st.integers(1, 9))),
        layers=(*before, Flatten(), *behind, Dense(classes)),
        head=SoftmaxCrossEntropy(classes=classes),
        recipe=Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)),
    )


@law
@given(models())
def test_every_layer_takes_the_output_of_the_one_before(drawn):
    network = infer(drawn)
    assert network.layers[0].input == drawn.input_shape
    assert all(after.input == before.inferred.output for before, after in pairwise(network.layers))


@law
@given(models())
def test_the_network_gives_one_number_per_class(drawn):
    assert infer(drawn).layers[-1].inferred.output == (drawn.head.classes,)


@law
@given(models())
def test_no_two_layers_share_a_name(drawn):
    names = [placed.name for placed in infer(drawn).layers]
    assert len(set(names)) == len(names)


@law
@given(models(), st.integers(0, 2**32))
def test_the_parameter_count_is_the_size_of_all_initial_weights(drawn, seed):
    network = infer(drawn)
    arrays = initial_weights(network, seed=seed)
    assert network.parameter_count == sum(array.size for array in arrays.values())


@law
@given(models(), st.integers(0, 2**32))
def test_initial_weights_have_the_names_shapes_and_order_of_the_parameters(drawn, seed):
    network = infer(drawn)
    arrays = initial_weights(network, seed=seed)
    expected = [(name, parameter.shape) for name, parameter in network.parameters.items()]
    assert [(name, array.shape) for name, array in arrays.items()] == expected


@law
@given(models())
def test_a_network_is_strict_json(drawn):
    text = json.dumps(infer(drawn).as_json(), allow_nan=False)
    assert [layer["kind"] for layer in json.loads(text)["layers"]] == [layer.kind for layer in drawn.layers]


@law
@given(models(), st.text("ab-1"))
def test_the_digest_ignores_the_name_of_the_model(drawn, name):
    assert infer(replace(drawn, name=name)).digest == infer(drawn).digest


@law
@given(models())
def test_the_digest_ignores_family_sources_and_recipe(drawn):
    recipe = Recipe(batch_size=9, epochs=2, optimizer=SGD(0.2))
    relabelled = replace(drawn, family="fcn", sources=("elsewhere",), recipe=recipe)
    assert infer(relabelled).digest == infer(drawn).digest


@law
@given(models(), st.data())
def test_the_digest_changes_with_one_more_layer_anywhere(drawn, data):
    place = data.draw(st.integers(0, len(drawn.layers)))
    longer = (*drawn.layers[:place], Tanh(), *drawn.layers[place:])
    assert infer(replace(drawn, layers=longer)).digest != infer(drawn).digest


@law
@given(models())
def test_dropout_adds_no_parameters_and_no_cost(drawn):
    network, without = infer(drawn), infer(drawn.without_dropout())
    assert (without.parameters, without.multiply_adds) == (network.parameters, network.multiply_adds)
