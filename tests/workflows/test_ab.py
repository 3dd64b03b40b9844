"""An A/B test of one case: what is screened, what is confirmed, and how much of the budget that spends."""

from dataclasses import replace
from itertools import chain, count, cycle, repeat
from math import expm1, log

import pytest

from pytest_dlbench import judging
from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.alpha_spending import FIRST_LOOK
from pytest_dlbench.judging.pairs import PAIRS_TO_CLEAR, Pair, StepSpread
from pytest_dlbench.judging.power import smallest_tolerance
from pytest_dlbench.judging.sequential import Reason
from pytest_dlbench.judging.terms import narrow, terms_of
from pytest_dlbench.judging.two_stage import judge
from pytest_dlbench.judging.undecided import FIRST_LEVEL, undecided
from pytest_dlbench.records import Alternation, CaseOutcome, CurvePoint, VerdictOutcome
from pytest_dlbench.records.reasons import MedianRegressed, UndecidedPairs
from pytest_dlbench.workflows import reasons
from tests.doubles import records

TOKENS = replace(records.evaluation(), answers="tokens")
TOLERANCES = {"step_time": 0.05, "accuracy": 1.0}
TERMS = terms_of(TOLERANCES, 20, (), METRICS)
# The median step has a tolerance of its own.
BOTH = terms_of({**TOLERANCES, "step_time_median": 0.05}, 20, (), METRICS)


ALTERNATING = terms_of(TOLERANCES, 20, (), METRICS, steps=StepSpread())


def pairs_of(ratio):
    """Pairs in which the candidate's steps take ``ratio`` times as long."""
    for seed in count(1):
        yield Pair(old=records.run(seed), new=records.run(seed, step=0.01 * ratio))


def alternating(ratio):
    """The same with alternating steps of one thread."""
    for seed in count(1):
        yield Pair(old=_alternated(seed, 0.01), new=_alternated(seed, 0.01 * ratio))


def _alternated(seed, step):
    seconds = (step,) * 60
    alternation = Alternation(first=10, cpu_seconds=seconds[10:], idle_cpus=0.0)
    return records.run(seed, training=replace(records.training(seconds), alternation=alternation), threads=1)


def levels(*given):
    left = iter(given)
    return lambda: next(left, None)


def judged(ratio, *given, terms=TERMS, has_time=lambda: True):
    return judge(pairs_of(ratio).__next__, terms, levels(*given), has_time)


def outcomes(found):
    return {verdict.metric: verdict.outcome for verdict in found.verdicts}


def test_metrics_that_screening_clears_spend_nothing():
    found = judged(1.0, 0.005)
    assert set(outcomes(found).values()) == {VerdictOutcome.EQUIVALENT}
    assert (found.alpha, found.confirmed) == (0, [])


def test_each_candidate_spends_its_own_level():
    found = judged(1.2, 0.005, 0.0016, terms=BOTH)
    assert found.alpha == pytest.approx(0.0066)
    assert set(outcomes(found).values()) == {VerdictOutcome.REGRESSED, VerdictOutcome.EQUIVALENT}
    assert found.levels == {"step_time": 0.005, "step_time_median": 0.0016}


def test_a_candidate_without_budget_is_inconclusive():
    found = judged(1.2)
    assert outcomes(found)["step_time"] is VerdictOutcome.INCONCLUSIVE
    assert found.decisions["step_time"].reason is Reason.UNCONFIRMED


def test_an_improvement_is_confirmed_as_a_regression_is():
    found = judged(0.8, 0.005)
    assert outcomes(found)["step_time"] is VerdictOutcome.IMPROVED
    assert found.levels == {"step_time": 0.005}
    assert len(found.confirmed) >= FIRST_LOOK
    assert outcomes(judged(0.8))["step_time"] is VerdictOutcome.INCONCLUSIVE


def noise(*ratios):
    """Pairs with these ratios of step times, again and again."""
    return (
        Pair(old=records.run(seed), new=records.run(seed, step=0.01 * ratio))
        for seed, ratio in enumerate(cycle(ratios), 1)
    )


