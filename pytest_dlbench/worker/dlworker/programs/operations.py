"""The operations on a program, named like those on a network; ``build`` programs can be stepped, ``main`` ones not."""

import os
import platform
import sys
from contextlib import contextmanager
from time import monotonic

from dlworker import counting, distributions
from dlworker.alternating import Turns
from dlworker.checking import repeated
from dlworker.planting import slowed
from dlworker.programs.counting import Counter, of_loop
from dlworker.programs.loading import files, imported, load
from dlworker.programs.problems import Forks, ProgramError, explained
from dlworker.programs.run import DivergedError, Run, checked
from dlworker.protocol import VERSION, RequestError, required
from dlworker.serving import chosen
from dlworker.training import timed_steps

RETURNED = "expected a dictionary with 'step', and if you like 'evaluate', 'samples_per_step' and 'flops_per_step'"
KEYS = {"step", "evaluate", "samples_per_step", "flops_per_step"}
# Evaluations with nothing to wait for.
AGAIN = 2


class Session(object):
    """The state kept between operations."""

    def __init__(self):
        self.forks = Forks()
        self.root = ""
        self.function = None
        self.run = None
        self.is_loop = False
        self.built = None
        self.stepper = None
        self.slowdown = 0.0
        self.turns = Turns()
        self.counter = None


class Stepper(object):
    """The steps of a program: what they return is their loss, which waits for the device."""

    def __init__(self, step, root):
        self._step, self._root = step, root

    def step(self, number):
        """Take a step."""
        try:
            loss = self._step(number)
        except BaseException as error:
            raise explained(error, self._root, "step(%d)" % number)
        try:
            return float(loss)
        except (TypeError, ValueError):
            raise ProgramError(
                "step(%d) returned %s; expected the loss, a number (0.0 if there is none)" % (number, _shown(loss))
            )


def _shown(value):
    return "nothing" if value is None else "a %s" % type(value).__name__


@contextmanager
def _asked(session, doing):
    """What a program raises in this block is explained, even what should end the process."""
    try:
        yield
    except BaseException as error:
        raise explained(error, session.root, doing)


def hello(session, request):
    """Import the program. The driver set the thread variables before this Python started."""
    if required(request, "protocol") != VERSION:
        message = "this worker speaks protocol %d, the driver %r" % (VERSION, request["protocol"])
        raise RequestError("bad_request", message)
    session.root = os.path.abspath(required(request, "root"))
    session.is_loop = required(request, "is_loop")
    names = ("device", "threads", "seed", "parameters", "folder", "total_steps", "data")
    session.run = Run(*[required(request, name) for name in names])
    source, function = required(request, "source"), required(request, "function")
    began = monotonic()
    with _asked(session, "importing %s" % source):
        session.function = load(session.root, source, function)
    seconds = monotonic() - began
    elsewhere = distributions.imported_from(request.get("repository"), request.get("checkout"))
    return dict(
        _software(session), seconds=seconds, executable=sys.executable, threads=None, sources={}, elsewhere=elsewhere
    )


def _software(session):
    """The versions of what the program has imported by now, and its own files."""
    found = distributions.installed()
    versions = {"python": platform.python_version()}
    versions.update(imported(found))
    return {
        "versions": versions,
        "distributions": {name: version for name, (version, _) in found.items()},
        "files": files(session.root),
    }


def build(session, request):
    """Call ``build(run)``; a loop of its own builds what it needs when it is run."""
    began = monotonic()
    if session.is_loop:
        session.built = {}
    else:
        with _asked(session, "build(run)"):
            built = session.function(session.run)
        session.built = _interface(built)
    step = session.built.get("step")
    session.stepper = Stepper(step, session.root) if step else None
    return {
        "seconds": monotonic() - began,
        "samples_per_step": int(session.built.get("samples_per_step", 1)),
        "flops_per_step": session.built.get("flops_per_step"),
        "evaluates": session.built.get("evaluate") is not None,
    }


def _interface(built):
    """What ``build`` returned, which is what it should be."""
    if not isinstance(built, dict):
        raise ProgramError("build(run) returned %s; %s" % (_shown(built), RETURNED))
    unknown = sorted(map(str, built.keys() - KEYS))
    if unknown or "step" not in built:
        wrong = "the unknown key %r" % unknown[0] if unknown else "no 'step'"
        raise ProgramError("build(run) returned a dictionary with %s; %s" % (wrong, RETURNED))
    for name in ("step", "evaluate"):
        if built.get(name) is not None and not callable(built[name]):
            raise ProgramError("%r of build(run) is %s; expected a function" % (name, _shown(built[name])))
    for name in ("samples_per_step", "flops_per_step"):
        value = built.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 1:
            raise ProgramError("%r of build(run) is %r; expected a number of at least 1" % (name, value))
    return built


