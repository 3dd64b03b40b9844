"""A small LSTM classifier as usually written in TensorFlow 2 without Keras: a loop that AutoGraph converts."""

import json
import sys
import time

# This file is named like the framework: its own folder must not be searched for it.
sys.path.pop(0)

import numpy as np
import tensorflow as tf

plan = json.loads(sys.argv[1])
tf.config.threading.set_intra_op_parallelism_threads(plan["threads"])
tf.config.threading.set_inter_op_parallelism_threads(plan["threads"])
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)


def glorot_uniform(shape):
    limit = np.sqrt(6 / sum(shape))
    return tf.random.uniform(shape, -limit, limit)


class Classifier(tf.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = tf.Variable(tf.random.uniform([5000, 32], -0.05, 0.05))
        self.kernel = tf.Variable(glorot_uniform([32 + 100, 400]))
        self.bias = tf.Variable(tf.repeat([0.0, 1.0, 0.0, 0.0], 100))
        self.weight, self.last_bias = tf.Variable(glorot_uniform([100, 10])), tf.Variable(tf.zeros(10))
        self.velocities = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.trainable_variables]

    def __call__(self, tokens):
        x = tf.transpose(tf.nn.embedding_lookup(self.embeddings, tokens), [1, 0, 2])
        h = c = tf.zeros([x.shape[1], 100])
        for x_t in x:
            gates = tf.nn.bias_add(tf.matmul(tf.concat([x_t, h], axis=1), self.kernel), self.bias)
            i, f, g, o = tf.split(gates, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return tf.nn.bias_add(tf.matmul(h, self.weight), self.last_bias)


@tf.function(jit_compile=True if plan.get("variant") == "xla" else None)
def train_step(tokens, labels, rows):
    x, y = tf.gather(tokens, rows), tf.gather(labels, rows)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x)))
    variables = model.trainable_variables
    for place, gradient in enumerate(tape.gradient(loss, variables)):
        velocity = model.velocities[place]
        velocity.assign(plan["momentum"] * velocity + gradient)
        variables[place].assign_sub(plan["learning_rate"] * velocity)
    return loss


with tf.device({"cpu": "/CPU:0", "gpu": "/GPU:0"}.get(plan["device"], "/" + plan["device"].upper())):
    tf.random.set_seed(1)
    model = Classifier()
    tokens = tf.constant(np.load(plan["images"]).astype(np.int64))
    labels = tf.constant(np.load(plan["labels"]).astype(np.int64))
    order = tf.constant(np.load(plan["order"]).astype(np.int64))
    seconds = []
    for number in range(plan["steps"]):
        began = time.monotonic()
        loss = train_step(tokens, labels, order[number])
        float(loss)
        seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
