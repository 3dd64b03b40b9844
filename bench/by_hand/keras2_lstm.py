"""A small LSTM classifier in Keras 2 as in its own examples, batch by batch; KERAS_BACKEND selects the backend."""

import json
import os
import sys
import time
from pathlib import Path

# Files in this folder are named like frameworks.
sys.path.pop(0)

import numpy as np

asked = json.loads(sys.argv[1])
backend = os.environ["KERAS_BACKEND"]
if backend == "theano":
    blas = next(Path(np.__file__).parent.parent.glob("scipy.libs/libopenblas*.so"))
    flags = [f"openmp={asked['threads'] > 1}", f"blas.ldflags=-L{blas.parent} -l{blas.stem[3:]}"]
    os.environ["THEANO_FLAGS"] = ",".join([*flags, os.environ.get("THEANO_FLAGS", "")])

import keras  # noqa: E402
from keras import backend as K  # noqa: E402, N812
from keras.layers import LSTM, Dense, Embedding  # noqa: E402

if backend == "tensorflow":
    import tensorflow as tf

    threads = {"intra_op_parallelism_threads": asked["threads"], "inter_op_parallelism_threads": 1}
    K.set_session(tf.Session(config=tf.ConfigProto(**threads)))

tokens, order = np.load(asked["images"]), np.load(asked["order"])
labels = keras.utils.to_categorical(np.load(asked["labels"]), 10)

model = keras.models.Sequential()
model.add(Embedding(5000, 32, input_length=60))
model.add(LSTM(100))
model.add(Dense(10, activation="softmax"))
optimizer = keras.optimizers.SGD(lr=asked["learning_rate"], momentum=asked["momentum"])
model.compile(loss="categorical_crossentropy", optimizer=optimizer)

seconds = []
for batch in order:
    began = time.monotonic()
    float(model.train_on_batch(tokens[batch], labels[batch]))
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
