"""How workers train together, by the backend."""

from dlworker.frameworks.keras.layers import BACKEND
from dlworker.protocol import RequestError

OF_EACH = ("batch_norm", "dropout", "detections")

if BACKEND == "tensorflow":
    from dlworker.frameworks.keras.parallel_tensorflow import Trainer, join, leave
elif BACKEND == "torch":
    from dlworker.frameworks.keras.parallel_torch import Trainer, join, leave
else:
    message = "several workers: this builder gives Keras the first device of all, and on JAX that is another worker's"
    raise RequestError("unsupported", message)

__all__ = ["OF_EACH", "Trainer", "join", "leave"]
