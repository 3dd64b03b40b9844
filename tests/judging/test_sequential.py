"""The paired rule: golden cases by hand, laws, and error rates by simulation with fixed seeds."""

from dataclasses import replace
from math import inf, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_dlbench.judging.alpha_spending import level_of_a_look
from pytest_dlbench.judging.sequential import (
    EQUIVALENT,
    OUTCOMES,
    REASONS,
    REGRESSED,
    Reason,
    Rule,
    decide,
    replay,
)
from pytest_dlbench.records import VerdictOutcome

TOLERANCE = log(1.05)
RULE = Rule(tolerance=TOLERANCE)
SPREAD = 0.02
MIRRORED = {VerdictOutcome.REGRESSED: VerdictOutcome.IMPROVED, VerdictOutcome.IMPROVED: VerdictOutcome.REGRESSED}

numbers = st.floats(min_value=-0.3, max_value=0.3).map(lambda value: round(value, 4))
paths = st.lists(numbers, max_size=20)
looks = st.lists(numbers, min_size=3, max_size=20)
spreads = st.floats(min_value=0.003, max_value=0.1)
lawful = settings(deadline=None, max_examples=40)


def said(differences, spread=SPREAD, rule=RULE):
    found = decide(differences, spread, rule)
    return found.outcome, found.reason, found.pairs


# By hand


def test_three_equal_pairs_have_the_interval_that_the_formula_says():
    # s² = 4·0.02²/(4 + 3 - 1), of a mean of three, t with 6 degrees of freedom.
    found = decide([0.01] * 3, SPREAD, RULE)
    width = stats.t.isf(level_of_a_look(0.025, 20), 6) * sqrt(4 * 0.02**2 / 6 / 3)
    assert (found.estimate, found.lower, found.upper) == pytest.approx((0.01, 0.01 - width, 0.01 + width))


def test_a_pair_far_out_is_pulled_in_to_two_and_a_half_deviations():
    # Median 0, MAD 0.01·1.4826: s_c² = (4·0.02² + 5·0.014826²)/9 = 0.0173175², so 0.08 counts as 0.0432936.
    found = decide([-0.01, 0.0, 0.01, -0.01, 0.08], SPREAD, replace(RULE, min_pairs=5))
    assert found.estimate == pytest.approx((-0.01 + 0.0432936) / 5, abs=1e-7)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.0] * 3, (VerdictOutcome.EQUIVALENT, Reason.DECIDED, 3)),
        ([0.14] * 3, (VerdictOutcome.REGRESSED, Reason.DECIDED, 3)),
        ([-0.14] * 3, (VerdictOutcome.IMPROVED, Reason.DECIDED, 3)),
        ([0.0] * 2, (VerdictOutcome.INCONCLUSIVE, Reason.FEW_PAIRS, 2)),
        ([], (VerdictOutcome.INCONCLUSIVE, Reason.FEW_PAIRS, 0)),
        ([TOLERANCE] * 3, (VerdictOutcome.INCONCLUSIVE, Reason.OPEN, 3)),
        ([0.0, 0.0, nan], (VerdictOutcome.INCONCLUSIVE, Reason.NOT_FINITE, 3)),
        ([inf], (VerdictOutcome.INCONCLUSIVE, Reason.NOT_FINITE, 1)),
    ],
)
def test_what_is_said_and_why(differences, expected):
    assert said(differences, spread=0.01) == expected


def test_the_last_pair_ends_it():
    assert said([TOLERANCE] * 4, rule=Rule(tolerance=TOLERANCE, max_pairs=4))[1:] == (Reason.EXHAUSTED, 4)


def test_what_stays_undecided_uses_all_pairs():
    assert said([TOLERANCE] * 20)[1:] == (Reason.EXHAUSTED, 20)


# Differences whose interval after 20 pairs is wider than the tolerance of 4.9 %, and no wider.
WIDE, NARROW = [0.3, -0.3] * 10, [0.03, -0.02, 0.01] * 7


def test_a_rule_that_gives_up_stops_where_the_spread_is_too_wide_for_the_tolerance():
    giving_up = replace(RULE, gives_up=True)
    assert said(WIDE, spread=0.3, rule=giving_up)[1:] == (Reason.TOO_VARIABLE, 6)
    assert said(WIDE, spread=0.3)[1:] == (Reason.EXHAUSTED, 20)
    assert said(NARROW, rule=giving_up) == said(NARROW)


