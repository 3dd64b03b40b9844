from dataclasses import replace
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.alpha_spending import level_of_a_look
from pytest_dlbench.judging.frameworks import compare_frameworks, holm, of_pairs, of_runs, rank
from pytest_dlbench.judging.intervals import of_mean
from pytest_dlbench.judging.pairs import Pair, assumed_spread, difference
from tests.doubles.judged import judged

p_values = st.lists(st.floats(min_value=0, max_value=1), max_size=8)


def table(**factors):
    """Times on data sets of very different sizes; each framework takes its factors of them."""
    return {
        name: {f"d{place}": 10.0**place * value for place, value in enumerate(row)} for name, row in factors.items()
    }


def test_the_ratio_is_the_geometric_mean_over_the_data_sets():
    (found,) = compare_frameworks(table(a=(2.0, 8.0), b=(1.0, 1.0)))
    assert found.ratio == pytest.approx(4.0)


def test_the_interval_is_that_of_students_t_on_the_logarithms():
    # Logarithms 0.1, 0.2, 0.3: sd 0.1, error 0.1/√3, t of 2 degrees at 97.5 % 4.302653.
    (found,) = compare_frameworks(table(a=map(exp, (0.1, 0.2, 0.3)), b=(1, 1, 1)))
    width = 4.302653 * 0.1 / sqrt(3)
    assert (found.lower, found.upper) == pytest.approx((exp(0.2 - width), exp(0.2 + width)), rel=1e-6)


def test_a_difference_on_every_data_set_is_supported():
    (found,) = compare_frameworks(table(a=(1.2, 1.21, 1.19, 1.2, 1.22), b=(1,) * 5))
    assert found.is_supported


def test_a_difference_that_hangs_on_one_data_set_is_not():
    (found,) = compare_frameworks(table(a=(3.0, 1.0, 1.02, 0.98, 1.01), b=(1,) * 5))
    assert not found.is_supported


def test_one_data_set_supports_nothing():
    (found,) = compare_frameworks(table(a=(3.0,), b=(1.0,)))
    assert (found.ratio, found.upper, found.is_supported) == (pytest.approx(3.0), inf, False)


def test_only_data_sets_that_both_have_count():
    (found,) = compare_frameworks(table(a=(2.0, 2.0, 2.0), b=(1.0, 1.0)))
    assert found.datasets == 2


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), inf])
def test_a_time_that_is_none_is_refused(time):
    with pytest.raises(ValueError, match="expected times above 0"):
        compare_frameworks(table(a=(1.0, time), b=(1.0, 1.0)))


def test_every_pair_of_frameworks_is_compared():
    found = compare_frameworks(table(a=(1, 2), b=(2, 1), c=(1, 1)))
    assert [(ratio.framework, ratio.other) for ratio in found] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_more_pairs_make_each_claim_harder():
    alone = compare_frameworks(table(a=(1.2, 1.3, 1.1), b=(1, 1, 1)))[0]
    among = compare_frameworks(table(a=(1.2, 1.3, 1.1), b=(1, 1, 1), c=(1.0, 1.1, 0.9)))[0]
    assert among.p_value > alone.p_value


def test_false_claims_are_as_rare_as_promised():
    random = np.random.default_rng(5)
    false = [
        any(ratio.is_supported for ratio in compare_frameworks(table(**dict(zip("abcd", rows, strict=True)))))
        for rows in np.exp(random.normal(0, 0.15, (300, 4, 6)))
    ]
    # Three standard errors of 5 % in 300 tables.
    assert np.mean(false) <= 0.05 + 0.038


# Holm


def test_holms_correction_by_hand():
    # 0.01·3, 0.02·2 and 0.03·1, which must not be less than the one before.
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])


@given(p_values)
def test_a_correction_never_makes_a_claim_easier(values):
    assert all(value <= corrected <= 1 for value, corrected in zip(values, holm(values), strict=True))


