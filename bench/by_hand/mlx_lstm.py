"""An LSTM over tokens as MLX's own examples write it: prints the seconds of every step."""

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
        self.embedding = nn.Embedding(5000, 32)
        self.lstm = nn.LSTM(32, 100)
        self.fc = nn.Linear(100, 10)

    def __call__(self, tokens):
        hidden, _ = self.lstm(self.embedding(tokens))
        return self.fc(hidden[:, -1])


def main(plan):
    mx.set_default_device(mx.cpu if plan["device"] == "cpu" else mx.gpu)
    mx.random.seed(1)
    tokens = mx.array(np.load(plan["images"]))
    labels = mx.array(np.load(plan["labels"]).astype("int32"))
    order = mx.array(np.load(plan["order"]).astype("int32"))
    model = Net()
    optimizer = optim.SGD(plan["learning_rate"], momentum=plan["momentum"])
    mx.eval(tokens, labels, order, model.parameters())

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
        loss = step(tokens[index], labels[index])
        mx.eval(loss, state)
        float(loss)
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
