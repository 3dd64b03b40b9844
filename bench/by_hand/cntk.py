"""tartu-mnist-cnn in CNTK, written by hand as the CNTK 103 tutorial (MNIST with a convolutional network) writes it."""

import json
import sys
from time import monotonic

sys.path.pop(0)  # This folder, whose cntk.py would be imported instead of the framework.

import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials
import numpy as np


def create_model(features):
    with C.layers.default_options(activation=C.relu, pad=False):
        h = C.layers.Convolution2D((3, 3), 32)(features)
        h = C.layers.Convolution2D((3, 3), 64)(h)
        h = C.layers.MaxPooling((2, 2), strides=(2, 2))(h)
        h = C.layers.Dropout(0.25)(h)
        h = C.layers.Dense(128)(h)
        h = C.layers.Dropout(0.5)(h)
        return C.layers.Dense(10, activation=None)(h)


def main(asked):
    C.cntk_py.set_max_num_cputhreads(asked["threads"])
    C.device.try_set_default_device(C.device.cpu())
    images = np.load(asked["images"]).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[np.load(asked["labels"])]
    order = np.load(asked["order"])

    x, y = C.input_variable(images.shape[1:]), C.input_variable(10)
    z = create_model(x)
    loss = C.cross_entropy_with_softmax(z, y)
    size = order.shape[1]
    learner = C.momentum_sgd(
        z.parameters,
        C.learning_parameter_schedule(asked["learning_rate"], minibatch_size=size),
        C.momentum_schedule(asked["momentum"], minibatch_size=size),
        unit_gain=False,
    )
    trainer = C.Trainer(z, (loss, None), [learner])

    seconds = []
    for rows in order[: asked["steps"]]:
        began = monotonic()
        trainer.train_minibatch({x: images[rows], y: labels[rows]})
        float(trainer.previous_minibatch_loss_average)
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
