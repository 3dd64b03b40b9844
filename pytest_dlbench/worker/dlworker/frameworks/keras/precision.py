"""Keras 3's policies of types, mixed ones among them."""

import keras

from dlworker.frameworks.keras.layers import BACKEND
from dlworker.protocol import RequestError

# The names of the policies.
MIXED = {"bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def set_precision(precision):
    """The types of everything that is built from now on: mixed ones compute in 16 bits and keep float32 weights."""
    if precision in MIXED:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy(MIXED[precision])
        return
    if precision == "float64" and BACKEND != "tensorflow":
        # keras.backend.result_type("float64") is "float32" there (keras-team/keras#23704): tanh, sums, updates obey it.
        raise RequestError("unsupported", "on %s Keras makes float32 of float64 within its operations" % BACKEND)
    keras.config.set_floatx(precision)
    keras.config.set_dtype_policy(precision)
