"""Callbacks that mark the steps of trainers, made of what the user's environment has; each ends its training in time.

A step lasts from the trainer's announcement that it has a batch to the announcement that it has trained on it.
"""

from dlworker.programs.problems import ProgramError


def made(name, marks):
    """The callback for a trainer's library."""
    if name not in LIBRARIES:
        known = ", ".join(sorted(LIBRARIES))
        raise ProgramError("run.callback(%r): expected one of %s; other loops use run.steps" % (name, known))
    return LIBRARIES[name](marks)


def _lightning(marks):
    try:
        from lightning.pytorch import Callback  # noqa: PLC0415 - only if it is asked for
    except ImportError:
        from pytorch_lightning import Callback  # noqa: PLC0415 - only if it is asked for

    class MarkSteps(Callback):
        def on_train_batch_start(self, trainer, module, batch, batch_idx, *_):
            marks.begin()

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx, *_):
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            # Lightning has divided it by the number of batches whose gradients it adds up.
            marks.end(loss if loss is None else loss * trainer.accumulate_grad_batches)
            trainer.should_stop = trainer.should_stop or marks.is_enough

    return MarkSteps()


def _transformers(marks):
    from transformers import TrainerCallback  # noqa: PLC0415 - only if it is asked for

    class MarkSteps(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            marks.begin()

        def on_step_end(self, args, state, control, **_):
            marks.end()
            control.should_training_stop = control.should_training_stop or marks.is_enough
            return control

    return MarkSteps()


def _keras(marks):
    try:
        from keras.callbacks import Callback  # noqa: PLC0415 - only if it is asked for
    except ImportError:
        from tensorflow.keras.callbacks import Callback  # noqa: PLC0415 - only if it is asked for

    class MarkSteps(Callback):
        def on_train_batch_begin(self, batch, logs=None):
            marks.begin()

        def on_train_batch_end(self, batch, logs=None):
            # Keras reports the mean loss of the epoch so far, which is not that of the step.
            marks.end()
            self.model.stop_training = self.model.stop_training or marks.is_enough

    return MarkSteps()


LIBRARIES = {"lightning": _lightning, "transformers": _transformers, "keras": _keras}
