"""A small LSTM classifier in TensorFlow 1 as in its tutorials: tf.nn.dynamic_rnn over an LSTMCell, a session."""

import json
import sys
import time

# Files in this folder are named like frameworks.
sys.path.pop(0)

import numpy as np
import tensorflow as tf

asked = json.loads(sys.argv[1])
arrays = {name: np.load(asked[name]).astype(np.int32) for name in ("images", "labels", "order")}

# A graph's constants are limited to 2 GiB, so the data are variables initialised from what is fed.
starts = {name: tf.placeholder(array.dtype, array.shape) for name, array in arrays.items()}
data = {name: tf.Variable(start, trainable=False, collections=[]) for name, start in starts.items()}

number = tf.placeholder(tf.int32, [])
index = tf.gather(data["order"], number)
tokens, y = tf.gather(data["images"], index), tf.gather(data["labels"], index)

embeddings = tf.get_variable("embeddings", [5000, 32])
x = tf.nn.embedding_lookup(embeddings, tokens)
outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(100), x, dtype=tf.float32)
logits = tf.layers.dense(state.h, 10)
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
optimizer = tf.train.MomentumOptimizer(asked["learning_rate"], asked["momentum"])
# The gradient of an embedding has only the rows read, with a sparse update: request the dense one.
train = optimizer.apply_gradients([(tf.convert_to_tensor(g), v) for g, v in optimizer.compute_gradients(loss)])

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
