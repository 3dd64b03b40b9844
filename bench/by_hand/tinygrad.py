"""The CNN of tartu-mnist-cnn as tinygrad's own MNIST example writes it: prints the seconds of every step."""

import json
import sys
from time import monotonic

sys.path.pop(0)  # This folder, whose tinygrad.py would be imported instead of the framework.

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn
from tinygrad.helpers import DEV, NUM_CPU_THREADS


class Model:
    def __init__(self):
        self.layers = [
            nn.Conv2d(1, 32, 3),
            Tensor.relu,
            nn.Conv2d(32, 64, 3),
            Tensor.relu,
            Tensor.max_pool2d,
            lambda x: x.dropout(0.25).flatten(1),
            nn.Linear(64 * 12 * 12, 128),
            Tensor.relu,
            lambda x: x.dropout(0.5),
            nn.Linear(128, 10),
        ]

    def __call__(self, x):
        return x.sequential(self.layers)


def main(plan):
    NUM_CPU_THREADS.value = plan["threads"]
    if plan["device"] == "cpu":
        DEV.value = "CPU"
    Tensor.manual_seed(1)
    images = Tensor(np.load(plan["images"])).realize()
    labels = Tensor(np.load(plan["labels"]).astype("int32")).realize()
    order = [Tensor(row).realize() for row in np.load(plan["order"]).astype("int32")]
    model = Model()
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=plan["learning_rate"], momentum=plan["momentum"])

    @TinyJit
    @Context(TRAINING=1)
    def train_step(index):
        optimizer.zero_grad()
        loss = model(images[index]).sparse_categorical_crossentropy(labels[index]).backward()
        return loss.realize(*optimizer.schedule_step())

    seconds = []
    for number in range(plan["steps"]):
        began = monotonic()
        train_step(order[number]).item()
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
