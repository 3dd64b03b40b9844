"""tartu-mnist-cnn by hand in Gluon: prints the seconds of every step.

python bench/by_hand/mxnet.py '{"images": "i.npy", "labels": "l.npy", "order": "o.npy", "steps": 100, "threads": 2,
"learning_rate": 0.01, "momentum": 0.5, "device": "cpu", "variant": null}'

OMP_NUM_THREADS sets the threads. The variant "imperative" does not hybridize.
"""

import json
import sys
import time

# This file has the same name as what it imports.
sys.path.pop(0)

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn

plan = json.loads(sys.argv[1])
ctx = mx.cpu() if plan["device"] == "cpu" else mx.gpu()

net = nn.HybridSequential()
net.add(
    nn.Conv2D(channels=32, kernel_size=3, activation="relu"),
    nn.Conv2D(channels=64, kernel_size=3, activation="relu"),
    nn.MaxPool2D(pool_size=2),
    nn.Dropout(0.25),
    nn.Flatten(),
    nn.Dense(128, activation="relu"),
    nn.Dropout(0.5),
    nn.Dense(10),
)
net.initialize(mx.init.Xavier(), ctx=ctx)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
if plan.get("variant") != "imperative":
    net.hybridize(static_alloc=True, static_shape=True)
    loss_fn.hybridize()
trainer = gluon.Trainer(
    net.collect_params(), "sgd", {"learning_rate": plan["learning_rate"], "momentum": plan["momentum"]}
)

images = mx.nd.array(np.load(plan["images"]), ctx=ctx)
labels = mx.nd.array(np.load(plan["labels"]), ctx=ctx, dtype="int32")
order = mx.nd.array(np.load(plan["order"]), ctx=ctx, dtype="int32")


def train_batch(rows):
    data, label = images.take(rows), labels.take(rows)
    with autograd.record():
        loss = loss_fn(net(data), label)
    loss.backward()
    trainer.step(len(rows))
    return loss.mean()


seconds = []
for number in range(plan["steps"]):
    began = time.monotonic()
    loss = train_batch(order[number])
    # Calls return before the work is done.
    mx.nd.waitall()
    float(loss.asscalar())
    seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
