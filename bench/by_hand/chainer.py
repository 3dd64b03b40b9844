"""tartu-mnist-cnn by hand in Chainer: prints the seconds of every step.

python bench/by_hand/chainer.py '{"images": "i.npy", "labels": "l.npy", "order": "o.npy", "steps": 100,
"threads": 2, "learning_rate": 0.01, "momentum": 0.5, "device": "cpu"}'

OPENBLAS_NUM_THREADS sets the threads.
"""

import json
import sys
import time

# This file has the same name as what it imports.
sys.path.pop(0)

import chainer
import chainer.functions as F  # noqa: N812 - the name it has in Chainer's documentation
import chainer.links as L  # noqa: N812
import numpy as np

plan = json.loads(sys.argv[1])


class CNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(None, 32, 3)
            self.conv2 = L.Convolution2D(32, 64, 3)
            self.fc1 = L.Linear(None, 128)
            self.fc2 = L.Linear(128, 10)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        h = F.dropout(F.max_pooling_2d(h, 2), 0.25)
        h = F.dropout(F.relu(self.fc1(h)), 0.5)
        return self.fc2(h)


model = L.Classifier(CNN())
model.compute_accuracy = False
optimizer = chainer.optimizers.MomentumSGD(lr=plan["learning_rate"], momentum=plan["momentum"])
optimizer.setup(model)

images = np.load(plan["images"])
labels = np.load(plan["labels"]).astype(np.int32)
order = np.load(plan["order"])


def train_batch(rows):
    loss = model(images[rows], labels[rows])
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss


seconds = []
for number in range(plan["steps"]):
    began = time.monotonic()
    float(train_batch(order[number]).array)
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
