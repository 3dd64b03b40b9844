"""Metrics that need no baseline, and the first of them: growth of the resident set with the steps."""

from math import inf, isnan

import numpy as np
import pytest

from pytest_dlbench.judging.absolute import judged, unshown, verdict, verdicts
from pytest_dlbench.judging.growth import growth
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS, extended
from pytest_dlbench.judging.pairs import Pair, difference
from pytest_dlbench.judging.terms import terms_of
from pytest_dlbench.judging.two_stage import judge
from pytest_dlbench.records import Alternation, CurvePoint, Timeline, VerdictOutcome
from tests.doubles import records

LEAK = METRICS["leak"]
MIB = 2**20
STEPS, STEP = 100, 0.1
# Training takes 10 s from the second on; 10 steps are warm-up, so that the 90 others begin at 2 s and end at 11 s.
BEGAN = 1.0


def run(sizes_mib, moments=None, began=BEGAN):
    moments = np.linspace(0, 12, len(sizes_mib)) if moments is None else moments
    trained = records.replace(records.training((STEP,) * STEPS), began_seconds=began)
    timeline = Timeline(
        seconds=tuple(map(float, moments)),
        rss_bytes=tuple(int(size * MIB) for size in sizes_mib),
        cpu_seconds=tuple(map(float, moments)),
    )
    return records.run(training=trained, timeline=timeline)


FLAT = [500.0] * 49
LEAKING = list(np.linspace(400, 600, 49))


def test_memory_that_stays_does_not_grow():
    assert growth(run(FLAT)) == 0.0


def test_growth_is_a_share_of_the_memory_over_the_steady_steps():
    # 200 MiB in 12 s, of which 9 s are steady: 150 MiB around 508 MiB in their middle (6.5 s).
    assert growth(run(LEAKING)) == pytest.approx(150 / 508, rel=0.01)


def test_what_is_allocated_before_the_steady_steps_is_no_growth():
    loading = [100.0] * 8 + [500.0] * 41
    assert growth(run(loading)) == 0.0


def test_evaluation_after_the_training_is_no_growth():
    assert growth(run([500.0] * 46 + [2000.0] * 3)) == 0.0


def evaluated(step, sizes_mib):
    """A run with an evaluation of a second before this step; training then takes from 1 to 12 s."""
    whole = run(sizes_mib, moments=np.linspace(0, 12, len(sizes_mib)))
    resumed = ((step, BEGAN + step * STEP + 1),)
    return records.replace(whole, training=records.replace(whole.training, resumed=resumed))


# The evaluation lies between 6 and 7 s.
SETTLED = [380.0] * 25 + [500.0] * 24


def test_what_the_first_evaluation_between_steps_needs_is_no_growth():
    assert growth(run(SETTLED)) > 0.1
    assert growth(evaluated(50, SETTLED)) == 0.0


def alternated(run, first=10):
    """The same, with a pause of no length before each step from ``first`` on, in which the other side's step ran."""
    steps = range(first, STEPS)
    began = dict(run.training.resumed)
    ends = (*began, STEPS)
    moved = [(step, BEGAN + step * STEP + (1 if began and step >= min(began) else 0)) for step in steps]
    points = (CurvePoint(step=step, epoch=step / STEPS, seconds=step * STEP, accuracy=0.9, loss=0.3) for step in ends)
    alternation = Alternation(first=first, cpu_seconds=(STEP,) * len(steps), idle_cpus=0.0)
    training = records.replace(run.training, resumed=tuple(moved), alternation=alternation)
    return records.replace(run, training=training, curve=tuple(points))


def test_steps_that_alternated_are_not_evaluations():
    assert growth(alternated(run(SETTLED))) > 0.1
    assert growth(alternated(evaluated(50, SETTLED))) == 0.0
    assert growth(alternated(evaluated(50, LEAKING))) == pytest.approx(growth(evaluated(50, LEAKING)), rel=0.01)


def test_growth_after_the_first_evaluation_is():
    assert growth(evaluated(50, LEAKING)) == pytest.approx(200 * 5 / 12 / 558, rel=0.02)


