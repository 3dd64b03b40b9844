"""Deciding at once: how many pairs it takes, how far a change must be, and what stands against it."""

from dataclasses import replace
from itertools import count
from math import inf, log

import numpy as np
import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.at_once import (
    LOOKS,
    MOST_BY_KINDS,
    chance_of_kinds,
    decide_at_once,
    pairs_at_once,
    rule_at_once,
)
from pytest_dlbench.judging.pairs import Pair, StepSpread
from pytest_dlbench.judging.sequential import Reason, Rule
from pytest_dlbench.judging.terms import terms_of
from pytest_dlbench.judging.two_stage import judge
from pytest_dlbench.records import Alternation, VerdictOutcome
from tests.doubles import records

LEVEL = 0.0003
RULE = Rule(tolerance=log(1.05))
REFERENCE = [records.run(seed, step=0.01 * (1.003 if seed % 2 else 1.0)) for seed in range(10)]
TERMS = replace(terms_of({"step_time": 0.05}, 20, REFERENCE, METRICS), at_once=LEVEL)


def said(differences, *, widest=0.01, spread=0.005, level=LEVEL, runs=10):
    return decide_at_once(differences, spread, rule_at_once(RULE, level, runs), widest=widest).outcome


def judged(ratio, terms=TERMS, level=0.005):
    pairs = (Pair(old=records.run(seed), new=records.run(seed, step=0.01 * ratio)) for seed in count(1))
    return judge(pairs.__next__, terms, lambda: level)


# How many pairs


@pytest.mark.parametrize(("runs", "pairs"), [(10, 4), (19, 4), (20, 3), (200, 3)])
def test_the_more_earlier_runs_the_fewer_pairs(runs, pairs):
    assert pairs_at_once(runs) == pairs


@pytest.mark.parametrize(("pairs", "runs"), [(3, 10), (4, 10), (3, 20)])
def test_kinds_look_like_a_change_as_often_as_computed(pairs, runs):
    # The most likely share of kinds, and its rate, by enumeration of all sequences of kinds.
    shares = np.arange(1, 1000) / 1000
    rates = [share**runs * (1 - share) ** pairs * share**pairs for share in shares]
    other = [share**runs * (1 - share) ** pairs * share**pairs for share in 1 - shares]
    assert chance_of_kinds(pairs, runs) == pytest.approx(max(map(sum, zip(rates, other, strict=True))), rel=1e-3)


def test_simulated_kinds_of_processes_are_rarely_taken_for_a_change():
    random = np.random.default_rng(1)
    kinds = random.random((1_000_000, 10 + 2 * pairs_at_once(10))) < 0.22
    earlier, old, new = np.split(kinds, (10, 10 + pairs_at_once(10)), axis=1)
    is_unseen = earlier.all(axis=1) | ~earlier.any(axis=1)
    found = np.mean(is_unseen & ~old.any(axis=1) & new.all(axis=1))
    assert 0 < found < MOST_BY_KINDS


# What is decided


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.1] * 4, VerdictOutcome.REGRESSED),
        ([-0.1] * 4, VerdictOutcome.IMPROVED),
        ([0.1] * 3, VerdictOutcome.INCONCLUSIVE),
        ([0.0] * 4, VerdictOutcome.INCONCLUSIVE),
        ([0.055] * 4, VerdictOutcome.INCONCLUSIVE),
        ([0.1, 0.1, 0.1, 0.02], VerdictOutcome.INCONCLUSIVE),
        ([0.1, 0.1, 0.1, float("nan")], VerdictOutcome.INCONCLUSIVE),
    ],
)
def test_only_what_is_far_beyond_the_tolerance_in_every_pair_is_decided_at_once(differences, expected):
    assert said(differences) is expected


def test_what_earlier_runs_differ_by_is_no_change():
    assert said([0.1] * 4, widest=0.05) is VerdictOutcome.REGRESSED
    assert said([0.1] * 4, widest=0.0513) is VerdictOutcome.INCONCLUSIVE


def test_pairs_that_vary_are_not_enough():
    assert said([0.1] * 4, spread=0.03) is VerdictOutcome.INCONCLUSIVE
    assert said([0.07, 0.09, 0.11, 0.13]) is VerdictOutcome.INCONCLUSIVE


@pytest.mark.parametrize(("level", "most"), [(0.00001, 20), (0.0, 20), (LEVEL, 3)])
def test_without_a_level_or_enough_pairs_there_is_no_such_rule(level, most):
    assert rule_at_once(replace(RULE, max_pairs=most), level, 10) is None


