"""The worker's operations, one function each, in a table, so that a message can call nothing else."""

import importlib
import platform
import sys
import zlib
from time import monotonic

import numpy as np

from dlworker import checkpoints, counting, cuda_versions, distributions, libraries, library_calls, recurrent_kernels
from dlworker.alternating import Turns
from dlworker.augmenting import augmented
from dlworker.breakdown import UndividedError, breakdown_of, measured
from dlworker.checking import repeated
from dlworker.detection import Judge, prepared
from dlworker.evaluation import Answers
from dlworker.layerwise import LayerTimes, layers_of
from dlworker.meeting import factors_in
from dlworker.operators import check_calls, operate, prepare
from dlworker.pipeline import Feeding, Pipeline
from dlworker.planting import slowed
from dlworker.profiling import name_of, profiler_of
from dlworker.protocol import VERSION, RequestError, required
from dlworker.serving import chosen
from dlworker.training import timed_chunks, timed_outputs, timed_steps

# Settings of how a framework computes, off by default.
EXECUTION = ("autotune", "channels_last", "cuda_graphs", "deterministic", "tf32")
# What judges outputs, by loss; others have answers.
JUDGES = {"detection": Judge}
# Evaluations of the same weights: two with different dropout masks may agree to a thousandth by chance.
AGAIN = 3
# Parameters that are compared before and after a step: one array, and more up to these numbers of arrays and values.
WATCHED_ARRAYS = 16
WATCHED_VALUES = 2**18


class Session:
    """The state kept between operations."""

    def __init__(self):
        self.builder = None
        self.device = None
        self.trainer = None
        self.network = None
        self.recipe = None
        self.order = None
        self.stepper = None
        self.slowdown = 0.0
        self.turns = Turns()
        self.chunk_seconds = 0.0
        self.group = None
        self.parallel = None
        self.compiled = counting.Compiled(dict)
        self.operation = None
        self.probes = {}
        self.requests = {}


def hello(session, request):
    """Import the framework. The driver set the thread variables before this Python started."""
    if required(request, "protocol") != VERSION:
        message = "this worker speaks protocol %d, the driver %r" % (VERSION, request["protocol"])
        raise RequestError("bad_request", message)
    session.device = required(request, "device")
    began = monotonic()
    try:
        session.builder = importlib.import_module(required(request, "builder"))
    except ModuleNotFoundError as error:
        # Any other ImportError means that the framework is installed but broken, for example without a system library.
        raise RequestError("missing_framework", "%s cannot import the framework: %s" % (sys.executable, error))
    seconds = monotonic() - began
    join_seconds = _join(session, request.get("group"))
    began = monotonic()
    session.builder.configure(required(request, "threads"))
    _execute(session.builder, request.get("execution", ()), session.device)
    # Some frameworks start their thread pool only now, which is part of the import.
    threads = session.builder.threads()
    seconds += monotonic() - began
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    found = distributions.installed()
    if session.device != "cpu":
        versions.update(cuda_versions.versions({name: version for name, (version, _) in found.items()}))
    versions.update(session.builder.versions())
    return {
        "seconds": seconds,
        # The builder's come first: those of the libraries are of no distribution, even where one has their name.
        "versions": dict(libraries.versions(cuda_versions.mapped()), **versions),
        "executable": sys.executable,
        "threads": threads,
        "distributions": {name: version for name, (version, _) in found.items()},
        "sources": distributions.sources(versions, found),
        "elsewhere": distributions.imported_from(request.get("repository"), request.get("checkout")),
        "join_seconds": join_seconds,
    }


def _execute(builder, execution, device):
    """Turn these settings of execution on, and the others off, in a builder that has any of them."""
    # A builder that has none of these settings needs no such function, and one with SUPPORTS of another might lack it.
    can_set = hasattr(builder, "set_execution")
    missing = sorted(set(execution) - set(builder.SUPPORTS if can_set else ()))
    if missing:
        raise RequestError("unsupported", "the builder %s has no %s" % (name_of(builder), ", no ".join(missing)))
    if can_set:
        builder.set_execution(execution, device)


def _join(session, group):
    """Meet the other workers of a data-parallel run; the seconds until all are there, None for a single worker."""
    if group is None:
        return None
    session.group, session.parallel = group, importlib.import_module(group["module"])
    began = monotonic()
    # Before anything is computed: some frameworks find their devices, and with them the other workers, only once.
    session.parallel.join(group)
    return monotonic() - began


