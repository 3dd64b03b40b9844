"""One folder for each framework: it builds a neutral network in that framework's own idiom.

The folder is a package, whose ``__init__`` is the builder. Alongside it are ``layers``, ``losses``, ``optimizers``,
``precision`` (mixed precision) and ``profile``, what else is a subject of its own in this framework (``weights``,
``recurrent``, ``backend``), and its variants. A builder of a user's own may be a single file.

A builder is a module with

``configure(threads)``
    Set the number of CPU threads, before anything is computed. The usual variables (OMP_NUM_THREADS and its like) are
    set before Python starts.
``threads()``
    The number of CPU threads in force, read back from the framework, or None where it cannot tell.
``versions()``
    The versions of the framework and of what it computes with, by name, as text.
``SUPPORTS``
    The set of what it can build: kinds of layers, losses and optimisers as they are called in the driver's JSON, and
    of the features "schedule" (a learning rate for each step), "clip_norm", "lengths" (sequences that end before their
    padding), "start" (a recurrent layer that begins in another's last state), "pipeline" (``feed``), "bfloat16" and
    "float16" (the framework's own mixed precision: weights stay float32, and so are the outputs). What is asked for
    beyond it is refused before the Trainer is made.

    It is made of names and of the keys of tables: ``{*LAYERS, *LOSSES, *OPTIMIZERS, "schedule"}``. A layer that is in
    the table is supported; there is no second list. The driver reads it from the source, without importing the
    framework, so that a table is a display in the builder or where the builder imports it from. What is computed in
    another way only the worker knows. That a layer cannot be built with certain settings, or by certain versions, no
    table says: there a builder raises a RequestError with the reason.
``Trainer(network, recipe, weights, device, seed)``
    ``network`` and ``recipe`` are the driver's JSON; ``weights`` maps names such as "conv1.weight" to arrays in the
    canonical layout, or is None for the framework's own initialisation. It has

    ``parameters()``: the canonical shape of every trainable array, by name, read off the arrays that were built;
    ``describe()``: the native model as text;
    ``load(inputs, labels, order, rates=None)``: put examples (N×C×H×W, N×features, or N×steps tokens; labels N, or one
    for each step or flag) and the order (steps×batch) where training wants them. "schedule" alone needs ``rates``;
    ``feed(inputs, labels)``, of "pipeline" alone: put as many other examples in the place of those that were loaded,
    which compiles nothing; the order stays;
    ``step(number)``: one update with the examples of that row of the order; gives the loss before the update, as the
    framework's own scalar: ``float()`` of it waits for the device;
    ``outputs(inputs, batch_size)``: yields what the last layer gives for each batch in turn, as a NumPy array, with
    dropout off and running statistics. Examples are put on the device before the first.

``profile(run, trainer, device)``, only if they like
    {operator: seconds} of all that ``run()`` does, by the framework's own profiler and names. In a folder it is in the
    module ``profile``, which nothing imports before a profile is asked for.

``device`` is "cpu" or "gpu". A variant of a framework (compiled, imperative) is a small module in the framework's
folder, which takes the builder's functions and overrides what is different in its Trainer.

A builder imports its framework and NumPy, nothing of pytest_dlbench, and raises
``RequestError("unsupported", reason)`` for what it cannot build exactly. Imports are absolute: in the folder ``jax`` as
everywhere ``import jax`` is the framework.
"""