def test_what_is_undecided_goes_on_to_the_maximum_of_pairs():
    for most in (5, 12, 20):
        found = judge(noise(1.045, 1.055).__next__, terms_of(TOLERANCES, most, (), METRICS), levels())
        assert len(found.screened) == most
        assert found.decisions["step_time"].reason is Reason.EXHAUSTED


def test_more_pairs_than_ten_can_decide():
    ratios = (1.0, 1.105, 0.915, 1.0, 1.08, 0.92)
    few, many = (
        judge(noise(*ratios).__next__, terms_of({"step_time": 0.05}, most, (), METRICS), levels()) for most in (10, 20)
    )
    assert outcomes(few)["step_time"] is VerdictOutcome.INCONCLUSIVE
    assert outcomes(many)["step_time"] is VerdictOutcome.EQUIVALENT


def test_a_confirmation_begins_with_a_new_block():
    begun = []
    taken = pairs_of(1.2)
    judge(lambda: (begun.append("pair"), next(taken))[1], TERMS, levels(0.005), begin_pass=lambda: begun.append("pass"))
    assert begun.index("pass") == FIRST_LOOK
    assert begun.count("pass") == 1


def test_a_confirmed_regression_ends_the_case_whatever_is_undecided():
    def pairs():
        for seed in count(1):
            peak = 500 * (1.03 if seed % 2 else 1.01)
            yield Pair(old=records.run(seed, peak_mib=500), new=records.run(seed, step=0.012, peak_mib=peak))

    terms = terms_of({"step_time": 0.05, "peak_rss": 0.02}, 20, (), METRICS)
    found = judge(pairs().__next__, terms, levels(0.005, 0.001))
    assert outcomes(found) == {
        "step_time_median": VerdictOutcome.REGRESSED,
        "step_time": VerdictOutcome.REGRESSED,
        "peak_rss": VerdictOutcome.INCONCLUSIVE,
    }
    assert found.decisions["peak_rss"].reason is Reason.CASE_ENDED
    assert len(found.screened) + len(found.confirmed) < 10


# The median step is reported


def delayed(ratio):
    """Pairs in which most steps of the candidate take longer, and the fastest tenth do not."""
    steps = (0.01, *(0.01 * ratio,) * 3) * 20
    for seed in count(1):
        yield Pair(old=records.run(seed), new=records.run(seed, training=records.training(steps)))


def test_the_median_step_is_reported_and_decides_nothing():
    found = judge(delayed(1.5).__next__, TERMS, levels(0.005))
    verdicts = {verdict.metric: verdict for verdict in found.verdicts}
    assert verdicts["step_time_median"].outcome is VerdictOutcome.REGRESSED
    assert [name for name, verdict in verdicts.items() if not verdict.decides] == ["step_time_median"]
    assert judging.of_verdicts(found.verdicts) is CaseOutcome.PASSED
    assert reasons.cautions_of_pairs(found, TERMS) == (MedianRegressed(),)
    assert (len(found.screened), found.confirmed, found.alpha) == (FIRST_LOOK, [], 0)


def test_an_undecided_median_step_takes_no_pairs():
    ratios = cycle((1.1, 2.0, 1.4))
    found = judge(lambda: next(delayed(next(ratios))), TERMS, levels())
    assert outcomes(found)["step_time_median"] is VerdictOutcome.INCONCLUSIVE
    assert len(found.screened) == FIRST_LOOK
    assert judging.of_verdicts(found.verdicts) is CaseOutcome.PASSED


def test_a_tolerance_of_its_own_makes_the_median_step_decide():
    found = judge(delayed(1.5).__next__, BOTH, levels(0.005))
    assert judging.of_verdicts(found.verdicts) is CaseOutcome.REGRESSED
    assert reasons.cautions_of_pairs(found, BOTH) == ()


# Metrics whose own spread is too wide for their default tolerance


def varying(*shares):
    """Pairs whose peak memory varies from run to run."""
    for seed, share in enumerate(cycle(shares), 1):
        yield Pair(old=records.run(seed), new=records.run(seed, peak_mib=500 * share))


VARYING = (1.1, 0.9, 1.05, 0.92)


# Ten earlier runs of different seeds, whose accuracies are 10 points apart.
OF_SEEDS = tuple(records.run(seed, accuracy=0.9 if seed % 2 else 0.8) for seed in range(1, 11))