def build(session, request):
    """Build the network in the framework's own idiom, from shared weights or the framework's own."""
    # If this fails, nothing built before may be trained.
    session.trainer = session.order = session.stepper = None
    session.turns, session.compiled = Turns(), counting.Compiled(dict)
    path = required(request, "weights")
    weights = None if path is None else np.load(path, allow_pickle=False)
    network, recipe = required(request, "network"), required(request, "recipe")
    _refuse_unsupported(session.builder, network, recipe)
    if request.get("checkpoints"):
        checkpoints.require(session.builder)
    began = monotonic()
    arguments = [network, recipe, weights, session.device, required(request, "seed")]
    make = session.parallel.Trainer if session.group else session.builder.Trainer
    session.trainer = make(*(arguments + ([session.group] if session.group else [])))
    session.network, session.recipe = network, recipe
    seconds = monotonic() - began
    parameters = {name: list(shape) for name, shape in session.trainer.parameters().items()}
    return {
        "seconds": seconds,
        "parameters": parameters,
        "description": session.trainer.describe(),
        "device": _device(session),
    }


def _device(session):
    """The kind and the name of the device that a builder for GPUs reports; None if it reports none."""
    computes_on = getattr(session.trainer, "computes_on", None)
    return dict(zip(("kind", "name"), computes_on())) if computes_on else None


def _refuse_unsupported(builder, network, recipe):
    missing = sorted(needs(network, recipe) - set(builder.SUPPORTS))
    if missing:
        message = "the builder %s has no %s" % (name_of(builder), ", no ".join(missing))
        raise RequestError("unsupported", message)


def needs(network, recipe):
    """What a builder must support: kinds of layers, the loss, the optimiser, and features of a recipe."""
    layers = network["layers"]
    features = {feature for feature in ("schedule", "clip_norm") if recipe.get(feature)}
    features |= {"accumulation"} if recipe.get("accumulation", 1) > 1 else set()
    features |= {recipe["precision"]} & {"bfloat16", "float16"}
    features |= {"pipeline"} if recipe.get("input", "memory") != "memory" else set()
    features |= {feature for feature in EXECUTION if recipe.get(feature)}
    features |= {"library=" + recipe["library"]} if recipe.get("library") else set()
    features |= {feature for feature in ("start", "lengths") if any(feature in layer for layer in layers)}
    return {layer["kind"] for layer in layers} | {network["loss"], recipe["optimizer"]["kind"]} | features


def train(session, request):
    """Train on whole batches; ``order`` holds the examples of each step, one row per step.

    ``rates`` are the learning rates of the steps if they change; otherwise the optimiser's own applies. Runs the first
    ``steps`` of these steps, or all. ``slowdown`` slows them down on purpose, by this fraction. With ``chunk_seconds``,
    steps are timed in chunks of about that length, as on GPUs. ``draws`` are the random numbers by which the images of
    each step are cropped and flipped; the recipe then has a pipeline. ``loss_factors`` are those by which one of
    several workers multiplies the loss of each step.
    """
    load_seconds = _load(session, request)
    return dict(_trained(session, 0, request.get("steps", len(session.order))), load_seconds=load_seconds)


def _load(session, request):
    """Hand the data to the framework, as a request to train describes them; returns the seconds of that."""
    inputs, labels = _examples(request)
    order = np.load(required(request, "order"), mmap_mode="r", allow_pickle=False)
    if session.network["loss"] == "detection":
        labels = prepared(session.network, labels, order, session.recipe["precision"])
    path = request.get("rates")
    rates = () if path is None else (np.load(path, allow_pickle=False),)
    # Those whose loss is of the whole batch have none.
    if request.get("loss_factors") and hasattr(session.trainer, "factors"):
        session.trainer.factors = factors_in(request["loss_factors"])
    session.compiled = counting.compiled(session.builder, session.trainer)
    began = monotonic()
    if session.recipe.get("input") == "jpeg":
        # Imported only here: other trainings would have a decoder in their memory.
        loaded = importlib.import_module("dlworker.loaders").Loaded
        session.stepper = loaded(session, required(request, "images"), inputs, labels, order, *rates)
    elif session.recipe.get("input") == "pipeline":
        change = _augmentation(session.recipe, request.get("draws"))
        session.stepper = Pipeline(session.trainer, inputs, labels, order, *rates, change=change)
    else:
        session.trainer.load(inputs, labels, order, *rates)
        session.stepper = session.trainer
    load_seconds = monotonic() - began
    session.order, session.slowdown = order, request.get("slowdown", 0.0)
    session.chunk_seconds = request.get("chunk_seconds", 0.0)
    return load_seconds


