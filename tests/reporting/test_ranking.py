"""Which framework is faster, and when that is not stated."""

from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting import ranking
from pytest_dlbench.reporting.tables import Row
from tests.doubles import records
from tests.storing.test_certificates import CERTIFICATE

DATASETS = ("digits", "digits28", "digits32", "mnist", "svhn")


def row(framework, dataset, step, *, model="mnist-cnn", accuracy=0.95, spread=0.0, **changes):
    """A case of three runs."""
    case = records.case(f"training-{framework}-{model}-{dataset}", framework=framework, dataset=dataset, model=model)
    figures = {"step_time": step, "accuracy": accuracy}
    result = replace(records.case_result(case=case, figures=figures), **changes)
    return Row(result=result, values={"step_time": [step * (1 + spread * place) for place in (-1, 0, 1)]})


def changed(rows, **changes):
    return [replace(one, result=replace(one.result, **changes)) for one in rows]


def in_general(rows):
    """The lines after the statements on single cells."""
    found = ranking.lines(rows)
    return found[next((place for place, line in enumerate(found) if line.startswith("in general")), len(found)) :]


def field(factors, **changes):
    """Frameworks by their factors: the time on each data set relative to a common one."""
    return [
        row(name, dataset, 0.01 * 2**place * factor, **changes)
        for name, of_each in factors.items()
        for place, (dataset, factor) in enumerate(zip(DATASETS, of_each, strict=False))
    ]


def test_each_cell_is_a_statement_with_the_interval_of_its_runs():
    heading, line = ranking.lines(
        [row("mine", "digits", 0.01, spread=0.01), row("pytorch", "digits", 0.09, spread=0.01)]
    )
    assert heading == "frameworks on cpu, 2 threads, scale quick, cell by cell, with 90 % intervals"
    assert line.startswith("  mnist-cnn on digits: pytorch takes 9.0 times as long a step as mine [8.")


def test_cells_that_differ_by_a_factor_of_two_each_are_never_called_undecided():
    found = ranking.lines(field({"slow": (2.0, 3.5), "quick": (1, 1)}))
    assert [line.partition(" as long")[0].rpartition("takes ")[2] for line in found[1:3]] == ["2.0 times", "3.5 times"]
    assert found[-1].endswith("slow takes longer on each of them, which are too few to say so of others")
    assert not any(word in line for line in found for word in ("distinguish", "cannot", "undecided"))


def test_a_framework_that_is_faster_everywhere_is_reported_with_the_interval():
    heading, *found = in_general(
        field({"slow": (1.5, 1.6, 1.4, 1.5, 1.55), "quick": (1,) * 5}, certificate=CERTIFICATE)
    )
    assert heading == "in general, on cpu, 2 threads, scale quick: geometric means over data sets"
    assert found[0].startswith("  quick is faster than slow: slow / quick has the ratio 1.51 [1.")
    assert len(found) == 1


def test_frameworks_whose_interval_includes_1_are_not_ranked():
    _, line = in_general(field({"a": (3.0, 1.0, 0.9, 1.1, 1.01), "b": (1,) * 5}))
    assert line.startswith("  a / b: ratio 1.25 [")
    assert line.endswith("a is faster on 1 of them and slower on 4")


def test_of_one_data_set_nothing_general_is_said():
    assert in_general(field({"a": (3.0,), "b": (1.0,)})) == []


def test_two_models_on_one_data_set_are_one_data_set():
    both = [*field({"a": (3.0,), "b": (1.0,)}), *field({"a": (3.1,), "b": (1.0,)}, model="mnist-fcn")]
    assert in_general(both) == []
    assert len(ranking.lines(both)) == 3


def test_many_cells_are_cut_with_a_note():
    rows = [row(name, f"d{number}", 0.01 * (1 + place)) for number in range(20) for place, name in enumerate("ab")]
    cells = ranking.lines(rows)[: ranking.MOST_CELLS + 2]
    assert cells[-1] == "  and 8 more cells: dlbench report shows all"


def test_of_many_frameworks_only_adjacent_pairs_are_shown_fastest_first():
    factors = {"e": 1.9, "a": 1.0, "c": 1.4, "b": 1.2, "d": 1.6}
    jitter = {
        name: [factor * (1 + 0.001 * (ord(name) * place % 5)) for place in range(5)] for name, factor in factors.items()
    }
    found = in_general(field(jitter, certificate=CERTIFICATE))
    claims = [line.split(":")[0].strip() for line in found if line.startswith("  ") and not line.startswith("    ")]
    assert claims[:-1] == [f"{one} is faster than {other}" for one, other in pairwise("abcde")]
    assert found[-1] == "  not shown: 6 pairs of frameworks that are not adjacent in speed"


def test_many_frameworks_in_one_cell_take_one_line():
    (_, line) = ranking.lines(field({name: (1.0 + place,) for place, name in enumerate("abcdefgh")}))
    assert line.startswith(
        "  mnist-cnn on digits: a takes the shortest step; 7 others take 2.0 times (b) to 8.0 times (h) "
    )


def test_a_ranked_pair_is_followed_by_its_differences():
    fair = field({"quick": (1,) * 5}, certificate=CERTIFICATE)
    unfair = field({"slow": (1.5, 1.6, 1.4, 1.5, 1.55)}, accuracy=0.91, warnings=("others used 1.7 CPUs",))
    _, claim, *differences = in_general([*fair, *unfair])
    assert "quick is faster than slow" in claim
    everywhere = ", ".join(f"mnist-cnn on {dataset}" for dataset in DATASETS)
    assert differences[:3] == [
        f"    slow is not certified to train the same network as the oracle: {everywhere}",
        f"    slow has warnings, see below: {everywhere}",
        "    accuracy differs on mnist-cnn on digits: quick 95.00 %, slow 91.00 %",
    ]


@pytest.mark.parametrize("outcome", [CaseOutcome.INVALID, CaseOutcome.DIVERGED])
def test_invalid_and_diverged_cases_do_not_count(outcome):
    spoiled = changed(field({"b": (1,) * 5}), outcome=outcome)
    assert ranking.lines([*field({"a": (2,) * 5}), *spoiled]) == []


def test_other_settings_are_compared_separately():
    found = field({"b": (1,) * 5})
    other = [
        replace(one, result=replace(one.result, case=replace(one.result.case, settings={"batch_size": 64})))
        for one in found
    ]
    assert ranking.lines([*field({"a": (2,) * 5}), *other]) == []


def test_ranks_are_shown_from_eight_data_sets_on():
    def of(count):
        names = {"a": 1.0, "b": 1.5, "c": 2.0}
        return [row(name, f"d{place}", 0.01 * factor) for name, factor in names.items() for place in range(count)]

    assert any(
        line.startswith("  mean ranks over 8 data sets: a 1.00, b 2.00, c 3.00;") for line in ranking.lines(of(8))
    )
    assert not any("mean ranks" in line for line in ranking.lines(of(7)))