def test_a_rule_that_gives_up_still_finds_a_change_that_is_far_larger_than_the_spread():
    far = [value + 1.2 for value in WIDE]
    assert said(far, spread=0.3, rule=replace(RULE, gives_up=True))[0] is VerdictOutcome.REGRESSED


# Their interval after 20 pairs will be narrower than the tolerance, but clears fewer than nine in ten unchanged cases.
BETWEEN = [0.046, -0.046, 0.021, -0.021, 0.052, -0.052] * 4


def shifted(by, *, gives_up=True, alpha=0.025):
    """What the rule says of such differences if they are worse by that much."""
    return said([value + by for value in BETWEEN], spread=0.05, rule=replace(RULE, gives_up=gives_up, alpha=alpha))


def test_a_rule_that_gives_up_stops_where_few_would_be_cleared_and_this_one_will_not_be():
    assert shifted(0.02)[1:] == (Reason.TOO_VARIABLE, 6)
    assert shifted(0.02, gives_up=False)[1:] == (Reason.EXHAUSTED, 20)


def test_a_rule_that_gives_up_goes_on_where_it_will_decide():
    assert shifted(0.0) == shifted(0.0, gives_up=False)
    assert shifted(0.0)[0] is VerdictOutcome.EQUIVALENT


def test_a_rule_that_gives_up_goes_on_where_it_looks_worse_or_was_found_to_be_worse():
    assert shifted(0.06)[1:] == (Reason.EXHAUSTED, 20)
    assert shifted(0.02, alpha=0.003)[1:] == (Reason.EXHAUSTED, 20)


def test_a_change_close_to_the_tolerance_is_no_reason_to_give_up():
    close = [TOLERANCE - 0.001 + value for value in (0.003, -0.003, 0.001, -0.001)] * 5
    assert said(close, rule=replace(RULE, gives_up=True))[1:] == (Reason.EXHAUSTED, 20)


# As PyTorch's peak memory: one of two amounts, 3 % apart, in the candidate only.
TWO_AMOUNTS = [0.03, 0.0, 0.0, 0.03, 0.03, 0.0, 0.0, 0.03] * 3


def test_a_change_close_to_the_tolerance_is_one_if_the_spread_is_wide_too():
    near = replace(RULE, tolerance=0.02, gives_up=True, is_one_sided=True)
    assert said(TWO_AMOUNTS, spread=0.02, rule=near)[1:] == (Reason.TOO_VARIABLE, 6)


def test_a_gain_within_the_spread_is_cleared_early_if_one_sided():
    gains = [-value for value in TWO_AMOUNTS]
    rule = replace(RULE, tolerance=0.02)
    cleared = said(gains, spread=0.015, rule=replace(rule, is_one_sided=True))
    assert cleared == (VerdictOutcome.EQUIVALENT, Reason.DECIDED, 4)
    assert said(gains, spread=0.015, rule=rule)[2] > 10


def test_a_rule_that_gives_up_errs_no_more_often():
    differences = np.random.default_rng(3).normal(0.0, 0.15, (200, 20))
    found, plain = (
        replay(differences, np.full(200, 0.15), replace(RULE, gives_up=gives_up)).outcome for gives_up in (True, False)
    )
    assert set(found[found != plain].tolist()) <= {0}


def test_more_pairs_than_allowed_are_not_looked_at():
    rule = Rule(tolerance=TOLERANCE, max_pairs=4)
    assert said([TOLERANCE] * 4 + [0.5] * 8, rule=rule) == said([TOLERANCE] * 4, rule=rule)


def test_no_worse_is_enough_for_a_rule_of_one_side():
    better = [-0.06, -0.03, -0.045]
    assert said(better)[:2] == (VerdictOutcome.INCONCLUSIVE, Reason.OPEN)
    assert said(better, rule=replace(RULE, is_one_sided=True))[:2] == (VerdictOutcome.EQUIVALENT, Reason.DECIDED)


def test_a_rule_of_one_side_finds_what_is_worse():
    assert said([0.14] * 3, rule=replace(RULE, is_one_sided=True))[0] is VerdictOutcome.REGRESSED


def test_pairs_far_apart_hold_the_rule_back_until_the_eighth():
    apart = [0.3, 0.3, 0.36, 0.3, 0.3, 0.3, 0.3]
    assert said(apart, spread=0.01)[:2] == (VerdictOutcome.INCONCLUSIVE, Reason.SPREAD)
    assert said([*apart, 0.3], spread=0.01)[0] is VerdictOutcome.REGRESSED
    assert decide([*apart, 0.3], 0.01, RULE).was_held_back


