"""Single operators: their passes and some probes timed in turn, and whether every call waits for its work."""

import importlib
from time import monotonic, process_time

import numpy as np

from dlworker.protocol import required

# The arrays that a pass computes, in their order; "weights" stands for all arrays of weights.
RESULTS = {
    "forward": ("output",),
    "backward_data": ("data",),
    "backward_weights": ("weights",),
    "backward": ("data", "weights"),
    "forward_backward": ("output", "data", "weights"),
}
WEIGHTS = {"recurrent": ("weights", "recurrent")}
# The axes of canonical images and filters for frameworks whose channels are last, and the way back.
CHANNELS_LAST = {"data": (0, 2, 3, 1), "output": (0, 2, 3, 1), "gradient": (0, 2, 3, 1), "weights": (2, 3, 1, 0)}
CANONICAL = {"data": (0, 3, 1, 2), "output": (0, 3, 1, 2), "weights": (3, 2, 0, 1)}


def results_of(kind, name):
    """The names of the arrays that a pass of an operator of this kind computes, in their order."""
    weights = WEIGHTS.get(kind, ("weights",))
    return [part for one in RESULTS[name] for part in (weights if one == "weights" else (one,))]


def gradients_of(kind, name):
    """The same without the output."""
    return [part for part in results_of(kind, name) if part != "output"]


def cells(tanh, sigmoid, split):
    """{cell: one step of a recurrent layer, for frameworks that run it in a loop of their own}.

    Each takes the products of the input and of the last output with their weights, and the last (output, state); it
    returns the next (output, state). ``split(array, count)`` divides the gates.
    """

    def rnn(inputs, recurrent, carry):
        return tanh(inputs + recurrent), carry[1]

    def lstm(inputs, recurrent, carry):
        taken, kept, cell, shown = split(inputs + recurrent, 4)
        state = sigmoid(kept) * carry[1] + sigmoid(taken) * tanh(cell)
        return sigmoid(shown) * tanh(state), state

    def gru(inputs, recurrent, carry):
        (reset, update, new), own = split(inputs, 3), split(recurrent, 3)
        update = sigmoid(update + own[1])
        new = tanh(new + sigmoid(reset + own[0]) * own[2])
        return (1 - update) * new + update * carry[0], carry[1]

    return {"rnn": rnn, "lstm": lstm, "gru": gru}


class Passes(object):
    """The passes of an operator, for the class ``Operator`` of a framework.

    ``OF_RECURRENT`` and ``OF_CONVOLUTION`` are the pass that has both gradients, if they are computed at once.
    """

    OF_RECURRENT, OF_CONVOLUTION = "forward_backward", None

    def __init__(self, operator):
        self.operator, self.is_image = operator, operator["kind"] == "convolution"

    def passes(self):
        """{name: a function that makes the pass}."""
        kind, found = self.operator["kind"], {"forward": self._forward()}
        if self.operator["is_trained"]:
            together = {"recurrent": self.OF_RECURRENT, "convolution": self.OF_CONVOLUTION}.get(kind)
            for name in [together] if together else ("backward_data", "backward_weights"):
                found[name] = self._backward(name, gradients_of(kind, name))
        return found

    def _channels_last(self, name, array):
        return array.transpose(CHANNELS_LAST[name]) if self.is_image else array

    def _canonical(self, name, array):
        return array.transpose(CANONICAL[name]) if self.is_image else array


class Shared(object):
    """An operator that several workers compute together; NumPy's arrays are its own, and its calls wait."""

    def passes(self):
        """Its one pass."""
        return {"forward": self.compute}

    @staticmethod
    def wait(results):
        """Does nothing."""

    def read(self, names, results):
        """Copies of the results."""
        return [np.array(result) for result in results]


