"""JPEG files by tf.data of TensorFlow 1: its threads read and decode, with tf.io.decode_jpeg."""

import numpy as np
import tensorflow as tf

NAME = "tf.data"
# Batches that are ready before they are asked for.
AHEAD = 2


def decoder():
    """What decodes the files."""
    return "tf.io.decode_jpeg"


def batches(images, order, workers, device):
    """Yield the batch of each row of the order; how long it takes to collate one is not known."""
    # A graph and a session of its own: those of the training stay as they are.
    graph = tf.Graph()
    with graph.as_default():
        following = tf.compat.v1.data.make_one_shot_iterator(data_of(images, order, workers)).get_next()
    with tf.compat.v1.Session(graph=graph) as session:
        for _ in range(len(order)):
            inputs, labels, seconds = session.run(following)
            yield np.moveaxis(inputs, -1, 1), labels, np.append(seconds.sum(axis=0), np.nan)


def data_of(images, order, workers):
    """A tf.data.Dataset of these batches, channels last."""
    paths = [images.path(number) for number in range(len(images))]

    def sample(number):
        levels, seconds = decoded(tf.gather(tf.constant(paths), number), images.channels)
        return levels, tf.gather(tf.constant(images.labels), number), seconds

    def collated(levels, labels, seconds):
        return tf.cast(levels, tf.float32) / 255, labels, seconds

    found = tf.data.Dataset.from_tensor_slices(order.reshape(-1))
    found = found.map(sample, num_parallel_calls=workers) if workers else found.map(sample)
    found = found.batch(order.shape[1], drop_remainder=True).map(collated)
    return configured(found.prefetch(AHEAD) if workers else found, workers)


def decoded(path, channels):
    """The levels H×W×C of a file, and the seconds of reading and of decoding it, one operation after the other."""
    began = tf.timestamp()
    with tf.control_dependencies([began]):
        content = tf.io.read_file(path)
    with tf.control_dependencies([content]):
        read = tf.timestamp()
    with tf.control_dependencies([read]):
        levels = tf.io.decode_jpeg(content, channels=channels, dct_method="INTEGER_ACCURATE")
    with tf.control_dependencies([levels]):
        ended = tf.timestamp()
    return levels, tf.stack([read - began, ended - read])


def configured(data, workers):
    """The data in this order, with as many threads as there are loader workers, whatever tf.data would choose."""
    options = tf.data.Options()
    options.experimental_deterministic = True
    options.experimental_optimization.autotune = False
    options.experimental_threading.private_threadpool_size = max(1, workers)
    return data.with_options(options)
