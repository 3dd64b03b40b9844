"""The rules that decide claims: each holds, does not hold, and stays open."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.claim_cases import Named, Observed
from pytest_dlbench.judging.claim_rules import Alike, Effect, Order, Reaches, Scope, Steeper
from pytest_dlbench.judging.claims import Obstacle, decide
from pytest_dlbench.records.outcomes import ClaimOutcome
from tests.doubles import records
from tests.doubles.judged import judged
from tests.doubles.records import machine

A, B, C = (Named(published=name.upper(), ours=(name,)) for name in ("pytorch", "jax", "mxnet"))
LUA = Named(published="Torch", ours=())
MODEL = "gatech-lenet"
HOLDS, NOT, OPEN = ClaimOutcome.HOLDS, ClaimOutcome.DOES_NOT_HOLD, ClaimOutcome.UNDECIDED


def observed(framework="pytorch", *, session="today", recipe=None, **changes):
    found = judged(framework, changes.pop("model", MODEL), session=session, **{"scale": "full", **changes})
    return Observed(
        session=session, case=found.result.case, context=found.context, recipe=recipe or {}, runs=found.runs
    )


def scope(metric="step_time", **changes):
    return Scope(metric=metric, models=(MODEL,), **changes)


def faster(**changes):
    return Order(scope=scope(), first=A, others=(B,), **changes)


def outcomes(rule, *cases):
    found = decide([rule], cases)
    return found.outcome, found.obstacle


@pytest.mark.parametrize(
    ("step", "spread", "expected"),
    [(0.03, 0.0, (HOLDS, None)), (0.003, 0.0, (NOT, None)), (0.0085, 0.3, (OPEN, Obstacle.TOO_WIDE))],
)
def test_an_order_of_frameworks_is_decided_by_the_interval_of_the_ratio(step, spread, expected):
    assert outcomes(faster(), observed(), observed("jax", step=step, spread=spread)) == expected


def test_an_order_by_a_factor_needs_the_whole_interval_beyond_it():
    cases = observed(), observed("jax", step=0.03)
    assert outcomes(faster(at_least=2), *cases) == (HOLDS, None)
    assert outcomes(faster(at_least=5), *cases) == (NOT, None)
    assert outcomes(faster(at_least=3), *cases) == (OPEN, Obstacle.TOO_WIDE)


def test_an_order_where_more_is_better_is_the_other_way_round():
    rule = Order(scope=scope("throughput"), first=A, others=(B,), at_least=2)
    assert outcomes(rule, observed(), observed("jax", step=0.03)) == (HOLDS, None)
    assert outcomes(rule, observed(step=0.03), observed("jax")) == (NOT, None)


def test_accuracies_are_compared_in_points():
    rule = Order(scope=scope("accuracy"), first=A, others=(B,), at_least=5)
    assert outcomes(rule, observed(accuracy=0.95), observed("jax", accuracy=0.85)) == (HOLDS, None)
    assert outcomes(rule, observed(accuracy=0.95), observed("jax", accuracy=0.94)) == (NOT, None)


def test_an_order_does_not_hold_before_all_others_were_compared():
    rule = Order(scope=scope(), first=A, others=(B, C))
    found = decide([rule], [observed(), observed("jax", step=0.03)])
    assert (found.outcome, found.obstacle, found.missing) == (OPEN, Obstacle.NOT_RUN, (f"MXNET on {MODEL}",))


def test_one_contradiction_is_enough_to_refute():
    rule = Order(scope=scope(), first=A, others=(B, C))
    assert decide([rule], [observed(), observed("jax", step=0.003)]).outcome is NOT


def test_a_framework_without_equivalent_is_skipped_unless_the_claim_is_about_it():
    cases = observed(), observed("jax", step=0.03)
    assert outcomes(Order(scope=scope(), first=A, others=(B, LUA)), *cases) == (HOLDS, None)
    assert outcomes(Order(scope=scope(), first=LUA, others=(A, B)), *cases) == (OPEN, Obstacle.NO_EQUIVALENT)
    assert outcomes(Order(scope=scope(), first=A, others=(LUA,)), *cases) == (OPEN, Obstacle.NO_EQUIVALENT)


def test_the_preferred_one_of_our_frameworks_is_compared():
    either = Named(published="TensorFlow", ours=("jax", "mxnet"))
    rule = Order(scope=scope(), first=A, others=(either,))
    assert outcomes(rule, observed(), observed("jax", step=0.03), observed("mxnet", step=0.003)) == (HOLDS, None)


def test_cases_of_two_sessions_or_of_other_conditions_are_not_compared():
    first = observed()
    for other in (
        observed("jax", step=0.03, session="yesterday"),
        observed("jax", step=0.03, threads=4),
        observed("jax", step=0.03, context={"precision": "bfloat16"}),
        observed("jax", step=0.03, context={"network_digest": "another"}),
    ):
        assert outcomes(faster(), first, other) == (OPEN, Obstacle.NOTHING_TO_COMPARE)


@pytest.mark.parametrize(
    ("step", "spread", "expected"),
    [(0.0101, 0.0, (HOLDS, None)), (0.03, 0.0, (NOT, None)), (0.0095, 0.1, (OPEN, Obstacle.TOO_WIDE))],
)
def test_frameworks_are_alike_within_a_limit(step, spread, expected):
    rule = Alike(scope=scope(), frameworks=(A, B), within=0.15)
    assert outcomes(rule, observed(), observed("jax", step=step, spread=spread)) == expected


def of_batch(size, step, **changes):
    return observed(step=step, settings={"batch_size": size}, context={"batch_size": size}, **changes)


@pytest.mark.parametrize(
    ("step", "spread", "expected"),
    [(0.005, 0.0, (HOLDS, None)), (0.02, 0.0, (NOT, None)), (0.01, 0.2, (OPEN, Obstacle.TOO_WIDE))],
)
def test_an_effect_compares_the_largest_value_of_an_axis_with_the_smallest(step, spread, expected):
    rule = Effect(scope=scope(), axis="batch_size", direction="lower", amount=1, frameworks=(A,))
    assert outcomes(rule, of_batch(32, 0.01), of_batch(64, 0.1), of_batch(128, step, spread=spread)) == expected


def test_an_effect_is_limited_to_the_values_that_the_claim_is_about():
    rule = Effect(scope=scope(), axis="batch_size", direction="lower", amount=1, frameworks=(A,), between=(32, 128))
    assert outcomes(rule, of_batch(32, 0.01), of_batch(128, 0.005), of_batch(4096, 0.1)) == (HOLDS, None)
    assert outcomes(rule, of_batch(32, 0.01), of_batch(4096, 0.005)) == (OPEN, Obstacle.NOTHING_TO_COMPARE)
    # A part of the way shows nothing about all of it.
    assert outcomes(rule, of_batch(32, 0.01), of_batch(64, 0.02)) == (OPEN, Obstacle.NOTHING_TO_COMPARE)


def of_rate(rate, step=0.01, spread=0.0):
    settings = {} if rate is None else {"learning_rate": rate}
    return observed(step=step, spread=spread, settings=settings, recipe={"optimizer": {"learning_rate": 0.1}})


def test_a_learning_rate_that_was_not_set_is_the_recipes():
    rule = Effect(scope=scope(), axis="learning_rate", direction="same", amount=0.1)
    assert outcomes(rule, of_rate(None), of_rate(0.01)) == (HOLDS, None)
    assert outcomes(rule, of_rate(None), of_rate(0.01, step=0.03)) == (NOT, None)
    assert outcomes(rule, of_rate(None), of_rate(0.1)) == (OPEN, Obstacle.NOTHING_TO_COMPARE)


def of_threads(framework, threads, step, spread=0.0):
    return observed(framework, threads=threads, step=step, spread=spread)


@pytest.mark.parametrize(
    ("step", "spread", "expected"),
    [(0.009, 0.0, (HOLDS, None)), (0.001, 0.0, (NOT, None)), (0.004, 0.2, (OPEN, Obstacle.TOO_WIDE))],
)
def test_a_steeper_gain_is_the_ratio_of_two_gains(step, spread, expected):
    rule = Steeper(scope=scope(), axis="threads", first=A, others=(B,))
    ours = of_threads("pytorch", 1, 0.01), of_threads("pytorch", 4, 0.004)
    theirs = of_threads("jax", 1, 0.01), of_threads("jax", 4, step, spread)
    assert outcomes(rule, *ours, *theirs) == expected


def test_gains_over_different_numbers_of_threads_are_not_compared():
    rule = Steeper(scope=scope(), axis="threads", first=A, others=(B,))
    ours = of_threads("pytorch", 1, 0.01), of_threads("pytorch", 4, 0.003)
    theirs = of_threads("jax", 1, 0.01), of_threads("jax", 2, 0.009)
    assert outcomes(rule, *ours, *theirs) == (OPEN, Obstacle.NOTHING_TO_COMPARE)


@pytest.mark.parametrize(
    ("accuracy", "expected"), [(0.99, (HOLDS, None)), (0.8, (NOT, None)), (0.9501, (OPEN, Obstacle.TOO_WIDE))]
)
def test_a_level_is_reached_if_the_mean_over_runs_is_above_it(accuracy, expected):
    rule = Reaches(scope=scope("accuracy"), frameworks=(A,), lower=95)
    assert outcomes(rule, observed(accuracy=accuracy)) == expected


def test_a_claim_about_gpus_is_decided_by_records_of_gpus_alone():
    rule = Order(scope=scope(devices=("gpu",)), first=A, others=(B,))
    of_others = observed(model="hkbu-fcn-r", device="gpu")
    assert outcomes(rule, observed(), observed("jax", step=0.03), of_others) == (OPEN, Obstacle.NO_GPU)
    on_gpu = observed(device="gpu"), observed("jax", step=0.03, device="gpu")
    assert outcomes(rule, *on_gpu) == (HOLDS, None)
    assert outcomes(faster(), *on_gpu) == (OPEN, Obstacle.NOT_RUN)


def test_a_gpu_is_compared_with_the_processor_of_the_same_session():
    rule = Effect(scope=scope(devices=("cpu", "gpu")), axis="device", direction="lower", amount=2, frameworks=(A,))
    assert outcomes(rule, observed()) == (OPEN, Obstacle.NO_GPU)
    assert outcomes(rule, observed(step=0.1), observed(device="gpu")) == (HOLDS, None)


def test_an_accuracy_is_decided_by_whole_trainings_on_its_data_set_alone():
    rule = Reaches(scope=scope("accuracy", datasets=("mnist",)), frameworks=(A,), lower=95)
    assert outcomes(rule, observed(accuracy=0.99)) == (OPEN, Obstacle.OTHER_DATA)
    short = observed(accuracy=0.99, dataset="mnist", context={"recipe_steps": 10_000})
    assert outcomes(rule, short) == (OPEN, Obstacle.CUT_SHORT)
    assert outcomes(rule, observed(accuracy=0.99, dataset="mnist")) == (HOLDS, None)


def test_a_claim_is_limited_to_its_numbers_of_threads():
    rule = Order(scope=scope(threads=(1, 2)), first=A, others=(B,))
    for threads, expected in ((2, (HOLDS, None)), (4, (OPEN, Obstacle.NOT_RUN))):
        cases = observed(threads=threads), observed("jax", step=0.03, threads=threads)
        assert outcomes(rule, *cases) == expected


def test_cases_of_several_workers_are_for_claims_about_them_alone():
    slower = observed("jax", step=0.03)
    cases = [replace(one, case=replace(one.case, workers=2)) for one in (observed(), slower)]
    assert outcomes(faster(), *cases) == (OPEN, Obstacle.NOT_RUN)
    rule = Effect(scope=scope(), axis="workers", direction="lower", amount=1.5, frameworks=(B,))
    two = observed("jax", step=0.01, workers=2)
    assert outcomes(rule, slower, two) == (HOLDS, None)


def test_two_runs_are_too_few():
    cases = observed(runs=2), observed("jax", step=0.03, runs=2)
    assert outcomes(faster(), *cases) == (OPEN, Obstacle.TOO_FEW_RUNS)


@pytest.mark.parametrize(("steps", "expected"), [(3, (OPEN, Obstacle.TOO_FEW_STEPS)), (4, (HOLDS, None))])
def test_a_run_needs_three_steps_after_its_warm_up(steps, expected):
    slower = observed("jax", step=0.03)
    assert outcomes(faster(), observed(steps=steps), slower) == expected
    rule = Order(scope=scope("throughput"), first=A, others=(B,))
    assert outcomes(rule, observed(steps=steps), slower) == expected


def test_one_run_of_too_few_steps_is_enough():
    case, other = observed(), observed(steps=3)
    mixed = replace(case, runs=(*case.runs, other.runs[0]))
    assert outcomes(faster(), mixed, observed("jax", step=0.03)) == (OPEN, Obstacle.TOO_FEW_STEPS)


def test_what_is_no_figure_of_steps_needs_none():
    rule = Order(scope=scope("accuracy"), first=A, others=(B,), at_least=5)
    assert outcomes(rule, observed(accuracy=0.95, steps=2), observed("jax", accuracy=0.85, steps=2)) == (HOLDS, None)


def test_too_few_steps_are_no_reason_for_what_was_not_run():
    rule = Order(scope=scope(), first=A, others=(B, C))
    others = observed("jax", step=0.03), observed("mxnet", step=0.03)
    assert outcomes(rule, observed(), others[0], observed("mxnet", steps=3)) == (OPEN, Obstacle.TOO_FEW_STEPS)
    assert outcomes(rule, observed(), others[0], observed("chainer", steps=3)) == (OPEN, Obstacle.NOT_RUN)
    assert outcomes(rule, *others, observed("chainer", steps=3)) == (OPEN, Obstacle.NOTHING_TO_COMPARE)


def test_an_end_of_too_few_steps_is_not_replaced_by_a_value_that_the_claim_is_not_about():
    rule = Effect(scope=scope(), axis="batch_size", direction="lower", amount=1, frameworks=(A,), between=(32, 128))
    cases = of_batch(32, 0.01), of_batch(64, 0.005), of_batch(128, 0.005, steps=3)
    found = decide([rule], cases)
    assert (found.outcome, found.obstacle, found.comparisons) == (OPEN, Obstacle.TOO_FEW_STEPS, ())


def waiting(share, seconds):
    """A case on two processors that waited for I/O for this share of its training."""
    case = observed()
    usage = records.usage(wall_seconds=seconds, iowait_cpus=2 * share, core_use=(0.5, 0.5))
    return replace(case, runs=tuple(replace(run, usage={"train": usage}) for run in case.runs))


@pytest.mark.parametrize(
    ("share", "seconds", "expected"),
    [
        # A tick of 10 ms is 1 % of one second, and 0.01 % of a hundred.
        (0.0, 1.0, (OPEN, Obstacle.TOO_SHORT)),
        (0.0, 100.0, (HOLDS, None)),
        (0.0105, 1.0, (OPEN, Obstacle.TOO_SHORT)),
        (0.0105, 100.0, (NOT, None)),
        (0.05, 1.0, (NOT, None)),
        (0.001, 100.0, (OPEN, Obstacle.TOO_WIDE)),
    ],
)
def test_a_share_of_ticks_is_known_no_better_than_a_tick(share, seconds, expected):
    rule = Reaches(scope=scope("iowait_share"), frameworks=(A,), upper=0.1)
    assert outcomes(rule, waiting(share, seconds)) == expected


def test_runs_that_differ_too_much_are_named_even_if_others_are_too_short():
    rule = Reaches(scope=scope("iowait_share"), frameworks=(A, B), upper=0.1)
    too_short, too_wide = waiting(0.0, 1.0), waiting(0.001, 100.0)
    other = replace(too_wide, case=replace(too_wide.case, framework="jax"))
    assert outcomes(rule, too_short, other) == (OPEN, Obstacle.TOO_WIDE)


def test_runs_that_are_too_short_are_evidence_with_the_interval_that_they_allow():
    rule = Reaches(scope=scope("iowait_share"), frameworks=(A,), upper=0.1)
    ((short,), (long,)) = (decide([rule], [waiting(0.0, seconds)]).comparisons for seconds in (1.0, 100.0))
    assert short.interval.upper - long.interval.upper == pytest.approx(1.0 - 0.01)
    assert long.interval.lower - short.interval.lower == pytest.approx(1.0 - 0.01)


def test_a_run_without_the_figure_excludes_its_case():
    case = observed(model=MODEL)
    broken = replace(
        case, runs=(replace(case.runs[0], training=replace(case.runs[0].training, step_seconds=(0.0,))), *case.runs[1:])
    )
    assert outcomes(faster(), broken, observed("jax", step=0.03))[0] is OPEN


def test_what_no_metric_measures_cannot_be_decided():
    rule = Reaches(scope=scope("phase_of_the_moon"), frameworks=(A,), lower=1)
    assert outcomes(rule, observed()) == (OPEN, Obstacle.NOT_MEASURED)


def paired(*sides):
    """Cases as the sides of one that ran in pairs."""
    return [replace(side, session="in pairs", is_paired=True) for side in sides]


def test_pairs_decide_what_runs_one_after_another_leave_undecided():
    # The runs of either side differ by 30 %, those of a pair always by 15 %.
    apart = observed(spread=0.3), observed("jax", step=0.0115, spread=0.3)
    assert outcomes(faster(), *apart) == (OPEN, Obstacle.TOO_WIDE)
    assert outcomes(faster(), *paired(*apart)) == (HOLDS, None)
    found = decide([faster()], [*apart, *paired(*apart)])
    assert found.outcome is HOLDS
    assert [(one.pairs, one.is_settled) for one in found.comparisons] == [(0, True), (3, False)]


def test_pairs_refute_whichever_side_was_the_new_one():
    apart = observed(step=0.0115, spread=0.3), observed("jax", spread=0.3)
    assert outcomes(faster(), *apart) == (OPEN, Obstacle.TOO_WIDE)
    assert outcomes(faster(), *paired(*apart)) == (NOT, None)
    assert outcomes(faster(), *paired(*reversed(apart))) == (NOT, None)


def test_pairs_of_other_cases_settle_nothing():
    apart = observed(spread=0.3), observed("jax", step=0.0115, spread=0.3)
    others = paired(observed(threads=4), observed("jax", step=0.0115, threads=4))
    assert outcomes(faster(), *apart, *others) == (OPEN, Obstacle.TOO_WIDE)


def test_pairs_at_another_scale_settle_what_needs_no_whole_recipe():
    apart = observed(spread=0.3), observed("jax", step=0.0115, spread=0.3)
    others = paired(observed(scale="smoke"), observed("jax", step=0.0115, scale="smoke"))
    assert outcomes(faster(), *apart, *others) == (HOLDS, None)


@pytest.mark.parametrize("scale", ["quick", "smoke"])
def test_short_recipes_decide_nothing_about_accuracy(scale):
    rule = Order(scope=scope("accuracy"), first=A, others=(B,), at_least=5)
    apart = observed(accuracy=0.95), observed("jax", accuracy=0.901)
    assert outcomes(rule, *apart) == (OPEN, Obstacle.TOO_WIDE)
    # A suite's own recipe was trained to its end.
    context = {"steps": 50, "recipe_steps": 50}
    sides = [
        observed(name, accuracy=of, scale=scale, context=context) for name, of in (("pytorch", 0.95), ("jax", 0.8))
    ]
    assert outcomes(rule, *apart, *paired(*sides)) == (OPEN, Obstacle.TOO_WIDE)
    assert outcomes(rule, *sides) == (OPEN, Obstacle.CUT_SHORT)


def test_pairs_on_another_machine_settle_nothing():
    apart = observed(spread=0.3), observed("jax", step=0.0115, spread=0.3)
    context = {"machine": machine(name="other")}
    others = paired(observed(context=context), observed("jax", step=0.0115, context=context))
    assert outcomes(faster(), *apart, *others) == (OPEN, Obstacle.TOO_WIDE)


def test_pairs_of_settings_settle_those_settings_alone():
    rule = Effect(scope=scope(), axis="learning_rate", direction="same", amount=0.1)
    apart = of_rate(0.01), of_rate(0.1, step=0.011, spread=0.3)
    assert outcomes(rule, *apart) == (OPEN, Obstacle.TOO_WIDE)
    assert outcomes(rule, *apart, *paired(of_rate(0.01), of_rate(0.1))) == (HOLDS, None)
    assert outcomes(rule, *apart, *paired(of_rate(0.01), of_rate(0.5))) == (OPEN, Obstacle.TOO_WIDE)


def test_pairs_do_not_outweigh_what_runs_one_after_another_refute():
    apart = observed(), observed("jax", step=0.005)
    together = paired(observed(), observed("jax", step=0.02))
    assert outcomes(faster(), *apart, *together) == (NOT, None)


def test_undecided_pairs_settle_nothing():
    apart = observed(spread=0.3), observed("jax", step=0.0115, spread=0.3)
    undecided = paired(observed(), observed("jax", step=0.0101))
    assert outcomes(faster(), *apart, *undecided) == (OPEN, Obstacle.TOO_WIDE)


def test_a_side_of_pairs_is_not_compared_with_other_cases():
    side, _ = paired(observed(), observed("mxnet"))
    assert outcomes(faster(), side, observed("jax", step=0.03)) == (OPEN, Obstacle.NOTHING_TO_COMPARE)


def test_all_rules_of_a_claim_must_hold():
    cases = observed(accuracy=0.95), observed("jax", step=0.03, accuracy=0.99)
    accurate = Order(scope=scope("accuracy"), first=A, others=(B,))
    assert decide([faster()], cases).outcome is HOLDS
    assert decide([faster(), accurate], cases).outcome is NOT


def test_a_refutation_is_corrected_for_the_number_of_comparisons():
    """By itself the pair is outside at the level of one comparison, not at that of twenty."""
    rule = Order(scope=scope(), first=A, others=tuple(Named(published=str(n), ours=(f"f{n}",)) for n in range(20)))
    alike = [observed(f"f{number}", step=0.0101) for number in range(1, 20)]
    slightly = observed("f0", step=0.0091)
    alone = Order(scope=scope(), first=A, others=rule.others[:1])
    assert decide([alone], [observed(), slightly]).outcome is NOT
    assert decide([rule], [observed(), slightly, *alike]).outcome is OPEN