def _augmentation(recipe, path):
    """What crops and flips the images of a step, by the draws in a file; None without them."""
    if path is None:
        return None
    draws, padding = np.load(path, mmap_mode="r", allow_pickle=False), recipe.get("crop_padding", 0)
    return lambda images, number: augmented(images, draws[number], padding)


def train_on(session, request):
    """Train for the next ``steps`` of the same order, starting at step ``first``."""
    return _trained(session, required(request, "first"), required(request, "steps"))


def _trained(session, first, steps):
    # The driver uses the same clock, so its samples can be matched to the steps.
    began = monotonic()
    stepper, chunks, device_seconds = slowed(session.stepper, session.slowdown), [], []
    if session.chunk_seconds:
        clock = session.trainer if hasattr(session.trainer, "mark") else None
        seconds, losses, chunks, device_seconds = timed_chunks(stepper, steps, first, session.chunk_seconds, clock)
    else:
        seconds, losses = timed_steps(stepper, steps, first, ends_early=session.group is None)
    examples = len(seconds) * session.order.shape[1]
    peak = _allocator_peak(session)
    waits = getattr(session.stepper, "waits", ())[-len(seconds) :]
    loading = getattr(session.stepper, "loading", None)
    return {
        "began": began,
        "step_seconds": seconds,
        "chunks": chunks,
        "device_seconds": device_seconds,
        "input_seconds": waits,
        "loading": loading(len(seconds)) if loading else None,
        "losses": losses,
        "examples": examples,
        "device_peak_bytes": None if isinstance(peak, str) else peak,
        "device_peak_absent": peak if isinstance(peak, str) else "",
    }


def _allocator_peak(session):
    """The most memory that the framework's allocator held on a GPU so far, or why it is unknown; None on a CPU."""
    peak = getattr(session.trainer, "peak_device_bytes", None)
    if peak is None:
        lacks = "the builder %s has no peak_device_bytes()" % name_of(session.builder)
        return None if session.device == "cpu" else lacks
    try:
        return peak()
    except Exception as error:  # The boundary: a framework can raise anything, and the steps are measured already.
        return "%s: %s" % (type(error).__name__, error)


def step(session, request):
    """Train for step ``number`` of the same order, one of many: the fields of ``alternating.Turns.take``."""
    return session.turns.take(slowed(session.stepper, session.slowdown), required(request, "number"))


def evaluate(session, request):
    """Count correct answers and average the loss over a whole split; ``seconds`` are the framework's own.

    There is one answer per example, step or flag whose label is not ignored, or per object of a detector's images.
    """
    with session.compiled.besides():
        seconds, judge = _judged(session, *_examples(request), required(request, "batch_size"))
    return dict(judge.found(), seconds=seconds, loss=repr(float(judge.mean_loss())))


def _judged(session, inputs, labels, batch_size):
    """The framework's seconds, and the judge of its outputs."""
    judge = JUDGES.get(session.network["loss"], Answers)(session.network)
    first, seconds = 0, 0.0
    for taken, outputs in timed_outputs(session.trainer, inputs, batch_size):
        seconds += taken
        judge.add(outputs, labels[first : first + len(outputs)])
        first += len(outputs)
    if first != len(labels):
        raise RequestError("error", "the framework returned %d outputs for %d examples" % (first, len(labels)))
    return seconds, judge


def infer(session, request):
    """Apply the network to whole batches; ``order`` holds the examples of each, one row per batch.

    The outputs of the first batch are written to ``outputs``, if given.
    """
    order = np.load(required(request, "order"), mmap_mode="r", allow_pickle=False)
    inputs = np.load(required(request, "inputs"), mmap_mode="r", allow_pickle=False)[order.reshape(-1)]
    batch_seconds, examples, is_finite, shape = [], 0, True, ()
    for seconds, outputs in timed_outputs(session.trainer, inputs, order.shape[1]):
        if request.get("outputs") and not batch_seconds:
            np.save(request["outputs"], outputs, allow_pickle=False)
        batch_seconds.append(seconds)
        examples, shape = examples + len(outputs), outputs.shape[1:]
        is_finite = is_finite and bool(np.isfinite(outputs).all())
    return {"batch_seconds": batch_seconds, "examples": examples, "output": list(shape), "is_finite": is_finite}


def _examples(request):
    paths = (required(request, "inputs"), required(request, "labels"))
    return [np.load(path, mmap_mode="r", allow_pickle=False) for path in paths]


