"""tartu-mnist-cnn as usually written in TensorFlow 2 without Keras: variables, tf.nn and one tf.function."""

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
    limit = np.sqrt(6 / (np.prod(shape[:-2]) * sum(shape[-2:])))
    return tf.random.uniform(shape, -limit, limit)


class CNN(tf.Module):
    def __init__(self):
        super().__init__()
        shapes = [(3, 3, 1, 32), (3, 3, 32, 64), (12 * 12 * 64, 128), (128, 10)]
        self.weights = [tf.Variable(glorot_uniform(shape)) for shape in shapes]
        self.biases = [tf.Variable(tf.zeros(shape[-1])) for shape in shapes]
        self.velocities = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.trainable_variables]

    def __call__(self, x, number):
        w, b = self.weights, self.biases
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w[0], 1, "VALID"), b[0]))
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w[1], 1, "VALID"), b[1]))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.experimental.stateless_dropout(x, 0.25, seed=[1, number], rng_alg="philox")
        x = tf.reshape(x, [-1, 12 * 12 * 64])
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w[2]), b[2]))
        x = tf.nn.experimental.stateless_dropout(x, 0.5, seed=[2, number], rng_alg="philox")
        return tf.nn.bias_add(tf.matmul(x, w[3]), b[3])


@tf.function(jit_compile=True if plan.get("variant") == "xla" else None)
def train_step(images, labels, rows, number):
    x, y = tf.gather(images, rows), tf.gather(labels, rows)
    with tf.GradientTape() as tape:
        logits = model(x, number)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    variables = model.trainable_variables
    for place, gradient in enumerate(tape.gradient(loss, variables)):
        velocity = model.velocities[place]
        velocity.assign(plan["momentum"] * velocity + gradient)
        variables[place].assign_sub(plan["learning_rate"] * velocity)
    return loss


with tf.device({"cpu": "/CPU:0", "gpu": "/GPU:0"}.get(plan["device"], "/" + plan["device"].upper())):
    tf.random.set_seed(1)
    model = CNN()
    images = tf.constant(np.ascontiguousarray(np.load(plan["images"]).transpose(0, 2, 3, 1)))
    labels = tf.constant(np.load(plan["labels"]).astype(np.int64))
    order = tf.constant(np.load(plan["order"]).astype(np.int64))
    seconds = []
    for number in range(plan["steps"]):
        began = time.monotonic()
        loss = train_step(images, labels, order[number], tf.constant(number))
        float(loss)
        seconds.append(time.monotonic() - began)
print(json.dumps(seconds))
