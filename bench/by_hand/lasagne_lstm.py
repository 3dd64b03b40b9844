"""A small LSTM classifier by hand in Lasagne, as in its recurrent examples. Prints the seconds of each step."""

import json
import os
import sys
import time
import types
from pathlib import Path

plan = json.loads(sys.argv[1])
os.environ.update({name: str(plan["threads"]) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")})
# This file's folder: "import lasagne" would find this file.
sys.path.pop(0)

import numpy as np  # noqa: E402 - it reads the variables above

BLAS = next(Path(np.__file__).parent.parent.glob("scipy.libs/libopenblas*.so"))
FLAGS = ["floatX=float32", f"openmp={plan['threads'] > 1}", f"blas.ldflags=-L{BLAS.parent} -l{BLAS.stem[3:]}"]
os.environ["THEANO_FLAGS"] = ",".join([*FLAGS, os.environ.get("THEANO_FLAGS", "")])

import theano  # noqa: E402 - it reads the flags above
import theano.tensor as T  # noqa: E402, N812
from theano.tensor.signal.pool import Pool  # noqa: E402

# Lasagne 0.1 imports a module that Theano 1.0 no longer has.
downsample = types.ModuleType("theano.tensor.signal.downsample")
downsample.max_pool_2d = lambda x, ds, ignore_border, st, padding, mode: Pool(ignore_border, mode)(x, ds, st, padding)
sys.modules[downsample.__name__] = downsample

import lasagne  # noqa: E402
from lasagne.layers import DenseLayer, EmbeddingLayer, InputLayer, LSTMLayer, SliceLayer  # noqa: E402
from lasagne.nonlinearities import softmax  # noqa: E402

tokens, labels, order = (np.load(plan[name]).astype("int32") for name in ("images", "labels", "order"))
steps = tokens.shape[1]
tokens, labels, order = theano.shared(tokens), theano.shared(labels), theano.shared(order)

lasagne.random.set_rng(np.random.RandomState(1))
input_var, target_var, step = T.imatrix("inputs"), T.ivector("targets"), T.lscalar("step")
network = InputLayer((None, steps), input_var)
network = EmbeddingLayer(network, 5000, 32)
network = LSTMLayer(network, 100, peepholes=False)
network = DenseLayer(SliceLayer(network, -1, axis=1), 10, nonlinearity=softmax)

prediction = lasagne.layers.get_output(network)
loss = lasagne.objectives.categorical_crossentropy(prediction, target_var).mean()
params = lasagne.layers.get_all_params(network, trainable=True)
updates = lasagne.updates.momentum(loss, params, plan["learning_rate"], plan["momentum"])
batch = {input_var: tokens[order[step]], target_var: labels[order[step]]}
train = theano.function([step], loss, updates=updates, givens=batch)

seconds = []
for number in range(plan["steps"]):
    began = time.monotonic()
    float(train(number))
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
