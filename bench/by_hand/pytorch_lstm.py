"""A small LSTM classifier in PyTorch (1.0 and later), as its tutorials write it. Prints the steps' seconds."""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation
from torch import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5000, 32)
        self.lstm = nn.LSTM(32, 100, batch_first=True)
        self.fc = nn.Linear(100, 10)

    def forward(self, tokens):
        outputs, _ = self.lstm(self.embedding(tokens))
        return self.fc(outputs[:, -1])


def main(asked):
    torch.set_num_threads(asked["threads"])
    torch.manual_seed(1)
    device = torch.device(asked["device"].replace("gpu", "cuda"))
    tokens = torch.from_numpy(np.load(asked["images"]).astype(np.int64)).to(device)
    labels = torch.from_numpy(np.load(asked["labels"]).astype(np.int64)).to(device)
    order = torch.from_numpy(np.load(asked["order"]).astype(np.int64)).to(device)
    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=asked["learning_rate"], momentum=asked["momentum"])
    if asked.get("variant") == "compile":
        model = torch.compile(model, options={"layout_optimization": False})

    model.train()
    seconds = []
    for index in order[: asked["steps"]]:
        began = time.monotonic()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[index]), labels[index])
        loss.backward()
        optimizer.step()
        float(loss)
        seconds.append(time.monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
