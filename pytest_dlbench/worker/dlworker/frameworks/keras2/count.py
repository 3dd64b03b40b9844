"""What the backend reports of the function that trains on a batch: Keras 2 counts nothing."""

from keras import backend

BACKEND = backend.backend()

if BACKEND == "tensorflow":
    from dlworker.frameworks.keras2.profile import traces
    from dlworker.frameworks.tensorflow1.profile import kernels
elif BACKEND == "theano":
    from dlworker.frameworks.theano.count import nodes
else:
    from dlworker.frameworks.cntk.count import nodes


def count(run, trainer, device):
    """{name: number} of what ``run`` does."""
    function = trainer.model.train_function
    if BACKEND == "tensorflow":
        reason = "TensorFlow 1 reports peaks only"
        return {"operations": len(kernels(traces(run, trainer))), "allocated_bytes": reason}
    return nodes(function.function if BACKEND == "theano" else function.trainer)
