"""The promises of docs/explanation/error-rates.md in seconds, by the rules that ship.

``tox -e characteristics`` does it in minutes, with more cases, and writes the figures.
"""

from dataclasses import replace
from itertools import count
from math import exp

import numpy as np
import pytest

from pytest_dlbench.judging import outcomes
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.pairs import Pair, reference_spread, rules
from pytest_dlbench.judging.power import smallest_tolerance
from pytest_dlbench.judging.sequential import OUTCOMES
from pytest_dlbench.judging.terms import Terms
from pytest_dlbench.judging.two_stage import judge
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.running.pairs import Pairs
from pytest_dlbench.workflows.false_alarms import FalseAlarmBudget
from tests import figures
from tests.characteristics import bisections, bumps, measure
from tests.characteristics.bisections import Bisection
from tests.characteristics.bumps import BATCH_SIZES, MODELS, Bump, is_planted, summary
from tests.characteristics.lines import lines
from tests.characteristics.measure import recorded_series, seconds_per_pair, with_memory
from tests.characteristics.promises import (
    MEMORY_SDS,
    MOST_FALSE_OF_SESSIONS,
    MOST_PAIRS,
    MOST_PAIRS_OF_MEMORY,
    PROMISES,
    within,
)
from tests.characteristics.regimes import (
    BIMODAL,
    CONTENDED,
    TYPICAL,
    Alternating,
    Regime,
    orders,
    pairs,
    references,
    runs,
    spreads_of,
    steps,
)
from tests.characteristics.series import Series
from tests.characteristics.simulation import DEFAULTS, TIME, Budget, Drawn, cleared, settle, simulate, stored
from tests.doubles import records

CASES = 4000


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.text)
def test_the_rule_for_pairs_keeps_its_promises(promise):
    assert promise.is_kept(CASES, seed=1)


@pytest.mark.parametrize(("regime", "most"), MOST_PAIRS.items(), ids=[regime.name for regime in MOST_PAIRS])
def test_ten_percent_take_few_pairs(regime, most):
    assert simulate(regime, 0.1, cases=CASES, seed=2).pairs.mean() <= most


@pytest.mark.parametrize("sd", MEMORY_SDS)
def test_unchanged_cases_take_few_pairs_however_much_their_memory_varies(sd):
    assert with_memory(sd, CASES).pairs.mean() <= MOST_PAIRS_OF_MEMORY


def test_a_rule_that_is_looser_than_promised_is_seen():
    # Guards the guard: with a reference that knows one kind of processes only, pairs of both kinds miss changes.
    promise = next(one for one in PROMISES if one.regime is BIMODAL and one.change == 0.1)
    assert not replace(promise, regime=replace(BIMODAL, reference=0.05)).is_kept(CASES, seed=4)


@pytest.mark.parametrize("most", [5, 10, 20])
def test_nine_in_ten_unchanged_cases_are_cleared_at_the_tolerance_that_a_refusal_suggests(most):
    share = cleared(0.03, smallest_tolerance(0.03, max_pairs=most), cases=CASES, seed=5, max_pairs=most)
    assert within(share, 0.9, 1.0, CASES)


@pytest.mark.parametrize("session_sd", [0.01, 0.04, 0.06])
def test_of_a_hundred_unchanged_cases_a_baseline_rarely_calls_any_regressed(session_sd):
    found = stored(0.0, session_sd=session_sd, sessions=8, cases=100, histories=CASES, seed=6)
    assert within(found.get("regressed", 0.0), 0.0, MOST_FALSE_OF_SESSIONS / 100, CASES)


def test_a_baseline_that_tells_no_cases_apart_would_call_some_regressed():
    # What is simulated shows the false alarms that the number of cases prevents.
    alone = stored(0.0, session_sd=0.05, sessions=8, cases=1, histories=CASES, seed=6)
    assert alone["regressed"] > 0.005


# The simulation is of what ships


def test_simulated_cases_end_as_the_gate_ends_them():
    metrics = {name: _hooked(METRICS[name]) for name in (*DEFAULTS,)}
    tolerances = {name: METRICS[name].tolerance for name in metrics}
    random = np.random.default_rng(3)
    shape = (60, 40)
    scale = np.exp(random.uniform(-3, 1, (60, 1)))
    drawn = {
        "step_time": Drawn(
            pairs=random.uniform(-0.1, 0.15, (60, 1)) + scale * random.normal(0, 0.03, shape),
            widest=np.full(60, 0.02),
            earlier=10,
        ),
        "peak_rss": Drawn(pairs=random.uniform(-0.03, 0.03, (60, 1)) + scale * random.normal(0, 0.02, shape)),
        "accuracy": Drawn(pairs=random.uniform(-2, 2, (60, 1)) + scale * random.normal(0, 1, shape)),
        "leak": Drawn(pairs=np.abs(random.uniform(-1, 3, (60, 1)) + scale * random.normal(0, 1, shape))),
    }
    spreads = {name: np.full(60, {"accuracy": 0.4, "leak": 0.5}.get(name, 0.02)) for name in metrics}
    judged = rules(tolerances, metrics, max_pairs=20, defaults=DEFAULTS)
    judged = {name: judged[name] for name in drawn}
    budget = FalseAlarmBudget(share=0.01)
    expected = settle(drawn, spreads, judged, Budget(confirming=budget.levels("a")() * 2, at_once=budget.at_once("a")))
    found = [_judged(row, drawn, spreads, metrics, tolerances) for row in range(60)]
    assert [outcome for outcome, _ in found] == [_named(code) for code in expected.outcome]
    assert [used for _, used in found] == expected.pairs.tolist()
    assert len({outcome for outcome, _ in found}) == 4
    # Some are decided at once, and some confirmed.
    assert {4, 11} <= {used for outcome, used in found if outcome is CaseOutcome.REGRESSED}