def on_paths(*others):
    """Pairs of the same accuracy; those with a number take other steps, and differ by that many points."""
    for seed, points in zip(count(1), chain(others, repeat(None))):
        accuracy = 0.85 + seed % 3 / 100
        new = records.run(seed, accuracy=accuracy - (points or 0) / 100)
        if points is not None:
            new = replace(new, training=replace(new.training, losses=(2.3001,) * len(new.training.losses)))
        yield Pair(old=records.run(seed, accuracy=accuracy), new=new)


def accuracy_of(pairs):
    terms = terms_of(TOLERANCES, 20, OF_SEEDS, METRICS, defaults=frozenset({"accuracy"}))
    found = judge(pairs.__next__, terms, levels())
    return found.decisions["accuracy"], len(found.screened)


def test_on_the_same_path_the_spread_of_seeds_is_irrelevant():
    decision, pairs = accuracy_of(on_paths())
    assert (decision.outcome, pairs) == (VerdictOutcome.EQUIVALENT, FIRST_LOOK)
    assert decision.upper < TOLERANCES["accuracy"]


def test_equal_accuracies_on_other_paths_may_be_chance():
    decision, _ = accuracy_of(on_paths(*[0.0] * 20))
    assert decision.reason is Reason.TOO_VARIABLE


def test_without_losses_nothing_shows_that_runs_are_on_the_same_path():
    def silent(run):
        return replace(run, training=replace(run.training, losses=()))

    pairs = (Pair(old=silent(pair.old), new=silent(pair.new)) for pair in on_paths())
    assert accuracy_of(pairs)[0].reason is Reason.TOO_VARIABLE


@pytest.mark.parametrize("place", range(FIRST_LOOK))
def test_one_pair_on_another_path_brings_the_spread_of_seeds_back(place):
    decision, _ = accuracy_of(on_paths(*[None] * place, 0.0))
    assert decision.reason is Reason.TOO_VARIABLE


def test_what_is_not_learned_keeps_the_spread_of_its_runs_on_the_same_path():
    reference = [records.run(seed, peak_mib=500 if seed % 2 else 600) for seed in range(1, 11)]
    terms = terms_of({"step_time": 0.05, "peak_rss": 0.02}, 20, reference, METRICS, defaults=frozenset({"peak_rss"}))
    found = judge(on_paths().__next__, terms, levels())
    assert found.decisions["peak_rss"].reason is Reason.TOO_VARIABLE


def memory(defaults):
    terms = terms_of({"step_time": 0.05, "peak_rss": 0.02}, 20, (), METRICS, defaults=defaults)
    return terms, judge(varying(*VARYING).__next__, terms, levels())


def test_a_default_tolerance_that_the_metrics_own_spread_cannot_resolve_fails_nothing():
    terms, found = memory(frozenset({"step_time", "peak_rss"}))
    assert judging.of_verdicts(found.verdicts) is CaseOutcome.PASSED
    assert found.decisions["peak_rss"].reason is Reason.TOO_VARIABLE
    assert len(found.screened) == 6
    (caution,) = reasons.cautions_of_pairs(found, terms)
    (one,) = caution.metrics
    assert (one.metric, one.asked, caution.basis) == ("peak_rss", 0.02, "pairs")
    assert 0.05 < one.smallest < 0.15


def test_a_tolerance_that_somebody_asked_for_fails_if_it_cannot_be_resolved():
    _, found = memory(frozenset({"step_time"}))
    assert judging.of_verdicts(found.verdicts) is CaseOutcome.INCONCLUSIVE
    assert len(found.screened) == 20


@pytest.mark.parametrize(("peak", "names"), [(382, []), (440, ["peak_rss"])])
def test_what_pairs_were_not_expected_to_resolve_is_no_caution_if_they_did(peak, names):
    reference = [records.run(seed, peak_mib=390 if seed % 3 else 370) for seed in range(1, 11)]
    terms = terms_of({"peak_rss": 0.02}, 20, reference, METRICS, defaults=frozenset({"peak_rss"}))
    pairs = (Pair(old=records.run(seed, peak_mib=380), new=records.run(seed, peak_mib=peak)) for seed in count(1))
    found = judge(pairs.__next__, terms, levels())
    assert narrow(terms).keys() == {"peak_rss"}
    assert [one.metric for caution in reasons.cautions_of_pairs(found, terms) for one in caution.metrics] == names


