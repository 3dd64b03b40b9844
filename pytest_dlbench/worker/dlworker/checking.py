"""Whether steps wait for their own work: an evaluation after them must not take longer than one alone."""

from time import monotonic, process_time

from dlworker.training import timed_steps


def repeated(stepper, steps, evaluated, again):
    """Repeat N steps, then twice as many, each followed by an evaluation that must wait for them.

    Returns what each took, [seconds of wall clock, CPU seconds of this process], with the losses that ``evaluated()``
    returned before and after, as text; and the losses of ``again`` more evaluations of the same weights. ``alone`` is
    an evaluation with nothing to wait for.
    """
    before, alone = _timed(evaluated)
    _, single = _timed(lambda: timed_steps(stepper, steps))
    _, behind_single = _timed(evaluated)
    _, double = _timed(lambda: timed_steps(stepper, 2 * steps))
    after, behind_double = _timed(evaluated)
    losses, seconds = zip(*[_timed(evaluated) for _ in range(again)])
    found = {
        "loss_before": repr(float(before)),
        "loss_after": repr(float(after)),
        "single": single,
        "double": double,
        "behind_single": behind_single,
        "behind_double": behind_double,
        "alone": [max(clock) for clock in zip(alone, *seconds)],
    }
    return found, losses


def _timed(call):
    """(result, [seconds of wall clock, CPU seconds of this process])."""
    began, used = monotonic(), process_time()
    result = call()
    return result, [monotonic() - began, process_time() - used]
