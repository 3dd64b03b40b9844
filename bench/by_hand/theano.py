"""tartu-mnist-cnn by hand in Theano, as in its tutorials. The plan is JSON; prints each step's seconds."""

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
from theano.sandbox import rng_mrg  # noqa: E402
from theano.tensor.elemwise import Elemwise  # noqa: E402
from theano.tensor.signal.pool import pool_2d  # noqa: E402

# Theano-PyMC 1.1.2 forgot the f of an f-string here: nothing would compile with OpenMP.
code, unformatted = Elemwise.c_code, "{int(config.openmp_elemwise_minsize)}"
Elemwise.c_code = lambda *given: code(*given).replace(unformatted, str(theano.config.openmp_elemwise_minsize))

srng = (getattr(rng_mrg, "MRG_RandomStreams", None) or rng_mrg.MRG_RandomStream)(seed=1)
rng, params = np.random.RandomState(1), []


def parameter(shape, bound):
    params.append(theano.shared(rng.uniform(-bound, bound, shape).astype("float32")))
    return params[-1]


def weights(shape):
    window = np.prod(shape[2:]) if len(shape) == 4 else 1
    return parameter(shape, np.sqrt(6.0 / ((shape[0] + shape[1]) * window)))


def conv(x, filters, channels):
    x = T.nnet.conv2d(x, weights((filters, channels, 3, 3)), filter_shape=(filters, channels, 3, 3))
    return T.nnet.relu(x + parameter(filters, 0).dimshuffle("x", 0, "x", "x"))


hidden = lambda x, inputs, outputs: T.dot(x, weights((inputs, outputs))) + parameter(outputs, 0)  # noqa: E731


def dropout(x, rate):
    return x * srng.binomial(size=x.shape, p=1 - rate, dtype="float32") / (1 - rate)


images, labels, order = (np.load(plan[name]) for name in ("images", "labels", "order"))
images = theano.shared(images.astype("float32"))
labels, order = theano.shared(labels.astype("int32")), theano.shared(order.astype("int32"))
x, y, step = T.tensor4("x"), T.ivector("y"), T.lscalar("step")

h = conv(conv(x, 32, 1), 64, 32)
h = dropout(pool_2d(h, (2, 2), ignore_border=True), 0.25).flatten(2)
h = dropout(T.nnet.relu(hidden(h, 64 * 12 * 12, 128)), 0.5)
loss = T.nnet.categorical_crossentropy(T.nnet.softmax(hidden(h, 128, 10)), y).mean()

updates = []
for param, grad in zip(params, T.grad(loss, params)):  # noqa: B905 - Python 3.6
    velocity = theano.shared(np.zeros_like(param.get_value()))
    change = np.float32(plan["momentum"]) * velocity - np.float32(plan["learning_rate"]) * grad
    updates += [(velocity, change), (param, param + change)]
train = theano.function([step], loss, updates=updates, givens={x: images[order[step]], y: labels[order[step]]})

seconds = []
for number in range(plan["steps"]):
    began = time.monotonic()
    float(train(number))
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
