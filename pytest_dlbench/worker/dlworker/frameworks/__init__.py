"""One folder for each framework: it builds a neutral network in that framework's own idiom.

The folder is a package whose ``__init__`` is the builder. Alongside it are ``layers``, ``losses``, ``optimizers``,
``precision`` (mixed precision) and ``profile``, further modules where a framework needs them (``weights``,
``recurrent``, ``backend``), and its variants. A user's builder may be a single file.

A builder is a module with

``configure(threads)``
    Set the number of CPU threads, before anything is computed. The usual environment variables (OMP_NUM_THREADS and
    similar) are set before Python starts.
``set_execution(execution, device)``, optional
    Turn these settings of execution on for the process ("autotune", "channels_last", "cuda_graphs", "deterministic",
    "tf32"), and the others off; after ``configure``, before the Trainer is made. Those that it can turn on are in
    ``SUPPORTS``; without this function, any that is set is refused. The recipe has them, too, as fields that are true.
    "library=onednn" asks for a library; what must be set before the import is in the driver's
    ``environments/libraries.py``.
``threads()``
    The number of CPU threads in effect, read back from the framework, or None if it does not report it.
``versions()``
    The versions of the framework and of its numerical libraries, by name, as text.
``SUPPORTS``
    The set of what it can build: kinds of layers, losses and optimisers as named in the driver's JSON, and the features
    "schedule" (a learning rate for each step), "clip_norm", "accumulation" (a batch in ``accumulation`` parts of one
    size, in order, and one update by the mean of their gradients; the loss is the mean of theirs), "lengths" (sequences
    that end before their padding), "start" (a recurrent layer that begins in another's last state), "pipeline"
    (``feed``), "bfloat16" and "float16" (the framework's own mixed precision: weights and outputs stay float32).
    Requests for anything else are refused before the Trainer is made.

    It consists of names and of the keys of tables: ``{*LAYERS, *LOSSES, *OPTIMIZERS, "schedule"}``. A layer in the
    table is supported; there is no second list. The driver reads the set from the source, without importing the
    framework, so a table must be a literal in the builder or in a module that the builder imports it from. Only the
    worker sees values computed in any other way. The tables do not cover settings or versions for which a layer cannot
    be built: there a builder raises a RequestError with the reason.
``Trainer(network, recipe, weights, device, seed)``
    ``network`` and ``recipe`` are the driver's JSON; ``weights`` maps names such as "conv1.weight" to arrays in the
    canonical layout, or is None for the framework's own initialisation. Its methods are

    ``parameters()``: the canonical shape of every trainable array, by name, read from the arrays that were built;
    ``array(name)``: one of them as it is now, in NumPy and in any layout; it is compared before and after a step;
    ``describe()``: the native model as text;
    ``load(inputs, labels, order, rates=None)``: put examples (N×C×H×W, N×features, or N×steps tokens; labels N, or one
    for each step or flag) and the order (steps×batch) where training wants them. Only "schedule" needs ``rates``;
    ``feed(inputs, labels)``, for "pipeline" only: replace the loaded examples by the same number of others, without
    compiling anything; the order stays;
    ``stage(inputs, labels)``, optional: both of a batch as ``feed`` also takes them, in memory from which a GPU copies
    by itself. The pipeline's thread calls it, while the framework trains;
    ``step(number)``: one update with the examples in that row of the order; returns the loss before the update, as the
    framework's own scalar: ``float()`` of it waits for the device;
    ``outputs(inputs, batch_size)``: yields the last layer's output for each batch, as a NumPy array, with dropout off
    and running statistics. Examples are put on the device before the first batch;
    ``computes_on()``, for GPUs only: ("gpu" or "cpu", the device's name), as the framework reports where its arrays
    are. An OpenCL driver of the processor is a "cpu". A run on a GPU fails if it is not stated, or is a "cpu";
    ``mark()``, optional, for GPUs only: a point in the queue of the GPU's work, None on a processor;
    ``marked_seconds(first, last)`` are those of the GPU's own clock between two of them, once both are done;
    ``peak_device_bytes()``, for GPUs only: the most memory that the framework's allocator held there so far, or as text
    why it does not report it; None on a processor.

``profile(run, trainer, device)``, optional
    {operator: seconds} of everything that ``run()`` does, by the framework's own profiler and names. In a folder it is
    in the module ``profile``, which is not imported until a profile is requested.

``parallel``, optional
    A module of the folder by which several workers train one network, each with a part of every batch. Of a variant
    it is next to it, and named like it: ``compile_parallel`` of ``compile``; of a back end it has its name:
    ``parallel_jax``.

    ``join(group)``: meet the other workers, before anything is computed. ``group`` has the "rank" of this worker, the
    number of "workers", the name of this "module", the run's "folder", which all of them see, the network "interface"
    to use, the "address" of all, and the "ports" at which each may listen. They were free: ``meeting.address`` refuses
    one that is taken. Workers on several hosts have no folder; "address" is the first one's, which alone has a port;
    "threads" are those of each worker, for a framework that must know them before it can meet anybody;
    ``Trainer(network, recipe, weights, device, seed, group)``: as above. Its ``step`` averages gradients over all
    workers and returns the loss of this worker's part, or the mean of all; ``outputs`` waits for nobody;
    ``factors`` of it is set before ``load`` where labels are ignored and "ignored_labels" is not in ``OF_EACH``: the
    numbers by which it multiplies the loss of each step (``meeting.Weighed``), so that each label that counts has the
    same weight on all workers;
    ``step_alone(number)`` of it, optional: a step without any exchange;
    ``leave()``: end the connections;
    ``OF_EACH``, optional: those of "batch_norm", "dropout", "detections" and "ignored_labels" that each worker computes
    of its part of the batch, or with random numbers of its own; without it, all. Networks with "ignored_labels" are
    refused then;
    ``PLACEMENTS``, optional: ("spread",) if the workers can also meet on several hosts;
    ``EXCHANGES``, optional: other exchanges than "full" that the Trainer has, one of which ``group["exchange"]`` may
    ask for, such as ("fp16",) if it can round gradients to 16 bits;
    ``EXACT``, optional: those of them that change no loss;
    ``OPERATORS``, optional: a table of single operators that the workers compute together: "all_reduce". Its value is
    called with this worker's array in NumPy, and has ``passes()``, ``read(names, results)`` and ``wait(results)`` as
    below (``operators.Shared``), and perhaps ``reset()``, which is called before each call and not timed.

``devices``, optional
    The same for workers that are devices of one process: a module with the contents of ``parallel`` but PLACEMENTS,
    named in the same way. ``group`` has neither "address" nor "ports"; "rank" is 0, and ``step`` returns the loss of
    the whole batch. ``factors`` has a second axis, of the devices. ``copies(name)`` of its Trainer: a parameter as each
    device has it, in NumPy.

``operators``, optional
    A module of the folder by which single operators are measured, in float32.

    ``OPERATORS``: a table whose keys are the kinds of operators that it has: "gemm", "convolution", "recurrent"; the
    driver reads them as it reads ``SUPPORTS``;
    ``Operator(operator, arrays, device)``: ``operator`` is the driver's JSON, ``arrays`` its "data", "weights" and the
    output's "gradient" in NumPy, and for recurrent ones "recurrent". ``passes()`` of it returns functions by name, each
    of which calls the framework and returns a sequence of its own arrays: "forward" and, if ``operator["is_trained"]``,
    "backward_data" and "backward_weights". A framework that computes both gradients at once has "backward" in their
    place, and one that computes them only together with the output "forward_backward". ``read(names, results)`` copies
    such arrays to NumPy in the canonical layout; ``computes_on()`` is that of a Trainer;
    ``wait(results)``: wait until they are computed.

``count(run, trainer, device)``, optional
    {name: number} of what ``run()`` does, which is one step: "operations", "allocated_bytes". In place of a number, the
    reason why it is unknown. It may cost time and memory, because nothing is measured any more. In a folder it is in
    the module ``count``.
``recurrent_kernels(run, trainer, device, is_training)``, optional
    {kernel, by the framework's name: kind} of the recurrent layers in what ``run()`` does: a step, or a batch of
    inference. The kinds are in ``dlworker.recurrent_kernels``. In place of all, the reason why they are unknown. They
    come from what ran or was compiled, not from what was asked for; that may cost time, because nothing is measured
    any more. In a folder it is in the module ``kernels``.
``breakdown(trainer)``, optional
    The phases of a step as an object of a class that derives from ``breakdown.Phases``: it takes steps that train as
    ``step`` does, and stops between their phases. These are "input" (selecting the batch), "forward", "backward" and
    "update", or what a framework computes at once: "forward_backward". Several workers also have "exchange", or
    "backward_exchange" if it happens during the backward pass. A builder that cannot stop there raises
    ``breakdown.UndividedError`` with the reason. In a folder it is in the module ``breakdown``, which is not imported
    until it is asked for.
``layerwise(trainer)``, optional
    The layers of a network one by one, as an object of a class that derives from ``layerwise.Layers``; raises
    ``breakdown.UndividedError``, too. In a folder it is in the module ``layerwise``.
``compiled(trainer)``, optional
    {name: number} of what was compiled in this process so far: "compilations", "recompilations", "graph_breaks". It is
    read at the beginning and the end of training and of evaluations, from what the framework counts anyway. In a folder
    it is in the module ``count``, too, which is imported before the first step.

``loader``, optional
    A module of the folder by which the framework's own data loader reads JPEG files; without it, the driver's.

    ``batches(images, order, workers, device)``: a generator of one batch for each row of the order: inputs N×C×H×W in
    float32 from 0 to 1, labels, and [seconds of reading, of decoding, of collating], NaN for what is not known; as
    NumPy arrays, or what ``feed`` takes and NumPy reads. ``images`` is a sequence of files (``images.Images``),
    ``workers`` the processes or threads that load ahead, none with 0. Closing it ends them;
    ``NAME``: of the loader; ``decoder()``: what decodes.

``checkpoint``, optional
    A module of the folder by which a training is saved and goes on in another process, by the framework's own means.

    ``save(trainer, folder)``: write everything on which later steps depend into an empty folder: parameters, running
    statistics, the optimiser's state, a loss scale;
    ``restore(trainer, folder)``: read it into a Trainer of the same network and recipe, which has loaded the examples,
    but has not taken a step;
    ``MECHANISM``: by what it is written, such as "torch.save";
    ``NOT_KEPT``, optional: what of the state is not written, such as ("random numbers",).

``device`` is "cpu" or "gpu". A variant of a framework (compiled, imperative) is a small module in the framework's
folder, which reuses the builder's functions and overrides what differs in its Trainer.

A builder imports its framework and NumPy, nothing from pytest_dlbench, and raises
``RequestError("unsupported", reason)`` for what it cannot build exactly. Imports are absolute: ``import jax`` means the
framework, in the folder ``jax`` too.
"""