def of_memory(old, new, tolerance=METRICS["peak_rss"].tolerance):
    """The verdict on peaks in MiB, those of each side in turn, and after how many pairs."""
    pairs = (
        Pair(old=records.run(seed, peak_mib=old[seed % 2]), new=records.run(seed, peak_mib=new[seed % 2]))
        for seed in count(1)
    )
    terms = terms_of({"peak_rss": tolerance}, 20, (), METRICS, defaults=frozenset({"peak_rss"}))
    found = judge(pairs.__next__, terms, levels(0.005))
    (verdict,) = found.verdicts
    return verdict.outcome, verdict.tolerance, len(found.screened)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # A few MiB of a small process are chance.
        ((376, 378), (382, 379), (VerdictOutcome.EQUIVALENT, 0.042, 4)),
        # The same share of a large process must be within 2 %, which takes more pairs.
        ((3760, 3780), (3820, 3790), (VerdictOutcome.EQUIVALENT, 0.02, 11)),
        # A process of another kind is not a regression.
        ((376, 376), (392, 392), (VerdictOutcome.INCONCLUSIVE, 0.043, 20)),
        ((376, 378), (404, 406), (VerdictOutcome.REGRESSED, 0.042, 4)),
    ],
)
def test_memory_of_a_small_process_may_differ_by_what_the_heap_grows_by_at_once(old, new, expected):
    assert of_memory(old, new) == expected


def test_a_tolerance_of_ones_own_is_kept_however_small_the_process_is():
    assert of_memory((376, 378), (382, 379), 0.019) == (VerdictOutcome.EQUIVALENT, 0.019, 13)


def test_a_case_of_which_no_metric_decides_is_inconclusive():
    terms = terms_of({"peak_rss": 0.02}, 20, (), METRICS, defaults=frozenset({"peak_rss"}))
    found = judge(varying(*VARYING).__next__, terms, levels())
    assert judging.of_verdicts(found.verdicts) is CaseOutcome.INCONCLUSIVE


# What would decide it


def test_an_undecided_metric_has_the_pairs_and_the_time_that_would_decide_it():
    found = judge(
        noise(1.0, 1.105, 0.915, 1.0, 1.08, 0.92).__next__, terms_of({"step_time": 0.05}, 10, (), METRICS), levels()
    )
    (one,) = undecided(found, terms_of({"step_time": 0.05}, 10, (), METRICS))
    assert one.metric == "step_time"
    assert 10 < one.pairs <= 20
    # A double's run takes four seconds.
    assert one.seconds == one.pairs * 8
    terms = terms_of({"step_time": one.resolved + 0.001}, 10, (), METRICS)
    again = judge(noise(1.0, 1.105, 0.915, 1.0, 1.08, 0.92).__next__, terms, levels())
    assert outcomes(again)["step_time"] is VerdictOutcome.EQUIVALENT


def test_no_number_of_pairs_decides_a_change_at_the_tolerance():
    found = judge(noise(1.045, 1.055).__next__, TERMS, levels())
    (one,) = undecided(found, TERMS)
    assert (one.pairs, one.seconds) == (None, None)
    assert one.resolved > 0.05


def only(found, terms=TERMS):
    (one,) = undecided(found, terms)
    return one


def test_what_was_not_confirmed_needs_fresh_pairs_and_the_time_of_the_first_ones_again():
    found = judged(1.2, 0.005, has_time=lambda: False)
    one = only(found)
    assert one.is_confirmation
    assert one.seconds == (len(found.screened) + one.pairs) * 8
    settled = judged(1.2, FIRST_LEVEL)
    assert (one.pairs, settled.decisions["step_time"].outcome) == (len(settled.confirmed), VerdictOutcome.REGRESSED)


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_a_confirmation_that_was_cut_short_has_the_pairs_that_would_end_it(taken):
    clock = iter([True] * taken)
    found = judged(1.12, 0.0005, has_time=lambda: next(clock, False))
    assert len(found.confirmed) == taken
    one, whole = only(found), judged(1.12, 0.0005)
    assert one.is_confirmation
    assert one.pairs - 2 <= len(whole.confirmed) <= one.pairs + 2
    assert one.seconds == (len(found.screened) + one.pairs) * 8


