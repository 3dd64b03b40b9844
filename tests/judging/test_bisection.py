"""The search for the first bad version."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.bisection import Answer, bounds, most_questions, next_place, suspects
from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.terms import terms_of
from pytest_dlbench.judging.two_stage import until_decided
from pytest_dlbench.records import VerdictOutcome
from tests.doubles import records


@st.composite
def histories(draw):
    """(number of versions, the first bad one, those that do not answer)."""
    versions = draw(st.integers(2, 60))
    first_bad = draw(st.integers(1, versions - 1))
    inner = st.sets(st.integers(1, versions - 2)) if versions > 2 else st.just(set())
    return versions, first_bad, draw(inner)


def search(versions, first_bad, silent):
    """All answers of a search, in the order in which they were given."""
    answers = {0: Answer.GOOD, versions - 1: Answer.BAD}
    while (place := next_place(answers)) is not None:
        assert place not in answers
        truth = Answer.BAD if place >= first_bad else Answer.GOOD
        answers[place] = silent.get(place, truth)
    return answers


def skipping(places):
    """The answers of versions that cannot be decided."""
    return {place: Answer.INCONCLUSIVE if place % 2 else Answer.SKIPPED for place in places}


@given(histories())
def test_the_first_bad_version_is_always_among_the_suspects(history):
    versions, first_bad, silent = history
    assert first_bad in suspects(search(versions, first_bad, skipping(silent)))


@given(histories())
def test_where_all_versions_answer_the_first_bad_one_is_found_exactly(history):
    versions, first_bad, _ = history
    assert list(suspects(search(versions, first_bad, {}))) == [first_bad]


@given(histories())
def test_more_than_one_suspect_is_left_only_where_versions_did_not_answer(history):
    versions, first_bad, silent = history
    *others, last = suspects(search(versions, first_bad, skipping(silent)))
    assert set(others) <= silent
    assert last == min(place for place in range(first_bad, versions) if place not in silent)


@given(histories())
def test_where_all_versions_answer_it_takes_logarithmically_many_questions(history):
    versions, first_bad, _ = history
    # Both ends are one comparison.
    assert len(search(versions, first_bad, {})) - 1 <= most_questions(versions)


def test_neighbours_need_no_question():
    answers = {0: Answer.GOOD, 1: Answer.BAD}
    assert next_place(answers) is None
    assert (bounds(answers), list(suspects(answers))) == ((0, 1), [1])


def test_a_version_that_does_not_answer_is_passed_for_its_neighbour():
    answers = {0: Answer.GOOD, 4: Answer.BAD}
    assert next_place(answers) == 2
    assert next_place({**answers, 2: Answer.SKIPPED}) == 1


def test_a_bad_version_below_a_good_one_is_where_the_search_goes_on():
    answers = {0: Answer.GOOD, 2: Answer.BAD, 4: Answer.GOOD, 8: Answer.BAD}
    assert (bounds(answers), next_place(answers)) == ((0, 2), 1)


@pytest.mark.parametrize(
    ("new", "tolerance", "expected"),
    [
        (388, 0.02, (VerdictOutcome.EQUIVALENT, 0.042)),
        (408, 0.02, (VerdictOutcome.REGRESSED, 0.042)),
        (388, 0.01, (VerdictOutcome.REGRESSED, 0.01)),
    ],
)
def test_a_version_is_good_if_it_needs_a_few_mib_more_unless_a_tolerance_is_named(new, tolerance, expected):
    pairs = (
        Pair(old=records.run(seed, peak_mib=379 + seed % 2), new=records.run(seed, peak_mib=new + seed % 2))
        for seed in count(1)
    )
    terms = terms_of({"peak_rss": tolerance}, 20, (), METRICS)
    used, decision, verdict = until_decided(pairs.__next__, METRICS["peak_rss"], 0.01, terms)
    assert (decision.outcome, verdict.tolerance) == expected
    assert verdict.outcome is decision.outcome
    assert len(used) < 20
