"""An LSTM over tokens as PaddlePaddle's own tutorials write it: prints the seconds of every step."""

import json
import sys
from time import monotonic

sys.path.pop(0)  # This folder, whose paddle.py would be imported instead of the framework.

import numpy as np
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5000, 32)
        self.lstm = nn.LSTM(32, 100)
        self.fc = nn.Linear(100, 10)

    def forward(self, tokens):
        _, (hidden, _) = self.lstm(self.embedding(tokens))
        return self.fc(hidden[-1])


def main(plan):
    paddle.set_device(plan["device"])
    paddle.seed(1)
    tokens = paddle.to_tensor(np.load(plan["images"]).astype("int64"))
    labels = paddle.to_tensor(np.load(plan["labels"]).astype("int64"))
    order = paddle.to_tensor(np.load(plan["order"]).astype("int64"))
    model = Net()
    optimizer = paddle.optimizer.Momentum(plan["learning_rate"], plan["momentum"], parameters=model.parameters())
    model.train()
    seconds = []
    for number in range(plan["steps"]):
        began = monotonic()
        index = order[number]
        loss = nn.functional.cross_entropy(model(tokens[index]), labels[index])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        float(loss)
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
