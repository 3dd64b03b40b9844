"""Keras 3 on JAX learns handwritten digits; fit has the loop."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
from inputs import TRAINED_ON, digits, prepared

BATCH = 64


class Smoothed(keras.callbacks.Callback):
    """The moving average of the loss, as a dashboard would show it."""

    def __init__(self):
        super().__init__()
        self.loss = None

    def on_train_batch_end(self, batch, logs=None):
        loss = float(logs["loss"])
        self.loss = loss if self.loss is None else 0.9 * self.loss + 0.1 * loss


def main(run):
    keras.utils.set_random_seed(run.seed)
    images, labels = digits()
    inputs = prepared(images)
    model = keras.Sequential(
        [
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.SGD(run.parameters["rate"]),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    # The callback of the run is the last one, so that a step includes what the others do.
    callbacks = [Smoothed(), run.callback("keras")]
    epochs = 1 + run.total_steps * BATCH // TRAINED_ON
    model.fit(inputs[:TRAINED_ON], labels[:TRAINED_ON], batch_size=BATCH, epochs=epochs, verbose=0, callbacks=callbacks)
    found = model.predict(inputs[TRAINED_ON:], verbose=0).argmax(axis=1)
    run.report(accuracy=(found == labels[TRAINED_ON:]).mean())