def train(session, request):
    """Take the first ``steps`` steps, or run the whole loop. ``slowdown`` slows steps down on purpose."""
    session.slowdown = request.get("slowdown", 0.0)
    session.counter = Counter()
    if session.is_loop:
        return _looped(session)
    return dict(_trained(session, 0, required(request, "steps")), load_seconds=0.0)


def train_on(session, request):
    """Take the next ``steps`` steps, starting at step ``first``."""
    return _trained(session, required(request, "first"), required(request, "steps"))


def _trained(session, first, steps):
    began = monotonic()
    seconds, losses = timed_steps(slowed(session.stepper, session.slowdown), steps, first)
    return _series(session, began, seconds, losses, ())


def _series(session, began, seconds, losses, inputs):
    samples = int(session.built.get("samples_per_step", 1))
    return {
        "began": began,
        "step_seconds": seconds,
        "input_seconds": inputs,
        "losses": losses,
        "examples": len(seconds) * samples,
        "device_peak_bytes": _device_peak(session.run.device),
    }


def _device_peak(device):
    """The peak of PyTorch's allocator on its GPU; None for any other framework, and on a CPU."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.max_memory_allocated()) if torch is not None and device != "cpu" else None


def _looped(session):
    """Run ``main(run)``, which marks its own steps."""
    marks, began = session.run._marks, monotonic()
    marks.slowdown = session.slowdown
    with _asked(session, "main(run)"):
        try:
            session.function(session.run)
        except DivergedError:
            marks.losses[-1] = repr(marks.losses[-1])
    if not marks.seconds:
        raise ProgramError(
            "main(run) ended without a step; mark them: for batch in run.steps(batches), or run.callback(NAME)"
        )
    inputs = marks.inputs if len(marks.inputs) == len(marks.seconds) else ()
    series = _series(session, marks.began, marks.seconds, marks.losses, inputs)
    return dict(series, load_seconds=0.0, build_seconds=marks.began - began)


def step(session, request):
    """Take step ``number``, one of many: the fields of ``alternating.Turns.take``."""
    return session.turns.take(slowed(session.stepper, session.slowdown), required(request, "number"))


def evaluate(session, request):
    """Call the program's ``evaluate``, if it has one: all that it and ``run.report`` reported, as text by name."""
    if session.counter:
        session.counter.end_training()
    began, values = monotonic(), dict(session.run._reported)
    if session.built.get("evaluate"):
        values.update(_evaluated(session))
    # After the evaluation, because run.report may have been called in it.
    values.update({name: value for name, value in session.run._reported.items() if name not in values})
    seconds = monotonic() - began if session.built.get("evaluate") else None
    return {"seconds": seconds, "values": {name: repr(value) for name, value in values.items()}}


def _evaluated(session):
    compiled = session.counter.compiled if session.counter else counting.Compiled(dict)
    with _asked(session, "evaluate()"), compiled.besides():
        values = session.built["evaluate"]()
    if not isinstance(values, dict):
        raise ProgramError("evaluate() returned %s; expected a dictionary, such as {'accuracy': 0.93}" % _shown(values))
    return checked(values, "evaluate()")


def check_steps(session, request):
    """Repeat N steps, then twice as many, each followed by an evaluation that must wait for them.

    None of it is measured: it shows whether the earlier step times were genuine. Seconds are [wall clock, CPU time of
    this process]; ``alone`` is an evaluation with nothing to wait for. Losses are 0 if evaluations report none.
    """
    # An evaluation may draw its examples: what else the same weights give proves nothing.
    found, _ = repeated(
        session.stepper, required(request, "steps"), lambda: _evaluated(session).get("loss", 0.0), AGAIN
    )
    return dict(found, loss_again="")


def count(session, request):
    """Repeat the first step a few times: {name: number} of what it does, and {name: why it is unknown}."""
    known = session.counter.compiled.counts()
    if session.is_loop:
        counts, absent = of_loop(known)
    else:
        counts, absent = counting.counted(lambda: timed_steps(session.stepper, 1), session.counter.count, known)
    return {"counts": counts, "absent": absent}


def close(session, request):
    """End the session: no request follows. What was imported after ``hello`` is reported now."""
    found = _software(session)
    return {"versions": found["versions"], "files": found["files"]}


OPERATIONS = {
    "hello": hello,
    "build": build,
    "train": train,
    "train_on": train_on,
    "step": step,
    "evaluate": evaluate,
    "check_steps": check_steps,
    "count": count,
    "close": close,
}
NEEDS = {
    "build": "hello",
    "train": "build",
    "train_on": "build",
    "step": "build",
    "evaluate": "build",
    "check_steps": "build",
    "count": "train",
}


def perform(session, request):
    """The fields of the answer to one request."""
    ready = {"hello": session.function, "build": session.built, "train": session.counter}
    try:
        return chosen(OPERATIONS, request, ready, NEEDS)(session, request)
    finally:
        session.forks.check()