def _hooked(metric):
    """The metric, read from what a double's run says: a ratio of its first one, so that no change of it is small."""
    return replace(metric, value=lambda run: run.hooked[metric.name], purpose=None, least_change=0.0)


def _judged(row, drawn, spreads, metrics: dict[str, Metric], tolerances):
    names = list(drawn)
    terms = Terms(
        tolerances={name: tolerances[name] for name in names},
        metrics=metrics,
        max_pairs=20,
        spreads={name: float(spreads[name][row]) for name in names},
        defaults=DEFAULTS,
        reference_runs=drawn[TIME].earlier,
        at_once=FalseAlarmBudget(share=0.01).at_once("a"),
        widest={TIME: float(drawn[TIME].widest[row])},
    )
    places = count()

    def next_pair():
        place = next(places)
        values = {name: float(drawn[name].pairs[row, place]) for name in names}
        return Pair(old=_run(dict.fromkeys(names, 0.0)), new=_run(values))

    found = judge(next_pair, terms, FalseAlarmBudget(share=0.01).levels("a"))
    return outcomes.of_verdicts(found.verdicts), len(found.screened) + len(found.confirmed)


def _run(values):
    """A run whose figures are worse than those of another by these differences."""
    shown = {
        name: exp(value) if METRICS[name].kind == "ratio" else (-value if name == "accuracy" else value) / 100
        for name, value in values.items()
    }
    return records.run(hooked=shown)


def _named(code):
    outcome = OUTCOMES[code]
    return CaseOutcome.PASSED if outcome.value == "equivalent" else CaseOutcome(outcome.value)


def test_spreads_of_simulations_are_those_of_the_rule():
    baselines = runs(np.random.default_rng(5), TYPICAL, 20, 10)
    expected = [reference_spread(METRICS[TIME], list(np.exp(row))) for row in baselines]
    assert spreads_of(baselines) == pytest.approx(expected)


def test_orders_of_simulations_are_those_of_pairs():
    order = orders(np.random.default_rng(6), 200, 9)
    assert (order[:, 0:8:2] == -order[:, 1:8:2]).all()
    drawn = [Pairs.candidate_is_first(seed, place, began=0) for seed in range(200) for place in range(2)]
    assert drawn[::2] == [not first for first in drawn[1::2]]
    assert 60 < sum(drawn[::2]) < 140


# The noise is what it says


def test_runs_are_slowed_as_often_as_the_regime_says():
    calm = runs(np.random.default_rng(6), CONTENDED, 4000, 40)
    # 15 % of runs are slowed by ln(1.1) to ln(1.5), 0.26 on average.
    assert calm.mean() == pytest.approx(0.15 * 0.259, abs=0.003)


def test_pairs_differ_by_the_penalty_of_the_second_run():
    differences = pairs(np.random.default_rng(7), TYPICAL, 4000, 10)
    assert np.median(differences) == pytest.approx(0.003, abs=0.0005)


def test_the_order_of_pairs_takes_out_the_penalty_of_the_second_run():
    random = np.random.default_rng(8)
    differences = orders(random, 4000, 10) * pairs(random, TYPICAL, 4000, 10)
    assert differences.mean() == pytest.approx(0.0, abs=0.001)


# Recorded series


def _series(first, count):
    """Pairs whose differences are consecutive numbers."""
    wall = range(first, first + count)
    seconds = tuple(map(float, range(2 * count)))
    return Series(framework="a", seconds=seconds, wall=tuple(wall), cpu=tuple(number + 100 for number in wall))


SERIES = (_series(0, 40), _series(200, 30))