def test_at_odd_counts_pairs_that_follow_the_order_of_the_sides_prove_nothing():
    # The second run of a pair is 10 % slower. Of nine pairs five have one order, and the others would be pulled in.
    ordered = [0.1, -0.1] * 4
    assert said([*ordered, 0.1], spread=0.02)[:2] == (VerdictOutcome.INCONCLUSIVE, Reason.SPREAD)
    assert abs(decide([*ordered, 0.1, -0.1], 0.02, RULE).estimate) < 1e-9


def test_a_look_that_is_held_back_excludes_nothing():
    assert decide([0.3, 0.3, 0.36], 0.01, RULE).lower == -inf


def test_pairs_too_few_to_clear_set_no_bound_that_clears_later():
    rule = replace(RULE, widens=True, pairs_to_clear=5)
    four = decide([0.0] * 4, SPREAD, rule)
    assert (four.outcome, four.upper) == (VerdictOutcome.INCONCLUSIVE, inf)
    assert decide([0.0] * 5, SPREAD, rule).outcome is VerdictOutcome.EQUIVALENT
    # The pairs that follow are of both kinds.
    assert decide([0.0] * 4 + [0.08] * 2, SPREAD, rule).outcome is VerdictOutcome.INCONCLUSIVE


def test_eight_pairs_of_two_kinds_clear_nothing_where_the_spread_is_assumed():
    mixed, rule = [0.0, 0.08, *[0.0] * 6], replace(RULE, widens=True, pairs_to_clear=5)
    assert decide(mixed, SPREAD, RULE).outcome is VerdictOutcome.EQUIVALENT
    assert decide(mixed, SPREAD, rule).outcome is VerdictOutcome.INCONCLUSIVE
    assert decide([*mixed, *[0.0] * 2], SPREAD, rule).outcome is VerdictOutcome.EQUIVALENT


def test_pairs_that_contradict_earlier_ones_prove_nothing():
    # Three pairs exclude "worse by 5 %", all others say 22 %: neither is believed.
    found = decide([-0.06] * 3 + [0.2] * 17, 0.05, RULE)
    assert found.outcome is VerdictOutcome.INCONCLUSIVE
    assert found.estimate > found.upper


# Laws


@given(paths, spreads)
@lawful
def test_swapping_the_sides_mirrors_the_decision(differences, spread):
    there, back = decide(differences, spread, RULE), decide([-value for value in differences], spread, RULE)
    assert back.outcome is MIRRORED.get(there.outcome, there.outcome)
    assert (back.reason, back.pairs, back.was_held_back) == (there.reason, there.pairs, there.was_held_back)
    assert (back.lower, back.upper) == pytest.approx((-there.upper, -there.lower))


@given(looks, spreads)
@lawful
def test_a_rule_of_one_side_calls_the_same_worse_and_nothing_else_inconclusive(differences, spread):
    both, one = decide(differences, spread, RULE), decide(differences, spread, replace(RULE, is_one_sided=True))
    if both.outcome is VerdictOutcome.EQUIVALENT:
        assert one.outcome is VerdictOutcome.EQUIVALENT
    assert not (one.outcome is VerdictOutcome.REGRESSED and one.estimate < RULE.tolerance)


@given(looks, spreads, st.sampled_from([0.5, 2.0, 8.0]))
@lawful
def test_another_unit_changes_nothing(differences, spread, factor):
    scaled = [factor * value for value in differences]
    plain, other = (
        decide(differences, spread, RULE),
        decide(scaled, factor * spread, replace(RULE, tolerance=factor * TOLERANCE)),
    )
    assert (other.outcome, other.reason, other.pairs) == (plain.outcome, plain.reason, plain.pairs)
    assert other.estimate == pytest.approx(factor * plain.estimate)


@given(looks, spreads, paths)
@lawful
def test_a_final_decision_stands_whatever_comes_later(differences, spread, later):
    found = decide(differences, spread, RULE)
    if found.is_final:
        assert decide([*differences, *later], spread, RULE) == found


@given(numbers, spreads)
@settings(deadline=None, max_examples=20)
def test_more_of_the_same_evidence_never_turns_a_finding_into_another(value, spread):
    found = [decide([value] * pairs, spread, RULE).outcome for pairs in (3, 5, 8, 20)]
    assert len({*found} - {VerdictOutcome.INCONCLUSIVE}) <= 1
    assert found == sorted(found, key=lambda outcome: outcome is not VerdictOutcome.INCONCLUSIVE)


