"""What was run and what limits it, as sentences from records."""

from pytest_dlbench.reporting.study import conditions
from tests.doubles.judged import both_sides, judged, measured
from tests.doubles.records import machine


def threats(*cases):
    (paragraph, *_) = conditions.threats(measured(*cases), (), ()).blocks
    return {line.partition(":")[0]: line for line in paragraph.items}


def run_lines(*cases):
    return conditions.what_was_run(measured(*cases)).blocks[0].items


def test_runs_and_versions_of_both_sides_of_pairs_are_counted():
    baseline, candidate = both_sides()
    found = conditions.extent(measured(candidate), measured(baseline))
    assert (found.runs, found.cases) == (6, 1)
    assert found.frameworks == ("pytorch==2.12.0", "pytorch==2.13.0")


def test_batches_that_are_smaller_than_those_of_recipes_are_a_threat():
    small = judged(model="hkbu-fcn-r", context={"batch_size": 32})
    assert threats(small)["batches"].endswith(": hkbu-fcn-r 32 (1,024)")
    whole = judged(model="hkbu-fcn-r", context={"batch_size": 1024})
    asked = judged(model="hkbu-fcn-r", context={"batch_size": 32}, settings={"batch_size": 32})
    own = judged(model="of a user", context={"batch_size": 1})
    assert "batches" not in threats(whole, asked, own)


def test_one_machine_is_a_threat_and_several_are_another():
    assert threats(judged())["one machine"]
    elsewhere = judged(session="2", context={"machine": machine(name="other")})
    found = threats(judged(), elsewhere)
    assert "one machine" not in found
    assert "No table or picture compares the times of two" in found["2 machines"]


def test_each_scale_has_its_steps_and_batches():
    cases = [judged(context={"steps": steps, "batch_size": steps * 8}) for steps in (4, 20)]
    full = judged(scale="full", context={"steps": 2000, "batch_size": 64})
    refused = judged("caffe2", scale="full", context={"steps": 0, "batch_size": 64})
    lines = run_lines(*cases, full, refused)
    assert "at scale quick: 4 to 20 steps of a training, batches of 32 to 160" in lines
    assert "at scale full: 2,000 steps of a training, batches of 64" in lines


def test_below_scale_full_a_training_is_shorter_than_the_recipe_of_its_network():
    # Suites have short recipes of their own, of which all steps may have been trained.
    short, cut = {"steps": 50, "recipe_steps": 50}, {"steps": 50, "recipe_steps": 100}
    found = [
        conditions.is_shortened(case)
        for case in measured(
            judged(scale="quick", context=short), judged(scale="full", context=cut), judged(scale="full", context=short)
        )
    ]
    assert found == [True, True, False]
