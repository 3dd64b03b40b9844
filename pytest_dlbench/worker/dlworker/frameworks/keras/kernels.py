"""What the backend reports of recurrent layers: Keras 3 chooses among cuDNN and loops without a word."""

from dlworker.frameworks.keras.layers import BACKEND

if BACKEND == "torch":
    from dlworker.torch_kernels import recurrent_kernels
elif BACKEND == "jax":
    from dlworker import xla_kernels

    def recurrent_kernels(run, trainer, device, is_training):
        """{kernel: kind} of the compiled step, or of inference."""
        modules = {"jit_train_step" if is_training else "jit_predict_step"}
        return xla_kernels.recurrent_kernels(trainer.network, modules)

else:
    from dlworker.frameworks.keras.count import traced_functions
    from dlworker.frameworks.tensorflow.kernels import types
    from dlworker.graph_kernels import kernels_of

    def recurrent_kernels(run, trainer, device, is_training):
        """{type of a node: kind} of the graph of a step, or of inference."""
        model = trainer.model
        return kernels_of(types(traced_functions(model.train_function if is_training else model.predict_function)))


__all__ = ["recurrent_kernels"]