@given(p_values)
def test_a_correction_keeps_the_order(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    found = holm(values)
    assert [found[place] for place in order] == sorted(found)


# Ranks


EIGHT = {"a": (1.0,) * 8, "b": (2.0,) * 8, "c": (3.0,) * 8}


def test_ranks_begin_with_the_fastest():
    found = rank(table(**EIGHT))
    assert found.mean_ranks == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_the_critical_difference_is_that_of_nemenyi():
    # q of 3 at 5 % over √2 is 2.3437 (Demšar 2006, table 5), times √(3·4/(6·8)).
    assert rank(table(**EIGHT)).critical_difference == pytest.approx(2.3437 * 0.5, abs=0.001)


def test_data_sets_that_agree_on_all_ranks_are_no_chance():
    assert rank(table(**EIGHT)).p_value == 0.0


def test_ranks_that_vary_evenly_may_be_chance():
    turning = {name: [1 + (place + shift) % 3 for place in range(9)] for shift, name in enumerate("abc")}
    assert rank(table(**turning)).p_value == pytest.approx(1.0)


@pytest.mark.parametrize("datasets", [0, 7])
def test_fewer_than_eight_data_sets_are_not_ranked(datasets):
    assert rank(table(**{name: values[:datasets] for name, values in EIGHT.items()})) is None


def test_two_frameworks_are_not_ranked():
    assert rank(table(a=EIGHT["a"], b=EIGHT["b"])) is None


def test_frameworks_that_are_alike_on_every_data_set_are_not_distinguished():
    found = rank({name: dict.fromkeys(map(str, range(8)), 0.01) for name in "abc"})
    assert (set(found.mean_ranks.values()), found.p_value) == ({2.0}, 1.0)


def pairs(*, new=0.012, spread=0.3, runs=5, **changes):
    """Pairs whose candidate is 20 % slower by default, of processes that differ by 30 % from pair to pair."""
    sides = (judged(step=step, spread=spread, runs=runs, **changes).runs for step in (0.01, new))
    return [Pair(old=old, new=new) for old, new in zip(*sides, strict=True)]


def test_pairs_exclude_what_both_of_their_runs_have_in_common():
    found = of_pairs(METRICS["step_time"], pairs())
    assert found.estimate == pytest.approx(1.2)
    assert 1.1 < found.lower < 1.2 < found.upper < 1.3
    old, new = ([METRICS["step_time"].figure(getattr(pair, side)) for pair in pairs()] for side in ("old", "new"))
    apart = of_runs(METRICS["step_time"], new, old)
    assert apart.lower < 1 < apart.upper


def test_of_a_metric_where_more_is_better_pairs_give_the_ratio_of_figures_too():
    found = of_pairs(METRICS["throughput"], pairs())
    assert found.estimate == pytest.approx(1 / 1.2)
    assert found.lower < 1 / 1.2 < found.upper


def test_accuracies_of_pairs_differ_in_points():
    sides = (judged(accuracy=accuracy, runs=5).runs for accuracy in (0.9, 0.95))
    found = of_pairs(METRICS["accuracy"], [Pair(old=old, new=new) for old, new in zip(*sides, strict=True)])
    assert found.estimate == pytest.approx(5)
    assert found.lower < 5 < found.upper


def test_more_pairs_and_a_larger_level_narrow_the_interval():
    widths = [
        found.upper - found.lower
        for found in (
            of_pairs(METRICS["step_time"], pairs(runs=5), 0.01),
            of_pairs(METRICS["step_time"], pairs(runs=5)),
            of_pairs(METRICS["step_time"], pairs(runs=10)),
        )
    ]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("count", "passes"), [(20, 1), (21, 2), (25, 2), (40, 2), (41, 3)])
def test_pairs_of_several_passes_share_the_level(count, passes):
    """A screening and its confirmation have as many looks each."""
    found = pairs(runs=count)
    metric = METRICS["step_time"]
    differences = np.array([difference(metric, pair) for pair in found])
    whole, shared = (
        of_mean(differences, run_sd=assumed_spread(metric), is_robust=metric.is_robust, alpha=level)
        for level in (level_of_a_look(0.05, 20), level_of_a_look(0.05 / passes, 20))
    )
    interval = of_pairs(metric, found, 0.05)
    assert (interval.lower, interval.upper) == pytest.approx((exp(shared.lower), exp(shared.upper)))
    width = log(interval.upper / interval.lower)
    assert width > whole.upper - whole.lower if passes > 1 else width == pytest.approx(whole.upper - whole.lower)


def test_pairs_without_the_figure_are_refused():
    first, *others = pairs()
    broken = replace(first.new, training=replace(first.new.training, step_seconds=(0.0,)))
    with pytest.raises(ValueError, match="comparable figures of step_time"):
        of_pairs(METRICS["step_time"], [replace(first, new=broken), *others])


def test_pairs_that_end_when_they_decide_are_rarely_sure_of_a_difference_that_is_none():
    """The level in either tail is 5 %, whenever they end."""
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        noise = generator.normal(0, 0.03, size=(20, 2))
        runs = [[judged(step=0.01 * exp(value), runs=1).runs[0] for value in side] for side in noise.T]
        found = [Pair(old=old, new=new) for old, new in zip(*runs, strict=True)]
        looks = [of_pairs(METRICS["step_time"], found[:count]) for count in range(3, 21)]
        wrong += any(look.lower > 1 or look.upper < 1 for look in looks)
    assert wrong <= 0.15 * 200
