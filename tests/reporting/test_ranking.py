"""Which framework is faster, and when that is not stated."""

from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting import ranking
from tests.doubles import records
from tests.storing.test_certificates import CERTIFICATE

DATASETS = ("digits", "digits28", "digits32", "mnist", "svhn")


def result(framework, dataset, step, *, model="mnist-cnn", accuracy=0.95, **changes):
    case = records.case(f"training-{framework}-{model}-{dataset}", framework=framework, dataset=dataset, model=model)
    figures = {"step_time_median": step, "accuracy": accuracy}
    return replace(records.case_result(case=case, figures=figures), **changes)


def field(factors, **changes):
    """Frameworks by their factors: the time on each data set relative to a common one."""
    return [
        result(name, dataset, 0.01 * 2**place * factor, **changes)
        for name, row in factors.items()
        for place, (dataset, factor) in enumerate(zip(DATASETS, row, strict=False))
    ]


def test_a_framework_that_is_faster_everywhere_is_reported_with_the_interval():
    found = ranking.lines(field({"slow": (1.5, 1.6, 1.4, 1.5, 1.55), "quick": (1,) * 5}, certificate=CERTIFICATE))
    assert found[0] == "frameworks on cpu, 2 threads, scale quick: time of a step, geometric means over data sets"
    assert found[1].startswith("  quick is faster than slow: slow / quick has the ratio 1.51 [1.")
    assert len(found) == 2


def test_frameworks_whose_interval_includes_1_are_not_ranked():
    (_, line) = ranking.lines(field({"a": (3.0, 1.0, 0.9, 1.1, 1.0), "b": (1,) * 5}))
    assert line.startswith("  a and b cannot be distinguished: ratio 1.24 [")


def test_one_data_set_is_too_few_to_rank():
    (_, line) = ranking.lines(field({"a": (3.0,), "b": (1.0,)}))
    assert line == "  not ranked: 1 pair with 1 data set in common, too few to generalize"


def test_two_models_on_one_data_set_are_one_data_set():
    both = [*field({"a": (3.0,), "b": (1.0,)}), *field({"a": (3.1,), "b": (1.0,)}, model="mnist-fcn")]
    assert ranking.lines(both)[1:] == ["  not ranked: 1 pair with 1 data set in common, too few to generalize"]


def test_of_many_frameworks_only_adjacent_pairs_are_shown_fastest_first():
    factors = {"e": 1.9, "a": 1.0, "c": 1.4, "b": 1.2, "d": 1.6}
    jitter = {
        name: [factor * (1 + 0.001 * (ord(name) * place % 5)) for place in range(5)] for name, factor in factors.items()
    }
    found = ranking.lines(field(jitter, certificate=CERTIFICATE))
    claims = [line.split(":")[0].strip() for line in found if line.startswith("  ") and not line.startswith("    ")]
    assert claims[:-1] == [f"{one} is faster than {other}" for one, other in pairwise("abcde")]
    assert found[-1] == "  not shown: 6 pairs of frameworks that are not adjacent in speed"


def test_many_frameworks_on_one_data_set_take_one_line():
    (_, line) = ranking.lines(field(dict.fromkeys("abcdefgh", (1.0,))))
    assert line.startswith("  not ranked: 28 pairs")


def test_a_ranked_pair_is_followed_by_its_differences():
    fair = field({"quick": (1,) * 5}, certificate=CERTIFICATE)
    unfair = field({"slow": (1.5, 1.6, 1.4, 1.5, 1.55)}, accuracy=0.91, warnings=("others used 1.7 CPUs",))
    _, claim, *differences = ranking.lines([*fair, *unfair])
    assert "quick is faster than slow" in claim
    everywhere = ", ".join(f"mnist-cnn on {dataset}" for dataset in DATASETS)
    assert differences[:3] == [
        f"    slow is not certified to train the same network as the oracle: {everywhere}",
        f"    slow has warnings, see below: {everywhere}",
        "    accuracy differs on mnist-cnn on digits: quick 95.00 %, slow 91.00 %",
    ]


@pytest.mark.parametrize("outcome", [CaseOutcome.INVALID, CaseOutcome.DIVERGED])
def test_invalid_and_diverged_cases_do_not_count(outcome):
    spoiled = [replace(one, outcome=outcome) for one in field({"b": (1,) * 5})]
    assert ranking.lines([*field({"a": (2,) * 5}), *spoiled]) == []


def test_other_settings_are_compared_separately():
    other = [replace(one, case=replace(one.case, settings={"batch_size": 64})) for one in field({"b": (1,) * 5})]
    assert ranking.lines([*field({"a": (2,) * 5}), *other]) == []


def test_ranks_are_shown_from_eight_data_sets_on():
    def of(count):
        names = {"a": 1.0, "b": 1.5, "c": 2.0}
        return [result(name, f"d{place}", 0.01 * factor) for name, factor in names.items() for place in range(count)]

    assert any(
        line.startswith("  mean ranks over 8 data sets: a 1.00, b 2.00, c 3.00;") for line in ranking.lines(of(8))
    )
    assert not any("mean ranks" in line for line in ranking.lines(of(7)))