def evaluated_often(sizes_mib, every=20):
    """A run with an evaluation of no length after every ``every`` steps, which each take 0.1 s from the second 1 on."""
    whole = run(sizes_mib, moments=np.linspace(0, 12, len(sizes_mib)))
    resumed = tuple((step, BEGAN + step * STEP) for step in range(every, STEPS, every))
    return records.replace(whole, training=records.replace(whole.training, resumed=resumed))


@pytest.mark.parametrize("second", [5.0, 7.0, 9.0])
def test_what_a_later_evaluation_needs_is_no_growth(second):
    needed = [500.0 if moment < second else 560.0 for moment in np.linspace(0, 12, 49)]
    assert growth(evaluated_often(needed)) == 0.0


def test_growth_between_evaluations_is():
    # The first one is before the second 3: eight of twelve seconds around 525 MiB.
    assert growth(evaluated_often(LEAKING)) == pytest.approx(200 * 8 / 12 / 517, rel=0.03)


def test_growth_with_every_evaluation_is():
    stairs = [500.0 + 20 * int((moment - BEGAN) / (5 * STEP)) for moment in np.linspace(0, 12, 49)]
    assert growth(evaluated_often(stairs, every=5)) > 0.3


def test_too_few_steps_after_the_first_evaluation_say_nothing():
    assert isnan(growth(evaluated(70, SETTLED)))


def test_a_buffer_that_comes_and_goes_is_no_growth():
    buffered = [500.0] * 49
    buffered[20:24] = [900.0] * 4
    assert growth(run(buffered)) == 0.0


@pytest.mark.parametrize("silent", [run(FLAT[:9]), run(FLAT, began=None), records.run(), records.run(training=None)])
def test_a_run_that_was_hardly_sampled_says_nothing(silent):
    assert isnan(growth(silent))


def test_a_few_long_steps_say_nothing():
    few = run(LEAKING)
    assert isnan(growth(records.replace(few, training=records.replace(few.training, step_seconds=(3.0,) * 4))))


def test_less_than_three_runs_are_not_judged():
    assert verdict(LEAK, [run(LEAKING)] * 2, 2.0) is None


def test_three_flat_runs_are_no_leak():
    assert verdict(LEAK, [run(FLAT)] * 3, 2.0).outcome is VerdictOutcome.EQUIVALENT


def test_an_interval_across_the_tolerance_is_inconclusive():
    assert judged(Interval(estimate=2.0, lower=1.0, upper=3.0), 2.0) is VerdictOutcome.INCONCLUSIVE


def test_a_leak_is_compared_with_no_growth():
    found = verdict(LEAK, [run(LEAKING)] * 3, 2.0)
    assert (found.outcome, found.old, found.new) == (VerdictOutcome.REGRESSED, 0.0, pytest.approx(0.295, rel=0.01))
    assert found.change == pytest.approx(29.5, rel=0.01)


def test_memory_that_grows_in_some_runs_and_shrinks_in_others_by_chance_is_no_leak():
    falling = LEAKING[::-1]
    found = verdict(LEAK, [run(LEAKING), run(falling), run(LEAKING), run(falling)], 2.0)
    assert found.new == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("runs", [[], [run(FLAT), run(FLAT), records.run()]])
def test_of_runs_that_were_hardly_sampled_there_is_no_verdict(runs):
    assert verdict(LEAK, runs, 2.0) is None


def test_a_run_that_was_hardly_sampled_hides_no_leak_of_the_others():
    assert verdict(LEAK, [*[run(LEAKING)] * 4, records.run()], 2.0).outcome is VerdictOutcome.REGRESSED


