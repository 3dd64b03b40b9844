"""How many steps a case trains on a GPU: as many as its timed steps need to last, up to those of its recipe.

Numbers are those of the scale, doubled as often as necessary: two sessions, and frameworks that are almost as fast as
each other, have the same number in most cases. All runs of a case and both sides of a pair have one number.
"""

from dataclasses import replace
from math import inf
from statistics import quantiles

from pytest_dlbench.judging.warm_up import steady_steps
from pytest_dlbench.planning.plan import evaluations, most_steps
from pytest_dlbench.records import Length, Training
from pytest_dlbench.running.run_spec import NetworkSpec


def probing(spec: NetworkSpec) -> NetworkSpec:
    """The run that finds out how long steps take: as many as the scale has, and no evaluation."""
    return replace(spec, evaluations=0, evaluate_after=(), least_seconds=0.0, is_saved=False)


def probed(spec: NetworkSpec, training: Training) -> NetworkSpec:
    """The spec with as many steps as a probe shows to be needed."""
    step = fast_step(training)
    steps = spec.steps
    while steps * step < spec.least_seconds:
        steps *= 2
    length = Length(
        least_seconds=spec.least_seconds,
        source="probe",
        probed_steps=len(training.step_seconds),
        step_seconds=step,
    )
    return lengthened(spec, steps, length)


def fast_step(training: Training) -> float:
    """The 10 % quantile of steady steps: a disturbed probe must not make runs too short."""
    seconds = steady_steps(training)
    return quantiles(seconds, n=10, method="inclusive")[0] if len(seconds) > 1 else seconds[0]


def alike(spec: NetworkSpec, other: NetworkSpec, decided: NetworkSpec) -> NetworkSpec:
    """The spec, made longer by as much as its other side was by having its steps decided."""
    if decided.length is None or not spec.least_seconds:
        return spec
    return lengthened(spec, round(spec.steps * decided.steps / other.steps), decided.length)


def limit(spec: NetworkSpec) -> float:
    """The number of steps that a case does not exceed."""
    return most_steps(spec.case.dataset, spec.recipe_steps or inf)


def lengthened(spec: NetworkSpec, steps: int, length: Length) -> NetworkSpec:
    """The spec with that many steps, at most those of its recipe, and evaluations between them."""
    steps = int(min(steps, limit(spec)))
    between = evaluations(spec.recipe, spec.data.dataset, spec.case.scale, steps)
    return replace(spec, steps=steps, evaluate_after=between, least_seconds=0.0, length=length)
