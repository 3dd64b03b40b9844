"""The abstract: who is best in what, by how much, and for whom that is shown."""

from dataclasses import replace

from pytest_dlbench.judging.frameworks import RANKED_DATASETS
from pytest_dlbench.records import CaseOutcome, VerdictOutcome
from pytest_dlbench.records.reasons import UnsteadyCores
from pytest_dlbench.reporting.study import abstract
from tests.doubles.judged import both_sides, judged, measured, workloads
from tests.doubles.records import evaluation, verdict


def paragraph(*cases):
    alone = [case for case in measured(*cases) if case.result.pairing is None]
    return abstract.section(measured(*cases), alone, ()).blocks[-1]


def choice(*cases):
    """What depends on the choice of a framework; empty if that is not known."""
    *first, _ = abstract.section(measured(*cases), measured(*cases), ()).blocks
    return first[0].text if first else ""


def lines(*cases):
    return paragraph(*cases).items


def in_pairs(outcome, *verdicts, old="2.12.0", new="2.13.0"):
    """The candidate's case of a session in pairs."""
    sides = (f"pytorch=={version}" for version in (old, new))
    return both_sides(*sides, outcome=outcome, verdicts=verdicts)[1]


def varied(count=RANKED_DATASETS):
    """Networks on which jax is the fastest, mxnet clearly and theano hardly slower."""
    return [
        judged(framework, f"net-{number}", step=0.01 * factor, steps=12)
        for number in range(count)
        for framework, factor in (("jax", 1), ("mxnet", 2 + 0.1 * number), ("theano", 1.4 if number == 3 else 1.001))
    ]


RAN = "Acme 9000, 2 threads, scale quick, batches of 64"


def test_the_best_framework_is_named_with_the_factors_of_the_others_and_what_is_not_shown():
    speed, *_ = lines(*varied())
    assert speed.startswith(
        f"On cpu ({RAN}), over 8 networks that 3 frameworks trained, jax takes the shortest step on average; the others"
        " take"
    )
    assert "times (theano) to 2." in speed
    assert "times (mxnet) as long" in speed
    assert speed.endswith("; for theano, so few networks do not show that this holds in general")
    memory = next(line for line in lines(*varied()) if "memory" in line)
    assert memory.endswith("; so few networks do not show in general that it is better than any other")


def test_the_last_framework_is_compared_with_the_best_one_in_what_is_shown_to_differ():
    # All need the same memory.
    found = choice(*varied())
    assert found.startswith(
        f"On cpu ({RAN}), the choice of a framework decides the speed: of 3 frameworks, on average, the slowest takes"
        " 2."
    )
    assert found.endswith(" times as long for a step as the fastest.")


def test_what_so_few_networks_do_not_show_is_not_said():
    assert not choice(*(case for case in varied() if case.result.case.framework != "mxnet"))


SEEDS = [0.90, 0.91, 0.89, 0.92, 0.93]


# With each seed, another framework is 1 pp above or below another one.
SPREAD = {
    "pytorch": [0.90, 0.92, 0.91, 0.90, 0.92],
    "jax": [0.91, 0.90, 0.92, 0.91, 0.90],
    "mxnet": [0.92, 0.91, 0.90, 0.92, 0.91],
}


def by_seed(framework, model, accuracies, dataset="fashion-mnist"):
    one = judged(framework, model, dataset=dataset, scale="full", runs=len(accuracies))
    scored = (replace(run, evaluation=evaluation(of)) for run, of in zip(one.runs, accuracies, strict=True))
    return replace(one, runs=tuple(scored))


def test_whether_the_accuracy_depends_on_the_framework_is_said_of_all_networks_that_show_it():
    alike = [by_seed(framework, "one", SEEDS) for framework in ("pytorch", "jax", "mxnet")]
    assert choice(*alike, *(by_seed(name, "two", of) for name, of in SPREAD.items())) == (
        "No difference in accuracy was found: on 2 networks, frameworks differ by no more than chance when all train"
        " the whole recipe from the same weights, on the same data in the same order. Only large differences would have"
        " been found on two (fashion-mnist), where accuracies with the same seed have a standard deviation of 1.0 pp"
        " over frameworks."
    )
    worse = [by_seed("mxnet", "other", [of - 0.01 for of in SEEDS])]
    others = [by_seed(framework, "other", SEEDS) for framework in ("pytorch", "jax")]
    found = choice(*alike, *others, *worse)
    assert found.startswith("On 1 of 2 networks, accuracies of frameworks differ by more than chance when all train")


