"""The answers of several data-parallel workers to one request, as the answer of one worker.

Losses are averaged: each is the mean over a part of the batch, and all parts are of one size. A step lasts from the end
of the one before until the last worker has taken it, so that the steps' seconds add up to wall time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np

from pytest_dlbench.records import Loading, RunOutcome
from pytest_dlbench.records.problems import WorkersDiffer
from pytest_dlbench.running import messages
from pytest_dlbench.running.failures import NotDoneError


def merged(op: str, answers: Sequence[Any]) -> Any:
    """One answer for all; raises NotDoneError if the workers contradict each other."""
    found = answers[0] if len(answers) == 1 else RULES.get(op, _first)(answers)
    if isinstance(found, messages.Fingerprint):
        _require_same(found.of_devices)
    return found


def _first(answers: Sequence[Any]) -> Any:
    return answers[0]


def _hello(answers: Sequence[messages.Hello]) -> messages.Hello:
    first = answers[0]
    for rank, other in enumerate(answers[1:], start=2):
        of_both = [{**one.distributions, **one.versions} for one in (first, other)]
        names = sorted({*of_both[0], *of_both[1]})
        both = {name: (of_both[0].get(name), of_both[1].get(name)) for name in names}
        if differing := {name: versions for name, versions in both.items() if versions[0] != versions[1]}:
            problem = WorkersDiffer(aspect="versions", ranks=(1, rank), workers=len(answers), versions=differing)
            raise NotDoneError(RunOutcome.WRONG_VERSION, problem)
    # Of several numbers of threads, one that is not what was requested is the one to report.
    threads = next((one.threads for one in answers if one.threads != first.threads), first.threads)
    joined = [one.join_seconds for one in answers if one.join_seconds is not None]
    seconds = max(one.seconds for one in answers)
    return replace(first, seconds=seconds, threads=threads, join_seconds=max(joined, default=None))


def _built(answers: Sequence[messages.Built]) -> messages.Built:
    if len({tuple(sorted(one.parameters.items())) for one in answers}) > 1:
        raise NotDoneError(RunOutcome.FAILED, WorkersDiffer(aspect="shapes", workers=len(answers)))
    return replace(answers[0], seconds=max(one.seconds for one in answers))


def _trained_on(answers: Sequence[messages.TrainedOn]) -> messages.TrainedOn:
    if len({(len(one.losses), len(one.step_seconds)) for one in answers}) > 1:
        taken = tuple(len(one.losses) for one in answers)
        problem = WorkersDiffer(aspect="steps", workers=len(answers), steps=taken)
        raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, problem)
    ended = np.max([one.began + np.cumsum(one.step_seconds) for one in answers], axis=0)
    began = min(one.began for one in answers)
    losses = [_mean_loss(of_step) for of_step in zip(*(one.losses for one in answers), strict=True)]
    last = next((place for place, loss in enumerate(losses, start=1) if isinstance(loss, str)), len(losses))
    waits = [one.input_seconds for one in answers]
    loading = loaded_by_all([one.loading for one in answers])
    return replace(
        answers[0],
        began=began,
        step_seconds=tuple(float(late - early) for early, late in pairwise([began, *ended[:last]])),
        losses=tuple(losses[:last]),
        examples=sum(one.examples for one in answers),
        input_seconds=tuple(map(max, zip(*waits, strict=True)))[:last],
        loading=loading and loading.up_to(last),
    )


def loaded_by_all(parts: Sequence[Loading | None]) -> Loading | None:
    """How several workers loaded their parts of each batch; None where no loader did."""
    return reduce(Loading.beside, [part for part in parts if part]) if all(parts) else None


def _trained(answers: Sequence[messages.Trained]) -> messages.TrainedOn:
    first = replace(answers[0], load_seconds=max(one.load_seconds for one in answers))
    return _trained_on([first, *answers[1:]])


def _mean_loss(losses: Sequence[float | str]) -> float | str:
    """The mean over the parts of a batch, as text if it is not finite."""
    mean = fmean(float(loss) for loss in losses)
    return mean if isfinite(mean) else repr(mean)


def _updated(answers: Sequence[messages.Updated]) -> messages.Updated:
    losses = (fmean(map(float, of_step)) for of_step in zip(*(one.losses for one in answers), strict=True))
    changed = tuple(all(of_step) for of_step in zip(*(one.changed for one in answers), strict=True))
    return messages.Updated(changed=changed, losses=tuple(map(repr, losses)))


def _fingerprint(answers: Sequence[messages.Fingerprint]) -> messages.Fingerprint:
    _require_same([one.weights for one in answers])
    return answers[0]


def _require_same(digests: Sequence[int]) -> None:
    """Raise NotDoneError unless all workers have the weights of the first one."""
    apart = tuple(rank for rank, digest in enumerate(digests, start=1) if digest != digests[0])
    if apart:
        raise NotDoneError(RunOutcome.FAILED, WorkersDiffer(aspect="weights", ranks=apart, workers=len(digests)))


def _alone(answers: Sequence[messages.Alone]) -> messages.Alone:
    steps = zip(*(one.step_seconds for one in answers), strict=False)
    return messages.Alone(step_seconds=tuple(map(max, steps)))


def _broken_down(answers: Sequence[messages.BrokenDown]) -> messages.BrokenDown:
    """The longest of all workers, which take every step together."""
    first = answers[0]
    if first.cause is not None:
        return first
    if len({(len(one.step_seconds), *one.phase_seconds) for one in answers}) > 1:
        taken = tuple(len(one.step_seconds) for one in answers)
        problem = WorkersDiffer(aspect="steps", workers=len(answers), steps=taken)
        raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, problem)
    whole = zip(*(one.step_seconds for one in answers), strict=True)
    phases = {
        name: tuple(map(max, zip(*(one.phase_seconds[name] for one in answers), strict=True)))
        for name in first.phase_seconds
    }
    return replace(first, step_seconds=tuple(map(max, whole)), phase_seconds=phases)


def _prepared(answers: Sequence[messages.Prepared]) -> messages.Prepared:
    return replace(answers[0], seconds=max(one.seconds for one in answers))


def _operated(answers: Sequence[messages.Operated]) -> messages.Operated:
    """A call lasts until the last worker has its result."""
    seconds = {
        name: tuple(map(max, zip(*(one.seconds[name] for one in answers), strict=True))) for name in answers[0].seconds
    }
    return replace(answers[0], seconds=seconds)


RULES: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "hello": _hello,
    "build": _built,
    "train": _trained,
    "train_on": _trained_on,
    "check_updates": _updated,
    "fingerprint": _fingerprint,
    "steps_alone": _alone,
    "break_down": _broken_down,
    "prepare": _prepared,
    "operate": _operated,
}
