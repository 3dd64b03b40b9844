"""A multilayer perceptron of scikit-learn learns handwritten digits, batch by batch."""

import numpy as np
from inputs import TRAINED_ON, digits, prepared
from sklearn.neural_network import MLPClassifier

BATCH = 64


def build(run):
    images, labels = digits()
    random = np.random.default_rng(run.seed)
    model = MLPClassifier(
        (256,), solver="sgd", learning_rate_init=run.parameters["rate"], batch_size=BATCH, random_state=run.seed
    )
    classes = np.arange(10)

    def step(number):
        chosen = random.integers(TRAINED_ON, size=BATCH)
        model.partial_fit(prepared(images[chosen]), labels[chosen], classes=classes)
        return model.loss_

    def evaluate():
        return {"accuracy": model.score(prepared(images[TRAINED_ON:]), labels[TRAINED_ON:])}

    return {"step": step, "evaluate": evaluate, "samples_per_step": BATCH}
