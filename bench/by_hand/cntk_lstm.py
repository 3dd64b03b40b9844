"""A small LSTM classifier in CNTK, written by hand as its CNTK 202 tutorial (language understanding) writes it."""

import json
import sys
from time import monotonic

sys.path.pop(0)  # This folder, whose cntk.py would be imported instead of the framework.

import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials
import numpy as np


def create_model():
    return C.layers.Sequential(
        [C.layers.Embedding(32), C.layers.Fold(C.layers.LSTM(100)), C.layers.Dense(10, activation=None)]
    )


def main(asked):
    C.cntk_py.set_max_num_cputhreads(asked["threads"])
    C.device.try_set_default_device(C.device.cpu())
    tokens = np.load(asked["images"])
    labels = np.eye(10, dtype=np.float32)[np.load(asked["labels"])]
    order = np.load(asked["order"])

    x, y = C.sequence.input_variable(5000, is_sparse=True), C.input_variable(10)
    z = create_model()(x)
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
        trainer.train_minibatch({x: C.Value.one_hot(tokens[rows].tolist(), 5000), y: labels[rows]})
        float(trainer.previous_minibatch_loss_average)
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