def test_it_is_tried_at_two_looks():
    assert (rule_at_once(RULE, LEVEL, 10).min_pairs, rule_at_once(RULE, LEVEL, 10).max_pairs) == (4, 3 + LOOKS)


# In a case


@pytest.mark.parametrize(("ratio", "outcome"), [(1.12, VerdictOutcome.REGRESSED), (0.88, VerdictOutcome.IMPROVED)])
def test_a_large_change_ends_a_case_after_four_pairs(ratio, outcome):
    found = judged(ratio)
    (time,) = (one for one in found.verdicts if one.metric == "step_time")
    assert (time.outcome, len(found.screened), len(found.confirmed)) == (outcome, 4, 0)
    assert found.decisions["step_time"].reason is Reason.AT_ONCE
    assert found.levels == {"step_time": LEVEL}


def test_the_level_counts_whatever_is_found():
    assert judged(1.0).alpha == LEVEL
    # A confirmation had begun.
    assert judged(1.12).alpha == pytest.approx(LEVEL + 0.005)
    assert judged(1.12, replace(TERMS, widest={"step_time": 0.1})).alpha == pytest.approx(LEVEL + 0.005)


def test_it_needs_no_level_of_a_confirmation():
    found = judged(1.12, level=None)
    # Without one, the case ends with the screening, after three pairs.
    assert found.decisions["step_time"].reason is Reason.UNCONFIRMED


@pytest.mark.parametrize(
    "terms",
    [
        replace(TERMS, at_once=0.0),
        terms_of({"step_time": 0.05}, 20, (), METRICS),
        replace(terms_of({"step_time": 0.05}, 20, REFERENCE[:9], METRICS), at_once=LEVEL),
        replace(TERMS, widest={"step_time": 0.1}),
    ],
    ids=["no level", "no reference", "few runs", "runs that differ"],
)
def test_otherwise_a_change_is_confirmed(terms):
    found = judged(1.12, terms)
    assert (len(found.screened), len(found.confirmed)) == (3, 3)
    assert found.decisions["step_time"].reason is Reason.DECIDED


def test_two_times_share_the_level():
    both = replace(terms_of({"step_time": 0.05, "step_time_median": 0.05}, 20, REFERENCE, METRICS), at_once=LEVEL)
    assert set(judged(0.88, both).levels.values()) == {LEVEL / 2}


# Alternating steps


def steps(*ratios):
    for seed, ratio in enumerate(ratios):
        yield Pair(old=_alternated(seed, 0.01), new=_alternated(seed, 0.01 * ratio))


def _alternated(seed, step):
    seconds = (step,) * 60
    alternation = Alternation(first=10, cpu_seconds=seconds[10:], idle_cpus=0.0)
    return records.run(seed, training=replace(records.training(seconds), alternation=alternation), threads=1)


def by_steps(reference, *ratios):
    terms = terms_of({"step_time": 0.05}, 20, reference, METRICS, steps=StepSpread())
    return judge(steps(*ratios).__next__, replace(terms, at_once=LEVEL), lambda: 0.005)


def test_steps_that_alternate_are_decided_at_once_by_runs_that_do_not():
    found = by_steps(REFERENCE, *[1.12] * 4)
    assert (len(found.screened), found.decisions["step_time"].reason) == (4, Reason.AT_ONCE)


def test_where_earlier_runs_are_alike_three_pairs_clear():
    assert len(by_steps(REFERENCE, *[1.0] * 3).screened) == 3
    assert len(by_steps((), *[1.0] * 5).screened) == 5


def test_where_earlier_runs_differ_by_the_tolerance_three_pairs_do_not_clear():
    differing = [replace(run, training=records.training((0.01 if run.seed else 0.0106,) * 60)) for run in REFERENCE]
    assert len(by_steps(differing, *[1.0] * 5).screened) == 5


def test_earlier_runs_narrow_the_assumed_spread_of_steps_and_never_widen_it():
    quiet = terms_of({"step_time": 0.05}, 20, REFERENCE, METRICS, steps=StepSpread())
    assert quiet.step_spread == quiet.spreads["step_time"] < StepSpread().spread
    assert quiet.apart("step_time_median") == quiet.apart("step_time") < inf
    known = terms_of({"step_time": 0.05}, 20, REFERENCE, METRICS, steps=StepSpread(spread=0.02, pairs=12))
    assert known.step_spread == 0.02