def test_a_network_on_two_data_sets_is_one_and_differs_if_it_does_on_either():
    alike = [by_seed(framework, "one", SEEDS, "z") for framework in ("pytorch", "jax", "mxnet")]
    others = [by_seed(framework, "one", SEEDS, "a") for framework in ("pytorch", "jax")]
    worse = by_seed("mxnet", "one", [of - 0.01 for of in SEEDS], "a")
    assert choice(*alike, *others, worse).startswith("On 1 of 1 network, accuracies of frameworks differ")


def test_without_enough_networks_or_seeds_nothing_is_said_of_the_choice():
    assert not choice(*workloads(2))


def test_with_few_workloads_the_fastest_are_counted():
    assert lines(*workloads(2))[0].startswith("jax has the shortest step in 2 of 2 cells")


def test_times_on_cores_whose_speed_varied_do_not_count():
    unsteady = {"cautions": (UnsteadyCores(variation=1.9, unsteady=3, runs=3),)}
    quickest = judged("mxnet", step=0.001, result=unsteady)
    assert lines(judged("jax"), judged("pytorch", step=0.03), quickest) == lines(
        judged("jax"), judged("pytorch", step=0.03)
    )


def test_versions_that_changed_have_a_sentence_each_and_the_others_one_together():
    slower = verdict(change=1.2, lower=1.1, upper=1.3)
    alike = verdict(outcome=VerdictOutcome.EQUIVALENT, change=1.01, lower=0.99, upper=1.03)
    sentence = "From pytorch 2.12.0 to 2.13.0, a step takes 1.20 times as long"
    assert lines(in_pairs(CaseOutcome.REGRESSED, slower))[0] == f"{sentence} (steps slower in 1 of 1 case)"
    versions = "No change beyond the tolerance was found: pytorch 2.12.0 → 2.13.0"
    assert lines(in_pairs(CaseOutcome.PASSED, alike))[0] == f"{versions} (1 of 1 case passed)"
    undecided = replace(alike, outcome=VerdictOutcome.INCONCLUSIVE)
    said = "0 of 1 case passed; time of a step undecided in 1"
    assert lines(in_pairs(CaseOutcome.INCONCLUSIVE, undecided))[0] == f"{versions} ({said})"


def test_releases_of_which_none_changed_are_listed_one_after_the_other():
    passed, undecided = (
        in_pairs(CaseOutcome.PASSED, old="2.11.0", new="2.12.0"),
        in_pairs(CaseOutcome.INCONCLUSIVE),
    )
    (line,) = lines(passed, undecided)[:1]
    assert line.endswith(": pytorch 2.11.0 → 2.12.0 → 2.13.0 (1 of 2 cases passed)")


def test_releases_around_one_that_changed_are_listed_apart():
    changed = in_pairs(CaseOutcome.REGRESSED, verdict(), old="2.11.0", new="2.12.0")
    before = in_pairs(CaseOutcome.PASSED, old="2.10.0", new="2.11.0")
    found = [line for line in lines(before, changed, in_pairs(CaseOutcome.PASSED)) if line.startswith("No change")]
    alone = (": pytorch 2.10.0 → 2.11.0 (1 of 1 case passed)", "pytorch 2.12.0 → 2.13.0 (1 of 1 case passed)")
    assert found[0].endswith(", ".join(alone))


def test_versions_of_a_framework_are_counted_apart_from_frameworks():
    sides = judged("pytorch==2.12.0"), judged("pytorch"), judged("jax")
    assert paragraph(*sides).text.startswith("2 frameworks in 3 versions trained 1 network on 1 data set")
    assert paragraph(judged("jax")).text.startswith("1 framework trained")