def test_pairs_that_are_held_back_have_the_tolerance_that_the_most_would_resolve():
    clock = iter([True] * 2 + [False])
    found = judge(noise(1.3, 0.75, 1.0, 1.2, 0.9).__next__, TERMS, levels(), lambda: next(clock, False))
    assert found.decisions["step_time"].was_held_back
    one = only(found)
    assert (one.pairs, one.resolved) == (None, None)
    assert one.resolvable > 0.05


def test_pairs_that_contradict_earlier_ones_say_so():
    found = judge(noise(*[1.03] * 4, *[0.95] * 16).__next__, TERMS, levels())
    assert found.decisions["step_time"].upper < 0 < found.decisions["step_time"].lower
    assert only(found) == UndecidedPairs(
        metric="step_time", pairs=None, seconds=None, resolved=None, is_contradictory=True
    )


def test_alternating_pairs_need_as_many_as_clear_them_at_half_of_the_level():
    found = judge(alternating(1.02).__next__, ALTERNATING, levels(), lambda: False)
    one = only(found, ALTERNATING)
    whole = judge(alternating(1.02).__next__, ALTERNATING, levels())
    assert outcomes(whole)["step_time"] is VerdictOutcome.EQUIVALENT
    assert len(whole.screened) - 1 <= one.pairs <= len(whole.screened) + 1
    assert one.pairs >= PAIRS_TO_CLEAR


def test_alternating_pairs_whose_earlier_runs_are_alike_need_no_five_to_clear_them():
    reference = [records.run(seed, step=0.01 * (1.02 if seed % 2 else 1.0)) for seed in range(10)]
    terms = terms_of({"step_time": 0.05}, 20, reference, METRICS, steps=StepSpread())
    found = judge(alternating(1.021).__next__, terms, levels(), lambda: False)
    one, whole = only(found, terms), judge(alternating(1.021).__next__, terms, levels())
    assert FIRST_LOOK < one.pairs < PAIRS_TO_CLEAR
    assert len(whole.screened) == one.pairs


def test_a_decided_case_has_nothing_undecided():
    assert undecided(judged(1.2, 0.005), TERMS) == undecided(judged(1.0), TERMS) == ()


def test_without_time_no_budget_is_spent():
    found = judged(1.2, 0.005, 0.0016, has_time=lambda: False)
    assert found.alpha == 0
    assert outcomes(found)["step_time"] is VerdictOutcome.INCONCLUSIVE
    assert found.decisions["step_time"].reason is Reason.UNCONFIRMED


def test_without_time_the_pairs_of_the_first_analysis_still_run_and_may_decide():
    found = judged(1.0, has_time=lambda: False)
    assert len(found.screened) == FIRST_LOOK
    assert set(outcomes(found).values()) == {VerdictOutcome.EQUIVALENT}


def test_without_time_undecided_metrics_are_inconclusive():
    found = judged(1.045, has_time=lambda: False)
    assert (len(found.screened), outcomes(found)["step_time"]) == (FIRST_LOOK, VerdictOutcome.INCONCLUSIVE)
    assert found.decisions["step_time"].reason is Reason.BUDGET_SPENT
    assert found.decisions["accuracy"].reason is Reason.DECIDED


def test_a_confirmation_that_runs_out_of_time_says_so():
    clock = iter([True, True, False])
    found = judged(1.2, 0.005, 0.0016, has_time=lambda: next(clock))
    assert len(found.confirmed) == 2
    assert found.decisions["step_time"].reason is Reason.BUDGET_SPENT
    assert outcomes(found)["step_time"] is VerdictOutcome.INCONCLUSIVE


def test_a_smaller_level_needs_at_least_as_many_pairs():
    found = [judged(1.12, level, level).decisions["step_time"].pairs for level in (0.005, 0.0005, 0.00005)]
    assert found == sorted(found)


# What is judged, and with which power


def test_without_a_reference_the_spread_is_assumed():
    assert (TERMS.spreads["step_time"], TERMS.reference_runs) == (pytest.approx(0.015 * 2**0.5), 0)


