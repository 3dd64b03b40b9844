"""What pairs whose steps alternated say: ratios of neighbouring steps, and processor time as a second witness."""

from dataclasses import replace
from math import log
from random import Random

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.alternation import cpu_is_witness, cpu_ratio, is_alternating, wall_ratio, wall_seconds
from pytest_dlbench.judging.pairs import Pair, decide_by_steps, difference, rules, verdict
from pytest_dlbench.records import Alternation, VerdictOutcome
from pytest_dlbench.running import alternating
from pytest_dlbench.sampling.joining import joined
from tests.doubles import records

ALONE, STEPS = 10, 110


def run(seed, wall, cpu=None, *, threads=1):
    """A run whose steps from number ALONE on alternated; ``wall`` and ``cpu`` are their seconds."""
    training = records.training((wall[0],) * ALONE + tuple(wall))
    alternation = Alternation(first=ALONE, cpu_seconds=tuple(wall if cpu is None else cpu), idle_cpus=0.0)
    return records.run(seed, training=replace(training, alternation=alternation), threads=threads)


def disturbed(generator, step, load):
    """Steps that other processes, whose ``load`` is that of the machine at the time, make longer."""
    return [step * (1 + busy) * generator.uniform(0.999, 1.001) for busy in load]


def drifting(generator):
    return [generator.choice((0, 0, 1.0, 2.0)) for _ in range(STEPS)]


def pairs(ratio, *, cpu_ratio=None, count=6, noise=0.0):
    """Pairs of a machine whose load changes all the time, the same for neighbouring steps of both sides."""
    found = []
    for seed in range(1, count + 1):
        generator = Random(seed)
        load = drifting(generator)
        own = [busy * (1 + generator.uniform(-noise, noise)) for busy in load]
        old = run(seed, disturbed(generator, 0.01, load), disturbed(generator, 0.01, [0] * STEPS))
        cpu = disturbed(generator, 0.01 * (cpu_ratio or ratio), [0] * STEPS)
        found.append(Pair(old=old, new=run(seed, disturbed(generator, 0.01 * ratio, own), cpu)))
    return found


def decided(found, tolerance=0.05):
    return decide_by_steps(found, rules({"step_time": tolerance}, METRICS, max_pairs=20)["step_time"])


def test_the_ratio_is_that_of_neighbouring_steps_whatever_else_the_machine_does():
    (pair,) = pairs(1.03, count=1)
    assert wall_ratio(pair.old, pair.new) == pytest.approx(log(1.03), abs=0.001)
    assert difference(METRICS["step_time"], pair) == wall_ratio(pair.old, pair.new)


def test_steps_that_one_side_took_after_the_other_had_stopped_do_not_count():
    (pair,) = pairs(1.03, count=1)
    slower = [1.03 * seconds for seconds in wall_seconds(pair.old)]
    longer = run(1, slower + [1.0] * 200)
    assert wall_ratio(pair.old, longer) == pytest.approx(log(1.03))
    assert wall_ratio(longer, pair.old) == pytest.approx(-log(1.03))
    assert cpu_ratio(longer, run(1, wall_seconds(pair.old))) == pytest.approx(-log(1.03))


def test_steps_that_did_not_alternate_are_compared_as_runs():
    pair = Pair(old=records.run(1), new=records.run(1, step=0.012))
    assert not is_alternating(pair.old, pair.new)
    assert difference(METRICS["step_time"], pair) == pytest.approx(log(1.2))


def test_the_warm_up_of_either_side_is_excluded():
    slow_start = [0.03] * 40 + [0.01] * (STEPS - 40)
    old, new = run(1, [0.01] * STEPS), run(1, slow_start)
    assert wall_ratio(old, new) == pytest.approx(0, abs=1e-9)


def test_processor_time_has_its_own_ratio():
    (pair,) = pairs(1.0, cpu_ratio=1.1, count=1)
    assert cpu_ratio(pair.old, pair.new) == pytest.approx(log(1.1), abs=0.001)


