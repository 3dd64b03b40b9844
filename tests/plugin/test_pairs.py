"""--dlbench-ab on real processes: two doubles as the two sides of a case."""

import json

import pytest

# Wide enough for three pairs to decide: doubles simulate their step times, but not their memory.
WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")


def result_of(suite):
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    (result,) = (line["result"] for line in lines if line.get("result"))
    return result, [line["run"] for line in lines if line.get("run")]


def test_two_equal_sides_pass(suite):
    suite.write(more={"same": "clocked"})
    result = suite.run("--dlbench-ab=numpy,same", *WIDE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["same-softmax-digits-cpu *"])
    reported, _ = result_of(suite)
    assert reported["pairing"]["old"]["framework"] == "numpy"
    assert {verdict["metric"] for verdict in reported["verdicts"]} == {
        "step_time",
        "step_time_median",
        "accuracy",
        "peak_rss",
    }


def test_one_name_on_both_sides_is_an_aa_test(suite):
    result = suite.run("--dlbench-ab=numpy,numpy", *WIDE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy@A-A-softmax-digits-cpu *passed (A/A)*", "warning: numpy@A-A-*: A/A test: *"])
    reported, _ = result_of(suite)
    assert reported["pairing"]["is_aa"]


def test_frameworks_with_different_names_are_no_aa_test(suite):
    suite.write(more={"same": "clocked"})
    suite.run("--dlbench-ab=numpy,same", *WIDE)
    assert not result_of(suite)[0]["pairing"]["is_aa"]


def test_both_sides_of_a_pair_have_the_same_seed_and_are_in_the_journal(suite):
    suite.write(more={"same": "clocked"})
    suite.run("--dlbench-ab=numpy,same", *WIDE)
    reported, runs = result_of(suite)
    pairs = reported["pairing"]["screened"] + reported["pairing"]["confirmed"]
    assert [run["seed"] for run in runs] == [seed for index in range(pairs) for seed in (index + 1, index + 1)]
    first = [run["case"] for run in runs[::2]]
    assert [case.startswith("training-same") for case in first] == reported["pairing"]["new_first"]
    # Blocks of two pairs have both orders.
    assert reported["pairing"]["new_first"][0] is not reported["pairing"]["new_first"][1]
    assert reported["pairing"]["order_seed"] >= 0


def test_a_slower_candidate_is_detected_confirmed_and_fails_its_test(suite):
    suite.write(more={"slow": "slowed"})
    result = suite.run("--dlbench-ab=numpy,slow", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "regressed: training-slow-softmax-digits-cpu-smoke",
            "compared with numpy in * pairs, and * fresh ones to confirm what those flagged:",
            "*step_time *regressed *ms → *ms, ratio *, tolerance 40%",
            "phases that take longer or shorter:",
            "*step *ms → *ms, *longer",
            "what differs between baseline and candidate:",
            "to run it again: pytest 'test_suite.py::test_training*' --dlbench-ab=numpy,slow*",
        ]
    )


def test_a_faster_candidate_is_an_improvement(suite):
    suite.write(more={"slow": "slowed"})
    result = suite.run("--dlbench-ab=slow,numpy", *WIDE)
    assert result.ret == 0
    reported, _ = result_of(suite)
    assert reported["outcome"] == "improved"


def test_a_report_only_gate_reports_and_fails_nothing(suite):
    suite.write(more={"slow": "slowed"})
    result = suite.run("--dlbench-ab=numpy,slow", "--dlbench-shadow", *WIDE)
    assert result.ret == 0
    reported, _ = result_of(suite)
    assert reported["outcome"] == "regressed"


def test_a_side_that_crashes_is_named(suite):
    suite.write(more={"bad": "crashes"})
    result = suite.run("--dlbench-ab=numpy,bad", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["crashed: training-bad-*", "the candidate, bad, did not finish (crashed):"])


# Doubles simulate step times only.
ONLY_TIME = """
from pytest_dlbench.judging import METRICS

for name in ("accuracy", "peak_rss"):
    # METRICS is read-only, and modules share its entries.
    object.__setattr__(METRICS[name], "tolerance", None)
"""


def test_a_case_that_its_share_of_the_time_does_not_decide_is_inconclusive_after_three_pairs(suite):
    suite.write(more={"same": "a_bit_slower"})
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + ONLY_TIME)
    arguments = ("--dlbench-ab=numpy,same", "--dlbench-budget=0.001s", "--dlbench-compare", "--dlbench-allow=invalid")
    result = suite.run(*arguments)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["inconclusive: training-same-softmax-*", "  step_time: budget spent; *"])
    reported, runs = result_of(suite)
    assert reported["outcome"] == "inconclusive"
    assert reported["pairing"]["reasons"]["step_time"] == "budget_spent"
    assert len(runs) == 6