def test_ten_consecutive_runs_measure_the_spread():
    reference = [records.run(seed, step=0.01 * (1.01 if seed % 2 else 1.0)) for seed in range(1, 11)]
    terms = terms_of(TOLERANCES, 20, reference, METRICS)
    assert (terms.spreads["step_time"], terms.reference_runs) == (pytest.approx(1.4826 * log(1.01)), 10)


def noisy(tolerances, step=1.1):
    reference = [records.run(seed, step=0.01 * (step if seed % 2 else 1.0)) for seed in range(1, 11)]
    return narrow(terms_of(tolerances, 20, reference, METRICS))


def test_a_tolerance_that_is_too_tight_is_reported_with_the_smallest_possible():
    found = noisy({"step_time": 0.05, "accuracy": 1.0})
    assert found == {"step_time": pytest.approx(expm1(smallest_tolerance(1.4826 * log(1.1))))}


def test_a_tolerance_that_pairs_can_resolve_is_not_too_tight():
    assert noisy({"step_time": 0.05}, step=1.01) == {}


def test_on_an_unmeasured_machine_only_unreachable_tolerances_are_too_tight():
    assert narrow(TERMS) == {}
    assert set(narrow(terms_of({"step_time": 0.001, "peak_rss": 0.02}, 20, (), METRICS))) == {"step_time"}


def test_without_a_reference_the_calibration_decides_what_is_too_tight():
    terms = terms_of(TOLERANCES, 20, (), METRICS, {"step_time": 0.1, "peak_rss": 0.5})
    assert narrow(terms) == {"step_time": pytest.approx(expm1(smallest_tolerance(0.1)))}
    reference = [records.run(seed, step=0.01 * (1.01 if seed % 2 else 1.0)) for seed in range(1, 11)]
    assert narrow(terms_of(TOLERANCES, 20, reference, METRICS, {"step_time": 0.1})) == {}


def test_a_calibration_widens_the_assumed_spread_but_never_narrows_it():
    terms = terms_of(TOLERANCES, 20, (), METRICS, {"step_time": 0.1, "step_time_median": 0.001})
    assert terms.spreads["step_time"] == 0.1
    assert terms.spreads["step_time_median"] == TERMS.spreads["step_time_median"]


def test_a_metric_that_neither_side_has_is_not_judged():
    terms = terms_of({**TOLERANCES, "perplexity": 0.05, "leak": 2.0}, 20, (), METRICS)
    assert outcomes(judged(1.0, terms=terms)).keys() == {*TOLERANCES, "step_time_median"}


def test_a_metric_that_one_side_lacks_is_inconclusive():
    def lost():
        return Pair(old=records.run(evaluation=TOKENS), new=records.run())

    terms = terms_of({"step_time": 0.05, "perplexity": 0.05}, 20, (), METRICS)
    found = judge(lost, terms, levels())
    assert outcomes(found)["perplexity"] is VerdictOutcome.INCONCLUSIVE


def test_runs_that_missed_the_target_count_in_the_time_to_accuracy():
    def run(seed, *, seconds, accuracy):
        point = CurvePoint(step=10, epoch=1.0, seconds=seconds, accuracy=accuracy, loss=0.1)
        return records.run(seed, curve=(point,), target_accuracy=0.9)

    def side(*times):
        return [run(seed, seconds=seconds, accuracy=accuracy) for seed, (seconds, accuracy) in enumerate(times, 1)]

    baseline, candidate = side((10, 0.95), (12, 0.95)), side((11, 0.95), (20, 0.5))
    runs = {"baseline": baseline, "candidate": candidate}
    found = reasons.paired(judged(1.0), TERMS, runs, ({}, {}), records.again()).time_to_target
    assert (found.target, found.baseline, found.candidate, found.horizon) == (0.9, 11.0, 15.5, 20.0)
    assert found.lower < found.longer == 4.5 < found.upper
    assert (found.missed, found.runs) == ((0, 1), (2, 2))


def test_a_gain_of_more_than_three_times_is_suspect():
    times = {"step_time", "step_time_median"}
    assert {outcomes(judged(0.2, 0.005))[name] for name in times} == {VerdictOutcome.SUSPECT}
    assert {outcomes(judged(0.4, 0.005))[name] for name in times} == {VerdictOutcome.IMPROVED}