@pytest.mark.parametrize(
    ("share", "threads", "expected"),
    [(1.0, 1, True), (1.0, None, True), (0.7, 1, False), (1.3, 1, False), (1.0, 2, False)],
    ids=["computes", "unknown threads", "waits", "spins", "two threads"],
)
def test_processor_time_is_a_witness_only_where_one_thread_computes_all_the_time(share, threads, expected):
    wall = [0.01] * STEPS
    one = run(1, wall, threads=threads)
    other = run(1, wall, [share * seconds for seconds in wall], threads=threads)
    assert cpu_is_witness(one, other) is expected


def test_steps_that_others_interrupt_leave_processor_time_a_witness():
    assert all(cpu_is_witness(pair.old, pair.new) for pair in pairs(1.0))


def test_wall_time_decides_where_it_can():
    decision = decided(pairs(1.1))
    assert (decision.outcome, decision.is_of_cpu) == (VerdictOutcome.REGRESSED, False)


def test_processor_time_decides_where_wall_time_does_not_and_the_verdict_says_so():
    found = noisy(1.1)
    decision = decided(found)
    assert (decision.outcome, decision.is_of_cpu) == (VerdictOutcome.REGRESSED, True)
    assert verdict(METRICS["step_time"], found, decision, 0.05).is_of_cpu


def test_processor_time_decides_nothing_where_a_side_waits():
    waiting = [replace_cpu(pair, 0.5) for pair in noisy(1.1)]
    assert decided(waiting).outcome is VerdictOutcome.INCONCLUSIVE


def test_the_level_of_wall_time_does_not_depend_on_whether_processor_time_is_a_witness():
    found = noisy(1.1)
    waiting = [replace_cpu(pair, 0.5) for pair in found]
    with_threads = [Pair(old=replace(one.old, threads=2), new=replace(one.new, threads=2)) for one in waiting]
    whole, half = decided(with_threads), decided(waiting)
    assert (half.upper - half.lower) > (whole.upper - whole.lower)


def noisy(ratio):
    """Pairs whose wall time differs from pair to pair by far more than their processor time."""
    found = []
    for seed in range(1, 7):
        generator = Random(seed)
        cpu, more = disturbed(generator, 0.01, [0] * STEPS), disturbed(generator, 0.01 * ratio, [0] * STEPS)
        old = [seconds * (1.5 if place % 4 else 1.0) for place, seconds in enumerate(cpu)]
        factor = 2.2 if seed % 2 else 1.0
        new = [seconds * (factor if place % 4 else 1.0) for place, seconds in enumerate(more)]
        found.append(Pair(old=run(seed, old, cpu), new=run(seed, new, more)))
    return found


def replace_cpu(pair, share):
    def waits(found):
        alternation = found.training.alternation
        less = replace(alternation, cpu_seconds=tuple(share * seconds for seconds in alternation.cpu_seconds))
        return replace(found, training=replace(found.training, alternation=less))

    return Pair(old=waits(pair.old), new=waits(pair.new))


def alternated(alone_seconds, cpu_seconds, foreign_cpus):
    """A run whose first step takes that long alone, and then twenty steps of 0.1 s that alternate."""
    parts = [
        records.usage(wall_seconds=seconds, foreign_cpus=foreign)
        for seconds, foreign in zip((alone_seconds, 2.0), foreign_cpus, strict=True)
    ]
    alternation = Alternation(first=1, cpu_seconds=(cpu_seconds,) * 20, idle_cpus=0.0)
    training = replace(records.training((alone_seconds, *(0.1,) * 20)), alternation=alternation)
    return records.run(training=training, usage={"train": joined(parts)})


@pytest.mark.parametrize("alone_seconds", [0.1, 3.0, 60.0])
@pytest.mark.parametrize("neighbour", [0.0, 0.55])
def test_what_a_neighbour_used_is_foreign_however_long_the_first_steps_took(alone_seconds, neighbour):
    # Both have two threads: while steps alternate, the other one computes in half of the time.
    one, other = (alternated(alone_seconds, 0.2, (neighbour, neighbour + 1.0)) for _ in range(2))
    assert alternating._without(one, other, 0.0).usage["train"].foreign_cpus == pytest.approx(neighbour)
