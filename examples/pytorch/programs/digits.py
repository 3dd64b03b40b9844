"""A network with convolutions learns handwritten digits, in a loop of its own."""

import numpy as np
import torch
from inputs import TRAINED_ON, digits, prepared
from torch import nn

BATCH = 64


def network():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10),
    )


def build(run):
    torch.manual_seed(run.seed)
    torch.set_num_threads(run.threads)
    images, labels = digits()
    random = np.random.default_rng(run.seed)
    model = network().to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=run.parameters["rate"], momentum=0.9)

    def step(number):
        chosen = random.integers(TRAINED_ON, size=BATCH)
        inputs = torch.from_numpy(prepared(images[chosen])).to(run.device)
        targets = torch.from_numpy(labels[chosen]).to(run.device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    def evaluate():
        with torch.no_grad():
            scores = model(torch.from_numpy(prepared(images[TRAINED_ON:])).to(run.device))
        return {"accuracy": (scores.argmax(1).cpu().numpy() == labels[TRAINED_ON:]).mean()}

    return {"step": step, "evaluate": evaluate, "samples_per_step": BATCH}
