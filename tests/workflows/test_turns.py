"""Cases that take turns: who goes on, what is kept of a test in between, and what it spends."""

from itertools import count
from math import exp

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.two_stage import Passes, terms_of
from pytest_dlbench.records import CaseOutcome, CaseResult, VerdictOutcome
from pytest_dlbench.workflows.turns import Series, SetAsideError, Turns
from tests.doubles import records

TOLERANCES = {"step_time_median": 0.05}
# Differences in logarithms, all pairs alike. At a tolerance of 5 % and the spread that is assumed, ...
DECIDED = 0.0  # three pairs suffice,
EASY = 0.025  # a few more do,
HARD = 0.045  # ten do not.
WORSE = 0.2


class Staged:
    """Pairs whose new side is so much worse; each is told to ``order`` when it is run, and takes a second."""

    def __init__(self, name, worse, order):
        self.name, self.worse, self.order, self.new_first = name, worse, order, []

    def next(self):
        self.order.append(self.name)
        self.new_first.append(False)
        seed = len(self.new_first)
        return records.run(seed), records.run(seed, step=0.01 * exp(self.worse))


def levels(*given):
    left = iter(given)
    return lambda: next(left, None)


class Session:
    """Tests of one case each, called as pytest would call them."""

    def __init__(self, *, has_time=lambda: True, next_level=lambda: 0.005, **worse):
        self.turns, self.order, self.found = Turns(has_time=has_time), [], {}
        self.worse, self.next_level = worse, next_level

    def series(self, name):
        passes = Passes(terms=terms_of(TOLERANCES, 20, (), METRICS), next_level=self.next_level)
        pairs = Staged(name, self.worse[name], self.order)
        return Series(pairs=pairs, passes=passes, clock=count().__next__)

    def call(self, name, *, is_first_round=False):
        self.turns.begin(name, is_first_round=is_first_round)
        series = self.turns.series(name, lambda: self.series(name))
        try:
            self.turns.proceed(name, series)
        except SetAsideError:
            return
        self.found[name] = series.passes.found()
        self.turns.end(name)

    def first_round(self):
        for name in self.worse:
            self.call(name, is_first_round=True)
        return self

    def play(self):
        self.first_round()
        while name := self.turns.next():
            self.call(name)
        return self


def outcomes(session):
    return {name: found.verdicts[0].outcome for name, found in session.found.items()}


def test_in_the_first_round_every_case_has_three_pairs():
    assert Session(hard=HARD, easy=EASY).first_round().order == ["hard"] * 3 + ["easy"] * 3


def test_what_three_pairs_decide_is_at_its_end_in_the_first_round():
    session = Session(hard=HARD, same=DECIDED).first_round()
    assert session.found.keys() == {"same"}
    assert session.turns.is_set_aside("hard")


def test_then_the_case_that_is_decided_soonest_goes_on_to_its_end():
    session = Session(hard=HARD, easy=EASY).play()
    assert list(session.found) == ["easy", "hard"]
    first_hard = session.order.index("hard", 3)
    assert "easy" not in session.order[first_hard:]
    assert outcomes(session)["easy"] is VerdictOutcome.EQUIVALENT


def test_a_case_has_the_same_pairs_and_verdict_as_if_it_were_alone():
    together, alone = Session(hard=HARD, easy=EASY).play(), Session(easy=EASY).play()
    assert together.found["easy"].verdicts == alone.found["easy"].verdicts
    assert together.order.count("easy") == len(alone.order)


def test_a_case_that_may_have_regressed_is_confirmed_in_its_next_turn():
    session = Session(worse=WORSE, hard=HARD).play()
    assert session.order[:9] == ["worse"] * 3 + ["hard"] * 3 + ["worse"] * 3
    assert outcomes(session)["worse"] is VerdictOutcome.REGRESSED


def test_a_candidate_takes_one_level_however_many_turns_it_has():
    session = Session(first=WORSE, second=WORSE, hard=HARD, next_level=levels(0.005, 0.0016, 0.0008)).play()
    assert [session.found[name].alpha for name in ("first", "second")] == [0.005, 0.0016]
    # The hard one does not look worse than its tolerance, and is no candidate.
    assert session.found["hard"].alpha == 0


def test_without_time_what_was_set_aside_is_concluded_with_the_pairs_it_has():
    left = [True]
    session = Session(hard=HARD, harder=HARD, has_time=lambda: left[0]).first_round()
    left[0] = False
    pairs = len(session.order)
    while name := session.turns.next():
        session.call(name)
    assert len(session.order) == pairs
    assert outcomes(session) == dict.fromkeys(("hard", "harder"), VerdictOutcome.INCONCLUSIVE)


def test_without_time_a_new_case_has_one_pair():
    assert Session(hard=HARD, has_time=lambda: False).play().order == ["hard"]


def test_a_test_that_was_not_begun_is_run_to_its_end():
    session = Session(hard=HARD, easy=EASY)
    series = session.turns.series("easy", lambda: session.series("easy"))
    session.turns.proceed("easy", series)
    assert series.passes.found().verdicts[0].outcome is VerdictOutcome.EQUIVALENT
    assert session.turns.next() is None


# What a test has behind it


def concluded(name):
    case = records.case(name)
    return records.record(case=case), CaseResult(case=case, outcome=CaseOutcome.PASSED, message="", runs=3, figures={})


def test_what_a_test_has_behind_it_is_there_in_its_next_turn():
    turns = Turns(has_time=lambda: True)
    turns.begin("test", is_first_round=True)
    assert turns.concluded("test", 0, "a") is None
    turns.keep("test", concluded("a"))
    turns.begin("test", is_first_round=False)
    assert turns.concluded("test", 0, "a") == concluded("a")
    assert turns.concluded("test", 1, "b") is None


def test_a_test_that_trains_something_else_in_its_next_turn_is_told():
    turns = Turns(has_time=lambda: True)
    turns.begin("test", is_first_round=True)
    turns.keep("test", concluded("a"))
    with pytest.raises(DlbenchError, match="its call number 1 was of a and is now of b"):
        turns.concluded("test", 0, "b")


def test_nothing_is_kept_of_a_test_at_its_end():
    turns = Turns(has_time=lambda: True)
    turns.begin("test", is_first_round=True)
    turns.keep("test", concluded("a"))
    turns.end("test")
    turns.begin("test", is_first_round=True)
    assert turns.concluded("test", 0, "b") is None
