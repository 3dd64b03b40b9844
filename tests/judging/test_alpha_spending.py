import itertools
import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.alpha_spending import FIRST_LOOK, LAST_LOOK, level_of_a_look
from tests.characteristics.calibrate import quantiles, simulate

TABLE = json.loads(files("pytest_dlbench.judging").joinpath("alpha_prime.json").read_text(encoding="utf-8"))
alphas = st.floats(min_value=TABLE["alphas"][-1], max_value=TABLE["alphas"][0])
pairs = st.integers(min_value=FIRST_LOOK, max_value=LAST_LOOK)


@given(alphas, pairs)
def test_a_look_is_stricter_than_all_of_them_together(alpha, most):
    assert level_of_a_look(alpha, most) < alpha


@given(alphas, alphas, pairs)
def test_a_stricter_rule_has_stricter_looks(one, other, most):
    # Between the table's levels it goes by logarithms, which are good to the last digits but one.
    assert level_of_a_look(min(one, other), most) <= level_of_a_look(max(one, other), most) * (1 + 1e-12)


@given(alphas, pairs, pairs)
def test_more_looks_are_stricter_each(alpha, one, other):
    assert level_of_a_look(alpha, max(one, other)) <= level_of_a_look(alpha, min(one, other))


@pytest.mark.parametrize("most", [3, 10, 20])
def test_between_two_levels_of_the_table_lies_their_geometric_mean(most):
    for left, right in itertools.pairwise(TABLE["alphas"]):
        expected = (level_of_a_look(left, most) * level_of_a_look(right, most)) ** 0.5
        assert level_of_a_look((left * right) ** 0.5, most) == pytest.approx(expected)


# What was published with the rule, from a hundred times fewer paths: two digits.
@pytest.mark.parametrize(
    ("alpha", "most", "expected"),
    [(0.05, 20, 0.0076), (0.025, 20, 0.0032), (0.0125, 20, 0.0013), (0.05, 10, 0.0122), (0.025, 10, 0.0050)],
)
def test_the_levels_are_those_found_before(alpha, most, expected):
    assert level_of_a_look(alpha, most) == pytest.approx(expected, rel=0.04)


def test_the_table_is_precise_to_half_a_hundredth_where_it_is_used_most():
    rows = TABLE["relative_standard_errors"].values()
    assert max(row[TABLE["alphas"].index(0.01)] for row in rows) < 0.005


@pytest.mark.parametrize("most", [2, 21])
def test_a_number_of_pairs_that_was_not_computed_is_refused(most):
    with pytest.raises(ValueError, match="expected 3 to 20 pairs"):
        level_of_a_look(0.025, most)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.5, 1.0, float("nan")])
def test_a_level_that_was_not_computed_is_refused(alpha):
    with pytest.raises(ValueError, match="expected a level"):
        level_of_a_look(alpha, 20)


def test_the_script_that_computed_the_table_gives_it_again():
    # 20,000 paths, both sides: three standard errors of a share of 5 % are 7 % of it, of its quantile a little more.
    counts = simulate(20_000).sum(axis=0)
    place = TABLE["alphas"].index(0.05)
    found = [quantiles(row)[place] for row in counts]
    assert found == pytest.approx([row[place] for row in TABLE["levels"].values()], rel=0.08)