def check_steps(session, request):
    """Repeat N steps, then twice as many, each followed by an evaluation that must wait for them.

    None of it is measured: it shows whether the earlier step times were genuine. Seconds are [wall clock, CPU time of
    this process]; ``alone`` is an evaluation with nothing to wait for, and ``loss_again`` is, of the losses of the same
    weights, the one farthest from ``loss_after``.
    """
    steps, batch_size = required(request, "steps"), required(request, "batch_size")
    inputs, labels = [array[:batch_size] for array in _examples(request)]

    def evaluated():
        return _judged(session, inputs, labels, batch_size)[1].mean_loss()

    found, losses = repeated(session.stepper, steps, evaluated, AGAIN)
    after = float(found["loss_after"])
    farthest = np.argmax(np.abs(np.subtract(losses, after)))  # NaN takes precedence.
    return dict(found, loss_again=repr(float(losses[farthest])))


def check_updates(session, request):
    """Take single steps: whether each changed the parameters, and its loss as text.

    None of it is measured. It ends at a loss that is not finite.
    """
    names = _watched(session.trainer.parameters(), session.network["layers"])
    before, changed, losses = _fingerprint(session.trainer, names), [], []
    for number in required(request, "numbers"):
        found = timed_steps(session.stepper, 1, number)[1]
        after = _fingerprint(session.trainer, names)
        changed.append(after != before)
        losses += [repr(float(loss)) for loss in found]
        before = after
        if session.group is None and not np.isfinite([float(loss) for loss in found]).all():
            break
    return {"changed": changed, "losses": losses}


def save(session, request):
    """Write a checkpoint into ``folder``: the fields of ``checkpoints.write``, and the losses that follow.

    As text, they are what a training must have that goes on from the checkpoint: that of a batch of the test split, of
    ``batch_size`` examples, then those of the steps ``numbers``, taken one by one.
    """
    found = checkpoints.write(session.builder, session.trainer, required(request, "folder"))
    return dict(found, losses=_losses_from_here(session, request))


def resume(session, request):
    """Go on from the checkpoint in ``folder``: the seconds of reading it, and the losses that follow, as in ``save``.

    The other fields are those of a request to train.
    """
    _load(session, request)
    seconds = checkpoints.read(session.builder, session.trainer, required(request, "folder"))
    return {"seconds": seconds, "losses": _losses_from_here(session, request)}


def _losses_from_here(session, request):
    batch_size, numbers = required(request, "batch_size"), required(request, "numbers")
    paths = required(request, "test_inputs"), required(request, "test_labels")
    inputs, labels = [np.load(path, mmap_mode="r", allow_pickle=False)[:batch_size] for path in paths]
    # Steps do not read running statistics, but an evaluation does.
    tested = _judged(session, inputs, labels, batch_size)[1].mean_loss()
    losses = [loss for number in numbers for loss in timed_steps(session.stepper, 1, number)[1]]
    return [repr(float(loss)) for loss in [tested] + losses]


def _watched(shapes, layers):
    """The names of a few small arrays, first those of the last layer: no gradient is larger or easier to compute."""
    places = {layer["name"]: place for place, layer in enumerate(layers)}
    last = max(places[name.rpartition(".")[0]] for name in shapes)
    sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    ordered = sorted(sizes, key=lambda name: (places[name.rpartition(".")[0]] != last, sizes[name], name))
    count = np.searchsorted(np.cumsum([sizes[name] for name in ordered]), WATCHED_VALUES, side="right")
    return ordered[: max(1, min(count, WATCHED_ARRAYS))]


def _fingerprint(trainer, names):
    return [_checksum(trainer.array(name)) for name in names]


def fingerprint(session, request):
    """A digest of all parameters, the same on all workers of a data-parallel run that exchange their gradients.

    ``of_devices`` are those of each device, where the workers are devices of this process.
    """
    names = sorted(session.trainer.parameters())
    if not hasattr(session.trainer, "copies"):
        return {"weights": _digest(_fingerprint(session.trainer, names)), "of_devices": []}
    of_devices = zip(*(map(_checksum, session.trainer.copies(name)) for name in names))
    digests = [_digest(checksums) for checksums in of_devices]
    return {"weights": digests[0], "of_devices": digests}


def _digest(checksums):
    return zlib.crc32(np.array(checksums, dtype=np.int64).tobytes())


def _checksum(array):
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


def steps_alone(session, request):
    """Take ``steps`` steps without any exchange: their seconds, empty if the framework cannot.

    None of it is measured, and no step follows it: from then on the workers' parameters differ.
    """
    alone = getattr(session.trainer, "step_alone", None)
    if alone is None:
        return {"step_seconds": []}
    seconds = []
    for number in range(required(request, "steps")):
        began = monotonic()
        float(alone(number))
        seconds.append(monotonic() - began)
    return {"step_seconds": seconds}