@given(looks, spreads)
@lawful
def test_the_interval_never_grows(differences, spread):
    found = [decide(differences[:pairs], spread, RULE) for pairs in range(3, len(differences) + 1)]
    assert [one.lower for one in found] == sorted(one.lower for one in found)
    assert [one.upper for one in found] == sorted((one.upper for one in found), reverse=True)


@given(paths, st.sampled_from([nan, inf, -inf]), paths, spreads)
@lawful
def test_what_is_no_number_never_passes(before, odd, after, spread):
    found = decide([*before, odd, *after], spread, RULE)
    if found.pairs > len(before):
        assert (found.outcome, found.reason) == (VerdictOutcome.INCONCLUSIVE, Reason.NOT_FINITE)
    else:
        assert found == decide(before, spread, RULE)


@given(looks.flatmap(lambda values: st.tuples(st.just(values), st.permutations(range(3)))), spreads)
@lawful
def test_the_order_of_the_pairs_of_the_first_look_does_not_matter(drawn, spread):
    differences, order = drawn
    other = [*(differences[place] for place in order), *differences[3:]]
    one, two = decide(differences, spread, RULE), decide(other, spread, RULE)
    assert (two.outcome, two.reason, two.pairs) == (one.outcome, one.reason, one.pairs)


@given(st.lists(st.lists(numbers, min_size=12, max_size=12), min_size=1, max_size=5), spreads)
@lawful
def test_many_comparisons_at_once_are_decided_as_each_alone(rows, spread):
    found = replay(np.array(rows), np.full(len(rows), spread), RULE)
    for place, row in enumerate(rows):
        alone = decide(row, spread, RULE)
        together = (OUTCOMES[found.outcome[place]], REASONS[found.reason[place]], found.pairs[place])
        assert together == (alone.outcome, alone.reason, alone.pairs)
        assert (found.lower[place], found.upper[place]) == pytest.approx((alone.lower, alone.upper))


# What is refused


@pytest.mark.parametrize("spread", [0.0, -0.01, nan, inf])
def test_a_spread_that_is_none_is_refused(spread):
    with pytest.raises(ValueError, match="expected a spread above 0"):
        decide([0.0] * 3, spread, RULE)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tolerance": 0.0}, "expected a tolerance above 0"),
        ({"tolerance": nan}, "expected a tolerance above 0"),
        ({"min_pairs": 2}, "min_pairs"),
        ({"max_pairs": 21}, "3 to 20 pairs"),
        ({"alpha": 0.5}, "expected a level"),
        ({"alpha": nan}, "expected a level"),
    ],
)
def test_a_rule_outside_of_what_was_calibrated_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Rule(**{"tolerance": TOLERANCE, **wrong})


# Error rates where the model holds: σ² ~ 4·s0²/χ²(4). 20,000 paths are good to ±0.3 points (three standard errors).


def of_the_model(change, alpha=0.025, max_pairs=20):
    random = np.random.default_rng(7)
    sd = np.sqrt(4 / random.chisquare(4, 20_000)) * 0.015
    differences = change + random.standard_normal((20_000, max_pairs)) * sd[:, np.newaxis]
    return replay(differences, np.full(20_000, 0.015), Rule(tolerance=TOLERANCE, alpha=alpha, max_pairs=max_pairs))


@pytest.mark.parametrize("max_pairs", [3, 10, 20])
@pytest.mark.parametrize("alpha", [0.025, 0.005])
def test_a_change_at_the_tolerance_is_called_regressed_no_more_often_than_promised(alpha, max_pairs):
    found = of_the_model(TOLERANCE, alpha, max_pairs).outcome
    assert np.mean(found == REGRESSED) <= alpha + 3 * sqrt(alpha / 20_000)


@pytest.mark.parametrize("max_pairs", [3, 10, 20])
def test_a_change_at_the_tolerance_is_called_equivalent_no_more_often_than_promised(max_pairs):
    assert np.mean(of_the_model(TOLERANCE, max_pairs=max_pairs).outcome == EQUIVALENT) <= 0.025 + 0.0035


def test_no_change_is_practically_never_called_regressed():
    assert np.mean(of_the_model(0.0).outcome == REGRESSED) <= 0.001
