"""The CNN of tartu-mnist-cnn as MLX's own examples write it: prints the seconds of every step."""

import json
import sys
from functools import partial
from time import monotonic

sys.path.pop(0)  # This folder, whose mlx.py would be imported instead of the framework.

import mlx.core as mx
import mlx.optimizers as optim
import numpy as np
from mlx import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.pool = nn.MaxPool2d(2)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(64 * 12 * 12, 128)
        self.dropout2 = nn.Dropout(0.5)
        self.fc2 = nn.Linear(128, 10)

    def __call__(self, x):
        x = nn.relu(self.conv1(x))
        x = nn.relu(self.conv2(x))
        x = self.dropout1(self.pool(x))
        x = nn.relu(self.fc1(mx.flatten(x, start_axis=1)))
        return self.fc2(self.dropout2(x))


def main(plan):
    mx.set_default_device(mx.cpu if plan["device"] == "cpu" else mx.gpu)
    mx.random.seed(1)
    images = mx.array(np.ascontiguousarray(np.load(plan["images"]).transpose(0, 2, 3, 1)))
    labels = mx.array(np.load(plan["labels"]).astype("int32"))
    order = mx.array(np.load(plan["order"]).astype("int32"))
    model = Net()
    optimizer = optim.SGD(plan["learning_rate"], momentum=plan["momentum"])
    mx.eval(images, labels, order, model.parameters())

    def loss_fn(model, x, y):
        return nn.losses.cross_entropy(model(x), y, reduction="mean")

    state = [model.state, optimizer.state, mx.random.state]

    @partial(mx.compile, inputs=state, outputs=state)
    def step(x, y):
        loss, grads = nn.value_and_grad(model, loss_fn)(model, x, y)
        optimizer.update(model, grads)
        return loss

    model.train()
    seconds = []
    for number in range(plan["steps"]):
        began = monotonic()
        index = order[number]
        loss = step(images[index], labels[index])
        mx.eval(loss, state)
        float(loss)
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
