"""A small LSTM classifier by hand in Theano, as in its LSTM tutorial. The plan is JSON; prints each step's seconds."""

import json
import os
import sys
import time
from pathlib import Path

plan = json.loads(sys.argv[1])
os.environ.update({name: str(plan["threads"]) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")})
# This file's folder: "import theano" would find this file.
sys.path.pop(0)

import numpy as np  # noqa: E402 - it reads the variables above

SITE = Path(np.__file__).parent.parent
BLAS = next(SITE.glob("scipy.libs/libopenblas*.so"))
SECTION = "blas.ldflags" if (SITE / "theano" / "gof").is_dir() else "blas__ldflags"
FLAGS = ["floatX=float32", f"openmp={plan['threads'] > 1}", f"{SECTION}=-L{BLAS.parent} -l{BLAS.stem[3:]}"]
os.environ["THEANO_FLAGS"] = ",".join([*FLAGS, os.environ.get("THEANO_FLAGS", "")])

import theano  # noqa: E402 - it reads the flags above
import theano.tensor as T  # noqa: E402, N812
from theano.tensor.elemwise import Elemwise  # noqa: E402

# Theano-PyMC 1.1.2 forgot the f of an f-string here: nothing would compile with OpenMP.
code, unformatted = Elemwise.c_code, "{int(config.openmp_elemwise_minsize)}"
Elemwise.c_code = lambda *given: code(*given).replace(unformatted, str(theano.config.openmp_elemwise_minsize))

UNITS = 100
rng = np.random.RandomState(1)


def shared(array):
    return theano.shared(array.astype("float32"))


def ortho_weight(size):
    return np.linalg.svd(rng.randn(size, size))[0]


emb = shared(0.01 * rng.rand(5000, 32))
W = shared(0.1 * rng.randn(32, 4 * UNITS))
U = shared(np.concatenate([ortho_weight(UNITS) for _ in range(4)], axis=1))
b = shared(np.zeros(4 * UNITS))
V, c = shared(0.01 * rng.randn(UNITS, 10)), shared(np.zeros(10))
params = [emb, W, U, b, V, c]


def gate(preact, number):
    return preact[:, number * UNITS : (number + 1) * UNITS]


def lstm_step(x_, h_, c_, u):
    preact = T.dot(h_, u) + x_
    i, f, o = (T.nnet.sigmoid(gate(preact, number)) for number in range(3))
    c = f * c_ + i * T.tanh(gate(preact, 3))
    return o * T.tanh(c), c


tokens, labels, order = (np.load(plan[name]).astype("int32") for name in ("images", "labels", "order"))
tokens, labels, order = theano.shared(tokens), theano.shared(labels), theano.shared(order)
x, y, step = T.imatrix("x"), T.ivector("y"), T.lscalar("step")

# Scan takes the steps first; the inputs' contribution to the gates is one product for all of them.
inputs = T.dot(emb[x.T], W) + b
zeros = T.alloc(np.float32(0), x.shape[0], UNITS)
(hidden, _), _ = theano.scan(lstm_step, sequences=inputs, outputs_info=[zeros, zeros], non_sequences=[U], strict=True)
loss = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(hidden[-1], V) + c), y).mean()

updates = []
for param, grad in zip(params, T.grad(loss, params)):  # noqa: B905 - Python 3.6
    velocity = theano.shared(np.zeros_like(param.get_value()))
    change = np.float32(plan["momentum"]) * velocity - np.float32(plan["learning_rate"]) * grad
    updates += [(velocity, change), (param, param + change)]
train = theano.function([step], loss, updates=updates, givens={x: tokens[order[step]], y: labels[order[step]]})

seconds = []
for number in range(plan["steps"]):
    began = time.monotonic()
    float(train(number))
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
