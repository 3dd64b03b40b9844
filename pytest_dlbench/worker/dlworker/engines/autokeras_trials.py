"""AutoKeras as a program: its next network, or the one that won.

AutoKeras proposes the networks, builds, compiles and scores them; only its loop of trials is replaced, because each
trial has a process of its own here. In between, what AutoKeras has learnt is in a folder, in its own format. Images get
networks of its convolutional block, vectors those of its dense block. Its other blocks for images are ResNets and
EfficientNets, for which it enlarges images to the size of ImageNet's, or downloads weights.
"""

import io
import json
import os

import numpy as np

from dlworker.programs.problems import ProgramError

# AutoKeras' own default.
BATCH_SIZE = 32
# Only the budget ends a search.
MOST_TRIALS = 10**6


def build_trial(run):
    """The next network that AutoKeras proposes; evaluating it gives AutoKeras its validation accuracy.

    ``run.parameters`` has the ``folder`` of the search, the ``number`` of the trial from 0, and the name of the
    ``data`` set. The settings of the network are in the file of that number (``settings_file``).
    """
    parameters = run.parameters
    search = _prepared(run, _proposed(parameters["number"]))
    with io.open(settings_file(parameters["folder"], parameters["number"]), "w", encoding="utf-8") as file:
        json.dump(_active(search.trial.hyperparameters), file)
    training = _Training(search, run.seed)

    def step(number):
        try:
            loss = training.step(number)
        except Exception:
            search.end(None)
            raise
        if not np.isfinite(loss):
            search.end(None)
        return loss

    def evaluate():
        accuracy = training.accuracy()
        search.end(accuracy)
        return {"accuracy": accuracy}

    return {"step": step, "evaluate": evaluate, "samples_per_step": BATCH_SIZE}


def build_winner(run):
    """The network of ``settings``, with new weights; evaluated on the test part of the ``data`` set."""
    training = _Training(_prepared(run, _given(run.parameters["settings"])), run.seed)

    def evaluate():
        return {"accuracy": training.accuracy()}

    return {"step": training.step, "evaluate": evaluate, "samples_per_step": BATCH_SIZE}


def settings_file(folder, number):
    """Where the settings of a trial are, as JSON."""
    return os.path.join(folder, "settings-%d.json" % number)


def _prepared(run, choose):
    """AutoKeras' tuner once it has one network, which ``choose(tuner)`` says, and its data."""
    import tensorflow as tf  # noqa: PLC0415 - other Pythons read this module, too

    tf.config.threading.set_intra_op_parallelism_threads(run.threads)
    tf.config.threading.set_inter_op_parallelism_threads(run.threads)
    import autokeras  # noqa: PLC0415 - after the number of threads
    import keras  # noqa: PLC0415 - after the number of threads

    arrays = run.data(run.parameters["data"])
    train, held_out = ((_inputs(arrays[part + "_inputs"]), arrays[part + "_labels"][:]) for part in ("train", "test"))
    start, block = _space(autokeras, train[0].ndim)
    head = autokeras.ClassificationHead()(block(start))
    auto = autokeras.AutoModel(
        start,
        head,
        tuner=_tuner_class(choose),
        max_trials=MOST_TRIALS,
        directory=run.parameters["folder"] if "folder" in run.parameters else run.folder,
        objective="val_accuracy",
        seed=run.seed,
    )
    # AutoKeras draws from NumPy's global numbers, too: they must differ from trial to trial.
    keras.utils.set_random_seed(run.seed + 1000 * run.parameters.get("number", 0))
    auto.fit(*train, validation_data=held_out, batch_size=BATCH_SIZE, verbose=0)
    return auto.tuner


def _inputs(stored):
    """Images as Keras has them, channels last; vectors as they are."""
    inputs = np.asarray(stored, dtype="float32")
    return np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 else inputs


def _space(autokeras, dimensions):
    if dimensions == 4:
        return autokeras.ImageInput(), autokeras.ImageBlock(block_type="vanilla", augment=False)
    return autokeras.Input(), autokeras.DenseBlock()


def _proposed(number):
    """A choice of what AutoKeras proposes as trial ``number``."""

    def choose(tuner):
        tuner.oracle.max_consecutive_failed_trials = MOST_TRIALS
        tuner.trial = tuner.oracle.create_trial(tuner.tuner_id)
        if tuner.trial.status != "RUNNING":
            raise ProgramError("AutoKeras has proposed %d networks, and has no other one" % number)
        return tuner.trial.hyperparameters

    return choose


def _given(settings):
    """A choice of known settings."""
    import keras_tuner  # noqa: PLC0415 - other Pythons read this module, too

    def choose(_):
        chosen = keras_tuner.HyperParameters()
        chosen.values = dict(settings)
        return chosen

    return choose


def _active(hyperparameters):
    """The settings that the network has; others belong to choices that were not made."""
    space = hyperparameters.space
    return {one.name: hyperparameters.values[one.name] for one in space if hyperparameters.is_active(one)}


def _tuner_class(choose):
    from autokeras.tuners import Greedy  # noqa: PLC0415 - other Pythons read this module, too

    class OneNetwork(Greedy):
        """AutoKeras' default tuner, which builds one network where it would search."""

        trial = None

        def search(self, x, y, validation_data, **_):
            data = {"x": x, "y": y, "validation_data": validation_data}
            space = self.oracle.get_space()
            self._prepare_model_build(space, **data)
            self._try_build(space)
            self.oracle.update_space(space)
            chosen = choose(self)
            self.model = self._try_build(chosen)
            _, self.train, self.held_out = self._prepare_model_build(chosen, **data)
            self.adapt(self.model, self.train[0])

        def end(self, accuracy):
            """Say once what a trial reached; None if it failed."""
            if self.trial is None:
                return
            trial, self.trial = self.trial, None
            trial.status = "FAILED" if accuracy is None else "COMPLETED"
            if accuracy is not None:
                self.oracle.update_trial(trial.trial_id, {"val_accuracy": accuracy})
            self.on_trial_end(trial)

    return OneNetwork


class _Training(object):
    """Steps of a network in whole epochs, each in another order, the last batch of an epoch with what is left."""

    def __init__(self, tuner, seed):
        self._model, (self._inputs, self._labels), self._held_out = tuner.model, tuner.train, tuner.held_out
        self._random = np.random.RandomState(seed)
        self._examples = len(_first(self._inputs))
        self._per_epoch = -(-self._examples // BATCH_SIZE)
        self._order = None

    def step(self, number):
        """Train on the next batch; returns its loss."""
        place = number % self._per_epoch
        if place == 0 or self._order is None:
            self._order = self._random.permutation(self._examples)
        rows = self._order[place * BATCH_SIZE : (place + 1) * BATCH_SIZE]
        found = self._model.train_on_batch(_rows(self._inputs, rows), _rows(self._labels, rows))
        # Keras would return the mean since the last reset of its metrics.
        self._model.reset_metrics()
        return float(_first(found))

    def accuracy(self):
        """The share of correct answers on the other part."""
        inputs, labels = self._held_out
        found = self._model.evaluate(inputs, labels, batch_size=BATCH_SIZE, verbose=0, return_dict=True)
        return float(found["accuracy"])


def _first(values):
    return values[0] if isinstance(values, (list, tuple)) else values


def _rows(values, rows):
    """The rows of an array, or of each one of a list."""
    return [one[rows] for one in values] if isinstance(values, (list, tuple)) else values[rows]
