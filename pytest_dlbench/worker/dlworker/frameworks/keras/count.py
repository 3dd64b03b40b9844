"""What the backend reports of a step: Keras 3 counts nothing."""

from dlworker.frameworks.keras.layers import BACKEND

if BACKEND == "torch":
    from dlworker.torch_counts import compiled, count
elif BACKEND == "jax":
    from dlworker import xla_counts
    from dlworker.xla_counts import compiled

    def count(run, trainer, device):
        """{name: number} of the compiled step, and of the program that selects its batch."""
        return xla_counts.count({"jit_train_step", "jit_rows"})

else:
    from dlworker.frameworks.tensorflow import count as of_tensorflow

    def compiled(trainer):
        """{name: number} of the traces of the step, which Keras makes in the first one."""
        found = traced_functions(trainer.model.train_function)
        return {"compilations": sum(of_tensorflow.traces(one)["compilations"] for one in found)}

    def count(run, trainer, device):
        """{name: number} of the step's graphs."""
        found = traced_functions(trainer.model.train_function)
        traced = [one for one in found if of_tensorflow.traces(one)["compilations"]]
        if len(traced) != 1:
            return {"operations": "Keras has %d traced functions for a step" % len(traced)}
        return of_tensorflow.nodes(traced[0])

    def traced_functions(function):
        """The tf.functions within the function that trains on a batch, or predicts, which Keras wraps in others."""
        found, waiting = [], [function]
        while waiting:
            made = waiting.pop()
            if hasattr(made, "experimental_get_tracing_count"):
                found.append(made)
            wrapped = [cell.cell_contents for cell in getattr(made, "__closure__", None) or ()]
            waiting += [one for one in wrapped if callable(one)]
        return found


__all__ = ["compiled", "count"]
