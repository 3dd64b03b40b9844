"""An LSTM over tokens with tinygrad's own cell, trained as its MNIST example is: prints the seconds of every step."""

import json
import sys
from time import monotonic

sys.path.pop(0)  # This folder, whose tinygrad.py would be imported instead of the framework.

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn
from tinygrad.helpers import DEV, NUM_CPU_THREADS


class Model:
    def __init__(self):
        self.embedding = nn.Embedding(5000, 32)
        self.cell = nn.LSTMCell(32, 100)
        self.fc = nn.Linear(100, 10)

    def __call__(self, tokens):
        x, state = self.embedding(tokens), None
        for step in range(tokens.shape[1]):
            state = self.cell(x[:, step], state)
        return self.fc(state[0])


def main(plan):
    NUM_CPU_THREADS.value = plan["threads"]
    if plan["device"] == "cpu":
        DEV.value = "CPU"
    Tensor.manual_seed(1)
    tokens = Tensor(np.load(plan["images"])).realize()
    labels = Tensor(np.load(plan["labels"]).astype("int32")).realize()
    order = [Tensor(row).realize() for row in np.load(plan["order"]).astype("int32")]
    model = Model()
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=plan["learning_rate"], momentum=plan["momentum"])

    @TinyJit
    @Context(TRAINING=1)
    def train_step(index):
        optimizer.zero_grad()
        loss = model(tokens[index]).sparse_categorical_crossentropy(labels[index]).backward()
        return loss.realize(*optimizer.schedule_step())

    seconds = []
    for number in range(plan["steps"]):
        began = monotonic()
        train_step(order[number]).item()
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