class Operation(object):
    """An operator as a framework builds it, with its passes."""

    def __init__(self, kind, operator, wait):
        self.kind, self.operator, self.wait = kind, operator, wait
        self.passes, self.reset = operator.passes(), getattr(operator, "reset", None)

    def timed(self, name):
        """(seconds, results) of one call of a pass, which ends when its results are computed."""
        if self.reset:
            self.reset()
        began = monotonic()
        results = self.passes[name]()
        self.wait(results)
        return monotonic() - began, results

    def read(self, name, results):
        """The results of a pass as NumPy arrays in the canonical layout, by name."""
        names = results_of(self.kind, name)
        return dict(zip(names, self.operator.read(names, results)))


def measured(operation, probes, calls, rounds):
    """({pass: seconds of each call}, {probe: its fewest seconds}, {pass: results of the last call}).

    All passes alternate, and after every ``calls / rounds`` calls each probe is called: whatever else happens on the
    machine then happens to all of them.
    """
    seconds, fewest, last = {name: [] for name in operation.passes}, {}, {}
    for probe in probes.values():
        # Some frameworks compile in the first call.
        probe.timed("forward")
    every = max(1, calls // rounds)
    for number in range(calls + 1):
        for name in operation.passes:
            taken, last[name] = operation.timed(name)
            seconds[name].append(taken)
        if number % every == 0:
            for name, probe in probes.items():
                fewest[name] = min(fewest.get(name, float("inf")), probe.timed("forward")[0])
    return seconds, fewest, last


def checked(operation, name, calls):
    """What N calls of a pass took, then twice as many, and copying the last result after either and once more.

    Times are [seconds of wall clock, CPU seconds of this process]. A result that was waited for is copied at once.
    """
    found = {"calls": calls}
    for part, count in (("single", calls), ("double", 2 * calls)):
        results, found[part] = _clocked(_called, operation, name, count)
        _, found["behind_" + part] = _clocked(operation.read, name, results)
    _, found["alone"] = _clocked(operation.read, name, results)
    return found


def _called(operation, name, count):
    for _ in range(count):
        _, results = operation.timed(name)
    return results


def _clocked(call, *given):
    """(result, [seconds of wall clock, CPU seconds of this process])."""
    began, used = monotonic(), process_time()
    result = call(*given)
    return result, [monotonic() - began, process_time() - used]


def prepare(session, request):
    """Build a single operator and its probes, each a pair of its JSON and the file of its arrays, by name."""
    session.operation = None
    began = monotonic()
    probes = {name: _built(session, *probe) for name, probe in required(request, "probes").items()}
    session.operation, session.probes = _built(session, *required(request, "operator")), probes
    computes_on = getattr(session.operation.operator, "computes_on", None)
    return {
        "seconds": monotonic() - began,
        "passes": list(session.operation.passes),
        "device": dict(zip(("kind", "name"), computes_on())) if computes_on else None,
    }


def _built(session, described, path):
    """An operator from the module ``operators``, or of several workers from their module ``parallel``."""
    kind = described["kind"]
    with np.load(path, allow_pickle=False) as found:
        arrays = dict(found)
    if session.group:
        operator = session.parallel.OPERATORS[kind](arrays["data"])
        return Operation(kind, operator, operator.wait)
    module = importlib.import_module(session.builder.__name__ + ".operators")
    return Operation(kind, module.Operator(described, arrays, session.device), module.wait)


def operate(session, request):
    """Call every pass ``calls`` times after the first; the last results are written to ``outputs``, as "pass.array"."""
    operation = session.operation
    seconds, probes, last = measured(operation, session.probes, required(request, "calls"), required(request, "rounds"))
    arrays = {
        "%s.%s" % (name, part): array
        for name, results in last.items()
        for part, array in operation.read(name, results).items()
    }
    np.savez(required(request, "outputs"), **arrays)
    return {"seconds": seconds, "probes": probes}


def check_calls(session, request):
    """Repeat some calls of a pass, each time copying the last result: whether a call waits for its own work."""
    return checked(session.operation, required(request, "name"), required(request, "calls"))
