"""The CNN of tartu-mnist-cnn as PaddlePaddle's own tutorials write it: prints the seconds of every step."""

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
        self.conv1 = nn.Conv2D(1, 32, 3)
        self.conv2 = nn.Conv2D(32, 64, 3)
        self.pool = nn.MaxPool2D(2)
        self.dropout1 = nn.Dropout(0.25)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(64 * 12 * 12, 128)
        self.dropout2 = nn.Dropout(0.5)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = nn.functional.relu(self.conv1(x))
        x = nn.functional.relu(self.conv2(x))
        x = self.dropout1(self.pool(x))
        x = nn.functional.relu(self.fc1(self.flatten(x)))
        return self.fc2(self.dropout2(x))


def main(plan):
    paddle.set_device(plan["device"])
    paddle.seed(1)
    images = paddle.to_tensor(np.load(plan["images"]))
    labels = paddle.to_tensor(np.load(plan["labels"]).astype("int64"))
    order = paddle.to_tensor(np.load(plan["order"]).astype("int64"))
    model = Net()
    optimizer = paddle.optimizer.Momentum(plan["learning_rate"], plan["momentum"], parameters=model.parameters())
    model.train()
    seconds = []
    for number in range(plan["steps"]):
        began = monotonic()
        index = order[number]
        loss = nn.functional.cross_entropy(model(images[index]), labels[index])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        float(loss)
        seconds.append(monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
