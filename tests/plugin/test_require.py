"""``result.require``: bounds of a test, which hold for the whole recipe only where it was trained."""

import json

import pytest

TEST = """
def test_required(dlbench):
    result = dlbench.train("numpy", "softmax", "digits")
    result.require({bounds})
"""
FULL = "--dlbench-scale=full"


@pytest.fixture
def required(suite):
    def required(bounds, *options):
        suite.write(test=TEST.format(bounds=bounds))
        return suite.run(*options)

    return required


def test_bounds_that_are_kept_pass(required):
    required("accuracy=0.5, peak_rss=2**40, step_time=10.0", FULL).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("bounds", "line"),
    [
        ("accuracy=0.999", "*accuracy ≥ 99.90 % is required, 8*.* % was measured (median of 3 runs)*"),
        ("peak_rss=2**20", "*peak_rss ≤ 1 MiB is required, * MiB was measured (median of 3 runs)*"),
        ("step_time=1e-6, throughput=1e9", "*step_time ≤ 1.00 µs is required, 2.00 ms *; throughput ≥ 1*"),
    ],
)
def test_a_bound_that_is_not_kept_fails_with_both_figures(required, bounds, line):
    result = required(bounds, FULL)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *AssertionError: {line}"])
    assert result.outlines[-1] == "dlbench: 1 failed"


def test_the_accuracy_of_a_training_that_ended_early_is_not_required_and_that_is_said_everywhere(
    required, suite, monkeypatch
):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / "summary.md"))
    files = ("--junitxml=junit.xml", "--dlbench-json=found.json", "--dlbench-html=page.html")
    result = required("accuracy=0.999", *files)
    result.assert_outcomes(passed=1)
    note = "20 of 88 steps were trained; not required: accuracy ≥ 99.90 %"
    result.stdout.fnmatch_lines([f"warning: numpy-softmax-digits-cpu: {note}"])
    for name in ("junit.xml", "page.html", "summary.md"):
        assert note in (suite.path / name).read_text()
    (case,) = json.loads((suite.path / "found.json").read_text())["cases"]
    assert note in case["result"]["warnings"]


def test_what_does_not_need_the_whole_recipe_is_required_at_any_scale(required):
    result = required("accuracy=0.999, peak_rss=2**20")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *AssertionError: peak_rss ≤ 1 MiB is required, *", "warning: *not required: acc*"])


@pytest.mark.parametrize(
    ("bounds", "line"),
    [
        ("acuracy=0.9", "*did you mean 'accuracy'?"),
        ("accuracy=float('nan')", "result.require: expected a finite number for accuracy, got nan"),
        ("latency=0.9", "*result.require: training-numpy-softmax-digits-cpu-smoke has no latency; it has *"),
    ],
)
def test_a_metric_that_there_is_not_is_an_error(required, bounds, line):
    result = required(bounds)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([line])
