"""tartu-mnist-cnn in TensorFlow 1 as in its own guide to tf.layers: a graph, a session, momentum."""

import json
import sys
import time

# Files in this folder are named like frameworks.
sys.path.pop(0)

import numpy as np
import tensorflow as tf

asked = json.loads(sys.argv[1])
arrays = {
    "images": np.ascontiguousarray(np.load(asked["images"]).transpose(0, 2, 3, 1), dtype=np.float32),
    "labels": np.load(asked["labels"]).astype(np.int32),
    "order": np.load(asked["order"]).astype(np.int32),
}

# A graph's constants are limited to 2 GiB, so the data are variables initialised from what is fed.
starts = {name: tf.placeholder(array.dtype, array.shape) for name, array in arrays.items()}
data = {name: tf.Variable(start, trainable=False, collections=[]) for name, start in starts.items()}

number = tf.placeholder(tf.int32, [])
index = tf.gather(data["order"], number)
x, y = tf.gather(data["images"], index), tf.gather(data["labels"], index)

x = tf.layers.conv2d(x, 32, 3, activation=tf.nn.relu)
x = tf.layers.conv2d(x, 64, 3, activation=tf.nn.relu)
x = tf.layers.max_pooling2d(x, 2, 2)
x = tf.layers.dropout(x, 0.25, training=True)
x = tf.layers.flatten(x)
x = tf.layers.dense(x, 128, activation=tf.nn.relu)
x = tf.layers.dropout(x, 0.5, training=True)
logits = tf.layers.dense(x, 10)
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
train = tf.train.MomentumOptimizer(asked["learning_rate"], asked["momentum"]).minimize(loss)

config = tf.ConfigProto(intra_op_parallelism_threads=asked["threads"], inter_op_parallelism_threads=1)
seconds = []
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    for name, variable in data.items():
        session.run(variable.initializer, {starts[name]: arrays[name]})
    for step in range(asked["steps"]):
        began = time.monotonic()
        _, value = session.run([train, loss], {number: step})
        float(value)
        seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