def test_only_tests_that_run_in_pairs_share_the_budget(suite):
    suite.write(more={"same": "clocked", "other": "clocked"}, test=COUNTED)
    result = suite.run("--dlbench-ab=numpy,same", "-k", "not deselected")
    result.assert_outcomes(passed=3, deselected=1)


COUNTED = """
import pytest
from pytest_dlbench.plugin.hooks import PAIRED

def test_of_a_cell(dlbench, framework, model, dataset, device, request):
    assert request.config.stash[PAIRED] == 2

def test_that_names_its_framework(dlbench, request):
    assert request.config.stash[PAIRED] == 2

@pytest.mark.equivalence
def test_of_golden_losses(dlbench):
    pass

def test_deselected(dlbench, framework, model, dataset, device):
    pass
"""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--dlbench-ab=numpy"], "ERROR: --dlbench-ab: expected OLD,NEW, such as *, got 'numpy'"),
        (["--dlbench-ab=numpy,nunpy"], "ERROR: --dlbench-ab: *nunpy*"),
        (["--dlbench-ab=numpy,same", "--dlbench-frameworks=same"], "ERROR: --dlbench-ab already names the frameworks*"),
        (["--dlbench-ab=numpy,same", "--dlbench-save", "--dlbench-reason=x"], "ERROR: --dlbench-save: --dlbench-ab *"),
        (["--dlbench-ab=numpy,same", "--dlbench-max-runs=2"], "ERROR: --dlbench-max-runs: expected 3 to 20 pairs*"),
        (["--dlbench-ab=numpy,same", "--dlbench-false-alarms=50%"], "ERROR: --dlbench-false-alarms: expected a share*"),
        (["--dlbench-ab=numpy,same", "--dlbench-budget=30"], "ERROR: --dlbench-budget: expected a time with its unit*"),
        (["--dlbench-ab=old.txt,missing.txt"], "ERROR: --dlbench-ab: *missing.txt does not exist*"),
        (["--dlbench-ab=old.txt,empty.txt"], "ERROR: --dlbench-ab: no framework is pinned in both *"),
    ],
)
def test_sides_that_cannot_be_compared_are_a_usage_error(suite, arguments, line):
    suite.write(more={"same": "clocked"})
    (suite.path / "old.txt").write_text("torch==2.12.0\n")
    (suite.path / "empty.txt").write_text("# nothing\n")
    result = suite.run(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([line])


def test_the_last_line_has_the_outcomes_and_the_budget_used(suite):
    suite.write(more={"slow": "slowed"})
    result = suite.run("--dlbench-ab=numpy,slow", "-q", *WIDE)
    # Half of what the first case of one has: a quarter of the budget, and half of what is taken in turn.
    assert result.outlines[-1] == "dlbench: 1 regressed; false alarms: 0.25% of 1% used"


def test_divergences_are_counted_on_both_sides(suite):
    suite.write(more={"bad": "diverges"})
    result = suite.run("--dlbench-ab=numpy,bad", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "diverged: training-bad-*",
            "0 of 5 runs of the baseline diverged, 5 of 5 of the candidate: the probability of at least this many *",
        ]
    )


def test_sides_whose_medians_contradict_the_pairs_are_explained_everywhere(suite, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / "summary.md"))
    suite.write(builder="swings", more={"faster": "swings_faster"})
    files = ("--junitxml=junit.xml", "--dlbench-json=found.json", "--dlbench-html=page.html")
    result = suite.run("--dlbench-ab=numpy,faster", "--dlbench-max-runs=3", *files)
    result.stdout.fnmatch_lines(
        [
            "*step_time *10.9 ms → 12.7 ms, ratio 0.[78]*",
            "warning: *step_time: ratio 1.165 between the medians of the two sides, ratio 0.[78]* within the pairs*",
        ]
    )
    for name in ("junit.xml", "found.json", "page.html"):
        assert "ratio 1.165 between the medians of the two sides" in (suite.path / name).read_text()
    assert "step\\_time: ratio 1.165 between the medians" in (suite.path / "summary.md").read_text()


def test_inference_is_compared_in_pairs(suite):
    test = """
import pytest

@pytest.mark.inference
def test_inference(dlbench, framework, model, dataset, device):
    dlbench.infer(framework, model, dataset, device)
"""
    suite.write(builder="numpy_softmax", more={"same": "numpy_softmax"}, test=test)
    result = suite.run("--dlbench-ab=numpy,same", "--dlbench-tolerance=latency:300%", "--dlbench-max-runs=3", *WIDE)
    assert result.ret == 0, result.stdout.str()
    reported, _ = result_of(suite)
    assert "latency" in {verdict["metric"] for verdict in reported["verdicts"]}
