"""The profiler of the backend, on the function that trains on a batch: Keras 2 has none."""

from keras import backend

BACKEND = backend.backend()

if BACKEND == "tensorflow":
    import tensorflow as tf

    from dlworker.frameworks.tensorflow1.profile import TRACED, operator_seconds
elif BACKEND == "theano":
    from theano.compile.profiling import ProfileStats

    from dlworker.frameworks.theano.profile import operator_seconds
else:
    from dlworker.frameworks.cntk.profile import node_seconds


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does."""
    return PROFILES[BACKEND](run, trainer)


def _cntk(run, trainer):
    return node_seconds(run, trainer.model.train_function.trainer)


def _tensorflow(run, trainer):
    return operator_seconds(traces(run, trainer))


def traces(run, trainer):
    """TensorFlow's traces of what ``run`` does."""
    function, found = trainer.model.train_function, []

    def traced(inputs):
        outputs = function(inputs)
        # The next run overwrites it.
        found.append(tf.RunMetadata.FromString(function.run_metadata.SerializeToString()).step_stats)
        return outputs

    _trace(function, TRACED, tf.RunMetadata())
    trainer.model.train_function = traced
    try:
        run()
    finally:
        trainer.model.train_function = function
        _trace(function, None, None)
    return found


def _trace(function, options, metadata):
    function.run_options, function.run_metadata = options, metadata
    # Options are read when the function is made callable, by the next call.
    function._callable_fn = None


def _theano(run, trainer):
    stats, model = ProfileStats(atexit_print=False), trainer.model
    model.compile(model.optimizer, model.loss, profile=stats)
    # Keras creates the function in the first step, which should not be in the profile.
    trainer.step(0)
    stats.reset()
    run()
    return operator_seconds(stats)


PROFILES = {"cntk": _cntk, "tensorflow": _tensorflow, "theano": _theano}
