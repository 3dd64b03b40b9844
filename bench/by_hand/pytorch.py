"""tartu-mnist-cnn in PyTorch, as its MNIST example writes it; for PyTorch 1.0 and later. Prints the steps' seconds."""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation
from torch import nn, optim


class Net(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(features, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = torch.flatten(x, 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return self.fc2(x)


def main(asked):
    torch.set_num_threads(asked["threads"])
    torch.manual_seed(1)
    device = torch.device(asked["device"].replace("gpu", "cuda"))
    images = torch.from_numpy(np.load(asked["images"])).to(device)
    labels = torch.from_numpy(np.load(asked["labels"]).astype(np.int64)).to(device)
    order = torch.from_numpy(np.load(asked["order"]).astype(np.int64)).to(device)
    height, width = images.shape[2:]
    model = Net(images.shape[1], 64 * ((height - 4) // 2) * ((width - 4) // 2)).to(device)
    optimizer = optim.SGD(model.parameters(), lr=asked["learning_rate"], momentum=asked["momentum"])
    if asked.get("variant") == "compile":
        # With its default layouts PyTorch 2.13.0 gives these convolutions a gradient of zero.
        model = torch.compile(model, options={"layout_optimization": False})

    model.train()
    seconds = []
    for index in order[: asked["steps"]]:
        began = time.monotonic()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[index]), labels[index])
        loss.backward()
        optimizer.step()
        float(loss)
        seconds.append(time.monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