def profile(session, request):
    """Repeat the first ``steps`` under the framework's own profiler: seconds per step by operator."""
    steps, profiler = required(request, "steps"), profiler_of(session.builder)
    found = profiler(lambda: timed_steps(session.stepper, steps), session.trainer, session.device)
    return {"operator_seconds": {name: float(seconds) / steps for name, seconds in found.items()}}


def break_down(session, request):
    """Alternating whole steps and steps in phases (``breakdown.measured``), or why the step cannot be divided."""
    try:
        divided = breakdown_of(session.builder, session.trainer)
    except UndividedError as error:
        return {"cause": error.cause, "what": error.what}
    layers, reason = _layers(session) if request.get("layers") else (None, {})
    steps, rounds, checks = (required(request, name) for name in ("steps", "rounds", "checks"))
    found = measured(session.stepper, divided, min(steps, len(session.order)), rounds, checks, layers)
    return dict(found, layers=layers.answer() if layers else [], **reason)


def _layers(session):
    """What times single layers, or None and the fields of the answer that say why nothing does."""
    try:
        return LayerTimes(layers_of(session.builder, session.trainer)), {}
    except UndividedError as error:
        return None, {"layers_cause": error.cause, "layers_what": error.what}


def count(session, request):
    """Repeat the first step a few times: {name: number} of what it does, and {name: why it is unknown}.

    None of it is measured. What training compiled was counted before, and is read only now.
    """
    known, found = session.compiled.counts(), counting.of_builder(session.builder, session.trainer, session.device)
    counts, absent = counting.counted(lambda: timed_steps(session.stepper, 1), found, known)
    return {"counts": counts, "absent": absent}


def calls_of_libraries(session, request):
    """What libraries report that they compute of a step, or of inference, in a process that repeats the requests."""
    return {"calls": library_calls.counted(session.requests)}


def find_kernels(session, request):
    """{kernel: kind} of the recurrent layers, in one more step, or a batch of inference; or why they are unknown.

    None of it is measured.
    """
    is_training = "train" in session.requests
    run = (lambda: timed_steps(session.stepper, 1)) if is_training else _batch_again(session)
    found = recurrent_kernels.found(session.builder, session.trainer, session.device, run, is_training)
    return dict(zip(("kernels", "absent"), found))


def _batch_again(session):
    """A function that applies the network to the first batch of the last request for inference again."""
    request = session.requests["infer"]
    order = np.load(request["order"], mmap_mode="r", allow_pickle=False)
    inputs = np.load(request["inputs"], mmap_mode="r", allow_pickle=False)[order[0]]
    return lambda: list(session.trainer.outputs(inputs, len(inputs)))


def close(session, request):
    """End the session: no request follows."""
    if isinstance(session.stepper, Feeding):
        session.stepper.stop()
    if session.group:
        session.parallel.leave()
    return {}


OPERATIONS = {
    "hello": hello,
    "build": build,
    "train": train,
    "train_on": train_on,
    "step": step,
    "evaluate": evaluate,
    "infer": infer,
    "check_steps": check_steps,
    "check_updates": check_updates,
    "save": save,
    "resume": resume,
    "fingerprint": fingerprint,
    "steps_alone": steps_alone,
    "profile": profile,
    "break_down": break_down,
    "count": count,
    "library_calls": calls_of_libraries,
    "recurrent_kernels": find_kernels,
    "prepare": prepare,
    "operate": operate,
    "check_calls": check_calls,
    "close": close,
}
NEEDS = {
    "build": "hello",
    "train": "build",
    "train_on": "train",
    "step": "train",
    "profile": "train",
    "break_down": "train",
    "count": "train",
    "library_calls": "build",
    "recurrent_kernels": "build",
    "evaluate": "build",
    "infer": "build",
    "check_steps": "build",
    "check_updates": "train",
    "save": "train",
    "resume": "build",
    "fingerprint": "train",
    "steps_alone": "train",
    "prepare": "hello",
    "operate": "prepare",
    "check_calls": "prepare",
}


def perform(session, request):
    """The fields of the answer to one request."""
    ready = {"hello": session.builder, "build": session.trainer, "train": session.order, "prepare": session.operation}
    answer = chosen(OPERATIONS, request, ready, NEEDS)(session, request)
    session.requests[request["op"]] = request
    return answer