def test_every_absolute_metric_with_a_tolerance_is_judged():
    lost = Metric(name="lost", unit="share", better="lower", kind="points", value=lost_share, is_absolute=True)
    metrics = extended(METRICS, [lost])
    runs = [records.run(seed, hooked={"lost": 0.09}) for seed in (1, 2, 3)]
    (found,) = verdicts(runs, {"step_time": 0.05, "leak": 2.0, "lost": 1.0}, metrics)
    assert (found.metric, found.outcome, found.new) == ("lost", VerdictOutcome.REGRESSED, pytest.approx(0.09))
    assert verdicts(runs, {"lost": 10.0}, metrics)[0].outcome is VerdictOutcome.EQUIVALENT
    assert verdicts(runs, {"leak": 2.0}, metrics) == ()


def lost_share(run):
    return run.hooked.get("lost")


def test_a_figure_that_cannot_be_compared_is_never_fine():
    lost = Metric(name="lost", unit="share", better="lower", kind="points", value=lambda _: inf, is_absolute=True)
    found = verdict(lost, records.runs(), 1.0)
    assert (found.outcome, found.change) == (VerdictOutcome.INCONCLUSIVE, None)


@pytest.mark.parametrize(
    ("runs", "tolerance", "names"),
    [
        ([run(FLAT), run(FLAT), records.run()], 1.0, ("leak",)),
        # Nobody asked for the default: it counts if every run that has the metric exceeds it.
        ([run(FLAT), run(FLAT), records.run()], 2.0, ()),
        ([run(LEAKING), run(FLAT), records.run()], 2.0, ()),
        ([run(LEAKING), run(LEAKING), records.run()], 2.0, ("leak",)),
        ([run(LEAKING), records.run(), records.run()], 2.0, ("leak",)),
        ([run(FLAT)] * 3, 1.0, ()),
        # A case that does not have it, and one with too few runs for any metric.
        ([records.run()] * 3, 1.0, ()),
        ([run(FLAT)] * 2, 1.0, ()),
    ],
)
def test_what_too_few_runs_show_is_not_forgotten_if_it_is_asked_for_or_too_much(runs, tolerance, names):
    assert unshown(runs, {"leak": tolerance}, METRICS) == names


def test_memory_that_shrinks_is_a_leak_of_nothing():
    assert METRICS["leak"].read(run(LEAKING[::-1])) == 0.0


def test_a_leak_of_both_sides_is_still_one():
    pair = Pair(old=run(LEAKING), new=run(LEAKING))
    assert difference(METRICS["leak"], pair) == pytest.approx(29.5, rel=0.01)


def test_pairs_that_tell_no_leak_are_left_out_of_it():
    told, silent = Pair(old=run(FLAT), new=run(FLAT)), Pair(old=records.run(), new=records.run())
    found = judge(iter([told, silent, told, told]).__next__, terms_of({"leak": 2.0}, 10, (), METRICS), lambda: None)
    assert (found.decisions["leak"].outcome, found.decisions["leak"].pairs) == (VerdictOutcome.EQUIVALENT, 3)


def test_a_leak_is_judged_even_if_the_first_pair_shows_none():
    silent, leaking = Pair(old=records.run(), new=records.run()), Pair(old=run(FLAT), new=run(LEAKING))
    terms = terms_of({"step_time": 0.05, "leak": 2.0}, 20, (), METRICS)
    pairs = iter([silent, *[leaking] * 10])
    found = judge(pairs.__next__, terms, lambda: 0.001)
    assert {verdict.metric: verdict.outcome for verdict in found.verdicts}["leak"] is VerdictOutcome.REGRESSED


def test_a_leak_that_too_few_runs_can_show_decides_only_where_somebody_asked_for_it():
    silent, flat = Pair(old=records.run(), new=records.run()), Pair(old=run(FLAT), new=run(FLAT))

    def found(defaults):
        terms = terms_of({"step_time": 0.05, "leak": 2.0}, 5, (), METRICS, defaults=defaults)
        verdicts = judge(iter([flat, *[silent] * 9]).__next__, terms, lambda: 0.001).verdicts
        return next(verdict for verdict in verdicts if verdict.metric == "leak")

    assert [(found(names).outcome, found(names).decides) for names in (frozenset(), frozenset({"leak"}))] == [
        (VerdictOutcome.INCONCLUSIVE, True),
        (VerdictOutcome.INCONCLUSIVE, False),
    ]
