"""tartu-mnist-cnn in Keras 2 as in its own example mnist_cnn.py, batch by batch; KERAS_BACKEND selects the backend."""

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
from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D  # noqa: E402

if backend == "tensorflow":
    import tensorflow as tf

    threads = {"intra_op_parallelism_threads": asked["threads"], "inter_op_parallelism_threads": 1}
    K.set_session(tf.Session(config=tf.ConfigProto(**threads)))
elif backend == "cntk":
    import cntk

    cntk.cntk_py.set_max_num_cputhreads(asked["threads"])

images = np.load(asked["images"]).astype("float32")
if backend == "tensorflow":
    images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))
else:
    K.set_image_data_format("channels_first")
labels = keras.utils.to_categorical(np.load(asked["labels"]), 10)
order = np.load(asked["order"])

model = keras.models.Sequential()
model.add(Conv2D(32, kernel_size=(3, 3), activation="relu", input_shape=images.shape[1:]))
model.add(Conv2D(64, (3, 3), activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(128, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(10, activation="softmax"))
optimizer = keras.optimizers.SGD(lr=asked["learning_rate"], momentum=asked["momentum"])
model.compile(loss=keras.losses.categorical_crossentropy, optimizer=optimizer)

seconds = []
for batch in order:
    began = time.monotonic()
    float(model.train_on_batch(images[batch], labels[batch]))
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
