"""A small LSTM classifier by hand in Chainer, with L.LSTM: prints the seconds of every step.

OPENBLAS_NUM_THREADS sets the threads.
"""

import json
import sys
import time

# This folder, where Python looks first, has files that are named like frameworks.
sys.path.pop(0)

import chainer
import chainer.functions as F  # noqa: N812 - the name it has in Chainer's documentation
import chainer.links as L  # noqa: N812
import numpy as np

plan = json.loads(sys.argv[1])


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embedding = L.EmbedID(5000, 32)
            self.lstm = L.LSTM(32, 100)
            self.fc = L.Linear(100, 10)

    def forward(self, tokens):
        self.lstm.reset_state()
        for x in F.separate(self.embedding(tokens), axis=1):
            h = self.lstm(x)
        return self.fc(h)


model = L.Classifier(Net())
model.compute_accuracy = False
optimizer = chainer.optimizers.MomentumSGD(lr=plan["learning_rate"], momentum=plan["momentum"])
optimizer.setup(model)

tokens = np.load(plan["images"]).astype(np.int32)
labels = np.load(plan["labels"]).astype(np.int32)
order = np.load(plan["order"])


def train_batch(rows):
    loss = model(tokens[rows], labels[rows])
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
