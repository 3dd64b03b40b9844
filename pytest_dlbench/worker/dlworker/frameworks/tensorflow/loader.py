"""JPEG files by tf.data: its threads read and decode, with tf.io.decode_jpeg."""

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
    for inputs, labels, seconds in data_of(images, order, workers).as_numpy_iterator():
        yield np.moveaxis(inputs, -1, 1), labels, np.append(seconds.sum(axis=0), np.nan)


def data_of(images, order, workers):
    """A tf.data.Dataset of these batches, channels last."""
    paths = tf.constant([images.path(number) for number in range(len(images))])
    labels = tf.constant(images.labels)

    def sample(number):
        levels, seconds = decoded(tf.gather(paths, number), images.channels)
        return levels, tf.gather(labels, number), seconds

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
        # Without this method, decoders that are built differently use one that is quicker and less exact.
        levels = tf.io.decode_jpeg(content, channels=channels, dct_method="INTEGER_ACCURATE")
    with tf.control_dependencies([levels]):
        ended = tf.timestamp()
    return levels, tf.stack([read - began, ended - read])


def configured(data, workers):
    """The data in this order, with as many threads as there are loader workers, whatever tf.data would choose."""
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = False
    options.threading.private_threadpool_size = max(1, workers)
    return data.with_options(options)
