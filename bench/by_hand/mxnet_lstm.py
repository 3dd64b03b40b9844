"""A small LSTM classifier by hand in Gluon, with its fused layer: prints the seconds of every step.

OMP_NUM_THREADS sets the threads. The variant "imperative" does not hybridize.
"""

import json
import sys
import time

# This folder, where Python looks first, has files that are named like frameworks.
sys.path.pop(0)

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

plan = json.loads(sys.argv[1])
ctx = mx.cpu() if plan["device"] == "cpu" else mx.gpu()


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding = nn.Embedding(5000, 32)
        self.lstm = rnn.LSTM(100, layout="NTC", input_size=32)
        self.fc = nn.Dense(10)

    def hybrid_forward(self, F, tokens):  # noqa: N803 - Gluon's own name for nd or sym
        outputs = self.lstm(self.embedding(tokens))
        return self.fc(F.slice_axis(outputs, axis=1, begin=-1, end=None))


net = Net()
net.initialize(mx.init.Xavier(), ctx=ctx)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
if plan.get("variant") != "imperative":
    net.hybridize(static_alloc=True, static_shape=True)
    loss_fn.hybridize()
trainer = gluon.Trainer(
    net.collect_params(), "sgd", {"learning_rate": plan["learning_rate"], "momentum": plan["momentum"]}
)

tokens = mx.nd.array(np.load(plan["images"]), ctx=ctx, dtype="int32")
labels = mx.nd.array(np.load(plan["labels"]), ctx=ctx, dtype="int32")
order = mx.nd.array(np.load(plan["order"]), ctx=ctx, dtype="int32")


def train_batch(rows):
    data, label = tokens.take(rows), labels.take(rows)
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
