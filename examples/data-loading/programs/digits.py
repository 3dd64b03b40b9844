"""A small network that waits for its data: a process of the loader turns and shifts each digit."""

import numpy as np
import torch
from inputs import TRAINED_ON, digits, prepared
from scipy.ndimage import rotate, shift
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH = 32


class Augmented(Dataset):
    """Digits, each turned and shifted a little, differently each time."""

    def __init__(self, images, labels, seed):
        self.images, self.labels = images, labels
        self.random = np.random.default_rng(seed)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        angle, down, right = self.random.uniform((-10, -0.5, -0.5), (10, 0.5, 0.5))
        image = self.images[number].reshape(8, 8)
        turned = rotate(image, angle, reshape=False, order=1)
        return prepared(shift(turned, (down, right), order=1)).ravel(), self.labels[number]


def main(run):
    torch.manual_seed(run.seed)
    torch.set_num_threads(run.threads)
    images, labels = digits()
    loader = DataLoader(
        Augmented(images[:TRAINED_ON], labels[:TRAINED_ON], run.seed),
        batch_size=BATCH,
        shuffle=True,
        num_workers=1,
        persistent_workers=True,
    )
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=run.parameters["rate"], momentum=0.9)
    for inputs, targets in run.steps(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(run.device)), targets.to(run.device))
        loss.backward()
        optimizer.step()
        run.report(loss=loss.item())
    with torch.no_grad():
        scores = model(torch.from_numpy(prepared(images[TRAINED_ON:])).to(run.device))
    run.report(accuracy=(scores.argmax(1).cpu().numpy() == labels[TRAINED_ON:]).mean())
