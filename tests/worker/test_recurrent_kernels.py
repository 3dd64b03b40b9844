"""Which kernels compute recurrent layers, as found in what each framework ran or compiled, and how they are shown."""

import sys

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import GRU, LSTM, SGD, Dense, Embedding, Model, Recipe, SoftmaxCrossEntropy
from pytest_dlbench.model.network import infer
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.launch import WORKER_FOLDER
from pytest_dlbench.running.messages import Failed, Kernels
from tests.worker.places import place_of
from tests.worker.sessions import double, session

sys.path.insert(0, str(WORKER_FOLDER))
from dlworker import recurrent_kernels

STEPS = 3
RECIPE = Recipe(batch_size=4, steps=STEPS, optimizer=SGD(learning_rate=0.1))
SCAN, LOOP = "scan", "loop"
TRACED, XLA, THEANO = {"While": SCAN, "StatelessWhile": SCAN}, {"while": SCAN}, {"Scan": SCAN}
# By framework, of an LSTM and of a GRU, in float32 on a processor: docs/reference/execution.md has them, too.
KERNELS = {
    "pytorch": ({"aten::mkldnn_rnn_layer": "onednn"}, {"aten::gru": LOOP}),
    "pytorch-compile": ({"aten::mkldnn_rnn_layer": "onednn"}, {"aten::gru": LOOP}),
    "pytorch-1.0": ({"lstm": LOOP}, {"gru": LOOP}),
    "jax": (XLA, XLA),
    "tensorflow": ({"BlockLSTM": "fused"}, TRACED),
    "tensorflow-xla": (TRACED, TRACED),
    "keras-tensorflow": (TRACED, TRACED),
    "keras-jax": (XLA, XLA),
    "keras-torch": ({"aten::mm": LOOP}, {"aten::mm": LOOP}),
    "paddle": ({"rnn": "fused"}, {"rnn": "fused"}),
    "mxnet": ({"RNN": "fused"}, {"RNN": "fused"}),
    "mxnet-imperative": ({"RNN": "fused"}, {"RNN": "fused"}),
    "chainer": ({"LSTM": LOOP}, {"TransposeSequence": LOOP}),
    "mlx": ({"AddMM": "unrolled"}, {"AddMM": "unrolled"}),
    "tensorflow1": ({"LoopCond": SCAN}, {"LoopCond": SCAN}),
    "keras2-tensorflow": ({"LoopCond": SCAN}, {"LoopCond": SCAN}),
    "keras2-theano": (THEANO, THEANO),
    "theano": (THEANO, THEANO),
    "theano-pymc": (THEANO, THEANO),
    "lasagne": (THEANO, THEANO),
    "cntk": ({"PastValue": SCAN}, {"PastValue": SCAN}),
}


def network_of(layer):
    return infer(
        Model(
            name="recurrent",
            family="rnn",
            input_shape=(12,),
            vocabulary=50,
            layers=(Embedding(50, 8), layer, Dense(2)),
            head=SoftmaxCrossEntropy(classes=2),
            recipe=RECIPE,
        )
    )


def found(asked, network, folder, *, trains=True):
    """The answer of a worker that has trained, or applied, this network."""
    built = asked.build(network, RECIPE)
    assert not isinstance(built, Failed), built.traceback
    data = prepare(synthetic_for(network.model), folder / "data")
    done = asked.train(data, RECIPE, STEPS) if trains else asked.infer(data, RECIPE.batch_size, folder / "outputs.npy")
    assert not isinstance(done, Failed), done.traceback
    return asked.ask("recurrent_kernels")


@pytest.mark.parametrize("name", KERNELS)
def test_a_step_shows_which_kernels_compute_its_recurrent_layers(name, tmp_path):
    place_of(name, "kernels")
    with session(FRAMEWORKS[name], tmp_path) as asked:
        asked.hello()
        layers = LSTM(10), GRU(10)
        answers = tuple(found(asked, network_of(layer), tmp_path / layer.kind).kernels for layer in layers)
    assert answers == KERNELS[name]


@pytest.mark.parametrize("name", ["pytorch", "jax", "tensorflow"])
def test_inference_shows_them_too(name, tmp_path):
    place_of(name, "kernels")
    with session(FRAMEWORKS[name], tmp_path) as asked:
        asked.hello()
        answer = found(asked, network_of(GRU(10)), tmp_path, trains=False)
    of_inference = {"tensorflow": {"While": SCAN}}
    assert answer == Kernels(kernels=of_inference.get(name, KERNELS[name][1]), absent="")


def test_a_builder_that_finds_no_kernels_is_a_reason(tmp_path):
    dense = Model(
        name="dense",
        family="fcn",
        input_shape=(12,),
        layers=(Dense(2),),
        head=SoftmaxCrossEntropy(classes=2),
        recipe=RECIPE,
    )
    with session(double("clocked"), tmp_path) as asked:
        asked.hello()
        answer = found(asked, infer(dense), tmp_path)
    lacks = "the builder clocked has no function recurrent_kernels(run, trainer, device, is_training)"
    assert answer == Kernels(kernels={}, absent=lacks)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"MatMul": 12}, {"MatMul": "unrolled"}),
        ({"MatMul": 12, "AddMM": 30}, {"AddMM": "unrolled"}),
        (
            {"MatMul": 11},
            "no operator for a whole sequence is there, and none of AddMM, MatMul once for each of 12 steps",
        ),
    ],
)
def test_steps_are_unrolled_only_where_a_product_is_there_for_each(counts, expected):
    layers = {"layers": network_of(LSTM(10)).as_json()["layers"]}
    assert recurrent_kernels.step_by_step(layers, counts, ["AddMM", "MatMul"], "unrolled") == expected
