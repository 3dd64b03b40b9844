"""Keras 3's dtype policies, including mixed ones."""

import keras

from dlworker.frameworks.keras.layers import BACKEND
from dlworker.protocol import RequestError

# Keras's policy names.
MIXED = {"bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def set_precision(precision):
    """Set the types of everything built from now on: mixed policies compute in 16 bits and keep float32 weights."""
    if precision in MIXED:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy(MIXED[precision])
        return
    if precision == "float64" and BACKEND != "tensorflow":
        # There keras.backend.result_type("float64") is "float32" (keras-team/keras#23704), for tanh, sums and updates.
        raise RequestError("unsupported", "on %s Keras converts float64 to float32 within its operations" % BACKEND)
    keras.config.set_floatx(precision)
    keras.config.set_dtype_policy(precision)
