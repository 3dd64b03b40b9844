"""The CNN of tartu-mnist-cnn as in Keras's guides. Prints each step's seconds. KERAS_BACKEND selects the backend."""

import json
import sys
from time import monotonic

sys.path.pop(0)  # This folder, whose keras.py would be imported instead of the framework.

import keras
import numpy as np
from keras import layers


def set_threads(threads):
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    elif keras.backend.backend() == "torch":
        import torch

        torch.set_num_threads(threads)


def build():
    return keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
            layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10),
        ]
    )


def main(plan):
    set_threads(plan["threads"])
    keras.utils.set_random_seed(1)
    images = np.ascontiguousarray(np.moveaxis(np.load(plan["images"]), 1, -1))
    labels, order = np.load(plan["labels"]), np.load(plan["order"])
    model = build()
    model.compile(
        optimizer=keras.optimizers.SGD(learning_rate=plan["learning_rate"], momentum=plan["momentum"]),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    seconds = []
    for number in range(plan["steps"]):
        began = monotonic()
        index = order[number]
        float(model.train_on_batch(images[index], labels[index]))
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