def test_recorded_pairs_are_drawn_from_one_series_in_parts_of_which_either_side_may_be_the_candidate():
    wall, cpu = steps(np.random.default_rng(1), Alternating(name="recorded", recorded=SERIES), 200, 12)
    assert wall.shape == cpu.shape == (200, 12)
    assert np.array_equal(np.sign(wall[wall != 0]), np.sign(cpu[wall != 0]))
    drawn = np.abs(wall)
    is_of_one = drawn < 40
    assert np.array_equal(is_of_one.all(axis=1), is_of_one.any(axis=1))
    assert 60 < is_of_one.all(axis=1).sum() < 140
    # A circle: the first pair of a series comes after its last one.
    assert set(np.unique(np.diff(drawn[:, :5]))) == {1.0, -39.0, -29.0}
    assert (np.abs(cpu) - drawn == 100).all()


def test_recorded_runs_are_drawn_as_pairs_and_as_earlier_runs_in_a_row():
    regime = Regime(name="recorded", recorded=SERIES)
    assert (pairs(np.random.default_rng(1), regime, 20, 40) == 1.0).all()
    spread, widest = references(np.random.default_rng(1), regime, 20)
    assert (widest == regime.earlier - 1).all()
    assert np.allclose(spread, spread[0])


# Real version bumps


def _bump(outcomes, planted=0.0):
    return Bump(
        planted=planted,
        neighbours=0,
        tolerance=0.05,
        scale="smoke",
        earlier=0,
        cases=8,
        began="2026-11-25T02:00:00+00:00",
        outcomes=outcomes,
        pairs=dict.fromkeys(outcomes, 4),
        open={},
        minutes=2.0,
        load=1.0,
        machine="2 cores of a processor",
        version="2.13.0",
    )


def _cases(outcome="passed"):
    return {
        f"training-pytorch-{model}-digits28-cpu-smoke-batch_size{size}-threads1": outcome
        for model in MODELS
        for size in BATCH_SIZES["smoke"]
    }


def test_a_bump_is_right_if_all_cases_pass_or_only_the_planted_one_regressed():
    planted = next(name for name in _cases() if is_planted(name, 32))
    found = _bump({**_cases(), planted: "regressed"}, planted=0.05)
    assert (found.found, found.false_alarms) == (True, 0)
    other = _bump({**_cases("regressed"), planted: "passed"}, planted=0.05)
    assert (other.found, other.false_alarms) == (False, 7)
    assert [_bump(_cases(outcome)).passes for outcome in ("passed", "inconclusive")] == [True, False]
    table = list(summary([_bump(_cases()), _bump(_cases("inconclusive")), found]))
    assert table[0].startswith(
        "Small cases of PyTorch 2.13.0 against itself, on 2 cores of a processor, from 2026-11-25"
    )
    assert "| unchanged | 0 | 5.0 % | smoke | 0 | 8 | 2 | 1 of 2 | 0 |" in table[-2]
    assert "| +5 % at batch 32 | 0 | 5.0 % | smoke | 0 | 8 | 1 | 1 of 1 | 0 |" in table[-1]


def test_the_table_of_bumps_on_the_page_is_of_what_was_kept():
    assert figures.written(bumps.PAGE, bumps.COMMAND) == list(summary(lines(bumps.FILE, Bump)))


def test_minutes_are_those_of_pairs_in_quiet_unchanged_bumps_at_scale_quick():
    quick = replace(_bump(_cases()), scale="quick")
    others = (_bump(_cases()), replace(quick, planted=0.05, minutes=9.0), replace(quick, neighbours=2, minutes=9.0))
    assert seconds_per_pair([quick, *others]) == pytest.approx(120 / (8 * 4))


def test_the_table_of_recorded_series_on_the_page_is_of_what_was_kept():
    page = figures.written(measure.PAGE, measure.COMMAND)
    assert "\n".join(recorded_series()) in "\n".join(page)


# Real bisections


def _bisection(*found, minutes=2.0):
    return Bisection(
        planted=0.05,
        tolerance=0.025,
        neighbours=0,
        releases=10,
        first="4.0",
        found=list(found),
        answers=dict.fromkeys(("10.0", "5.0", "3.0", "4.0"), "bad"),
        pairs=30,
        began="2026-11-27T11:00:00+00:00",
        minutes=minutes,
        load=1.0,
        machine="2 cores of a processor",
        version="2.13.0",
    )


def test_a_bisection_is_right_if_it_names_the_release_and_no_other_one():
    tries = [_bisection("4.0"), _bisection("3.0", minutes=9.0), _bisection("3.0", "4.0"), _bisection()]
    assert [(one.is_right, one.is_wrong) for one in tries] == [
        (True, False),
        (False, True),
        (False, False),
        (False, False),
    ]
    *_, line = bisections.summary(tries)
    assert line == "| +5 % | 0 | 2.5 % | 4 | 1 of 4 | 2 | 1 | 4.0 | 30 | 2.0 | 9.0 | 1.0 |"


def test_the_table_of_bisections_on_the_page_is_of_what_was_kept():
    kept = list(bisections.summary(lines(bisections.FILE, Bisection)))
    assert figures.written(bisections.PAGE, bisections.COMMAND) == kept
