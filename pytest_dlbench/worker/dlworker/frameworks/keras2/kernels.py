"""What the backend shows of recurrent layers."""

from dlworker.frameworks.keras2.layers import BACKEND, K

if BACKEND == "tensorflow":
    from dlworker.graph_kernels import kernels_of
elif BACKEND == "theano":
    from dlworker.frameworks.theano.kernels import kernels_of
else:
    from dlworker.frameworks.cntk.kernels import kernels_of


def recurrent_kernels(run, trainer, device, is_training):
    """{kernel: kind} of the step, or of inference."""
    model = trainer.model
    if BACKEND == "tensorflow":
        return kernels_of(operation.type for operation in K.get_session().graph.get_operations())
    if BACKEND == "theano":
        return kernels_of((model.train_function if is_training else model.predict_function).function)
    return kernels_of(model.outputs[0], trainer.network)
