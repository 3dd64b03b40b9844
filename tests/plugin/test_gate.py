"""Saving baselines, comparing with them, and failing."""

import json
import shlex
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import Baseline, Calibration, codec
from pytest_dlbench.storing.baselines import encode, read_file
from pytest_dlbench.storing.calibrations import CalibrationStore

# One stored session is enough to detect twice the time, but not 5 %. Step times are simulated.
WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%")


def test_without_a_baseline_a_case_passes_and_says_so(suite):
    result = suite.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *no_baseline", "no_baseline: 1 × *--dlbench-save*"])


def test_a_saved_baseline_is_one_sorted_file_with_its_reason(suite):
    suite.save()
    content = json.loads(suite.baseline().read_text())
    (session,) = content["sessions"]
    assert (session["reason"], session["seeds"]) == ("first", [1, 2, 3])
    assert content["anchor"] == session["id"]
    assert list(content) == sorted(content)


def test_saving_again_adds_a_session_and_keeps_the_reference_session(suite):
    suite.save()
    suite.save()
    content = json.loads(suite.baseline().read_text())
    first, _ = content["sessions"]
    assert content["anchor"] == first["id"]


def test_an_unchanged_case_does_not_fail(suite):
    suite.saved_earlier()
    result = suite.run(*WIDE)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*regressed*")
    assert "metrics compared with baselines (false alarms ≤ 5% each)" in result.outlines[-1]


def calibrated(suite, spread):
    """Store a calibration of the saved case."""
    saved = codec.decode(suite.baseline().read_bytes(), Baseline, "the baseline")
    found = Calibration(
        case=saved.case,
        context=saved.context,
        versions={},
        date="2026-11-21",
        alpha=0.0025,
        max_pairs=20,
        pairs=10,
        spreads={"step_time": spread},
        smallest={"step_time": 2 * spread},
        verdicts=(),
        exchanged={"step_time": 0.0},
        design="alternating",
    )
    CalibrationStore(folder=suite.path / "baselines").write(found)


def test_a_tolerance_that_cannot_be_resolved_is_an_error_before_anything_runs(suite):
    suite.saved_earlier()
    stored = suite.run("--dlbench-tolerance=step_time:0.1%")
    assert stored.ret == 1
    stored.stdout.fnmatch_lines(
        [
            "training-numpy-softmax-digits-cpu-smoke: tolerance too tight: the stored sessions cannot resolve it:",
            "  step_time: 0.1% was requested, the minimum detectable change is 1.7% (90 % power), given how *",
        ]
    )
    calibrated(suite, 0.5)
    suite.write(more={"same": "clocked"})
    paired = suite.run("--dlbench-ab=numpy,same", *WIDE)
    assert paired.ret == 1
    paired.stdout.fnmatch_lines(
        [
            "training-same-softmax-digits-cpu-smoke: tolerance too tight: 20 pairs cannot resolve it:",
            "  step_time: 40% was requested, * (90 % power), given how runs varied in dlbench calibrate",
        ]
    )
    assert len(list(suite.path.glob(".dlbench/*.jsonl"))) == 1


def test_in_a_report_only_gate_a_tight_tolerance_is_a_warning(suite):
    suite.saved_earlier()
    result = suite.run("--dlbench-tolerance=step_time:0.1%", "--dlbench-runs=1", "--dlbench-shadow")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["warning: *step_time: the stored sessions on this machine resolve no change below 1.7%*"]
    )


@pytest.mark.parametrize(
    ("builder", "line"),
    [
        ("forgetful", "*accuracy *regressed *% → *%, -*pp [[]-*[]], tolerance 1pp"),
        ("hungry", "*peak_rss *regressed *MiB → *MiB, ratio 1.*, tolerance 10%"),
    ],
)
def test_a_worse_worker_fails_its_test(suite, builder, line):
    suite.saved_earlier()
    suite.write(builder=builder)
    result = suite.run(*WIDE, "--junitxml=junit.xml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "regressed: training-numpy-softmax-digits-cpu-smoke",
            "compared with the baseline of *(first):",
            line,
            "what changed in between:",
            "to accept the new figures: pytest 'test_suite.py::test_training*' --dlbench-scale=smoke --dlbench-save *",
        ]
    )
    (failure,) = ET.parse(suite.path / "junit.xml").iter("failure")
    assert "regressed" in failure.get("message", "")


SLOWER = "step_time *suspect *ms → *ms, ratio [12].* tolerance 40%"
PAIRS = "pytest test_suite.py::test_training --dlbench-models=softmax --dlbench-datasets=digits * --dlbench-ab=*"


def test_a_worker_slower_than_one_session_is_suspect_with_the_command_that_settles_it(suite):
    suite.saved_earlier()
    suite.write(builder="slowed")
    result = suite.run(*WIDE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["suspect: *", f"  numpy-softmax-digits-cpu: {SLOWER}", f"  numpy-softmax-digits-cpu: to settle it: {PAIRS}"]
    )


def test_a_worker_slower_than_one_session_fails_the_gate_unless_allowed(suite):
    suite.saved_earlier()
    suite.write(builder="slowed")
    result = suite.run(*WIDE, "--dlbench-compare")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["suspect: training-numpy-softmax-digits-cpu-smoke", f"*{SLOWER}", f"paired runs would settle it: {PAIRS}"]
    )
    assert suite.run(*WIDE, "--dlbench-compare", "--dlbench-allow=suspect").ret == 0


def test_a_slower_case_that_does_not_fail_its_test_is_reported_with_the_case_after_it(suite):
    both = "def test_both(dlbench):\n" + "".join(
        f"    dlbench.train('{name}', 'softmax', 'digits')\n" for name in ("numpy", "other")
    )
    suite.write(more={"other": "clocked"}, test=both)
    suite.save()
    suite.write(builder="slowed", more={"other": "clocked"}, test=both)
    result = suite.run(*WIDE, "--dlbench-compare", "--dlbench-shadow")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *suspect", "other-softmax-digits-cpu *passed"])
    assert result.outlines[-1].startswith("dlbench: 1 suspect, 1 passed; ")


def with_sessions(path, count):
    """Repeat the only session of a baseline."""
    baseline = read_file(path)
    (session,) = baseline.sessions
    more = [replace(session, id=f"{session.id}-{number}") for number in range(2, count + 1)]
    path.write_bytes(encode(replace(baseline, sessions=(session, *more))))


def test_a_worker_slower_than_five_sessions_fails_its_test(suite):
    suite.saved_earlier()
    with_sessions(suite.baseline(), 5)
    suite.write(builder="slowed")
    result = suite.run(*WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["regressed: *", "*step_time *regressed *", "since the reference session of *(first):"])


def test_an_edited_recipe_that_learns_less_fails_and_is_named(suite):
    suite.saved_earlier()
    suite.write(rate=0.0001)
    result = suite.run(*WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*accuracy *regressed*", "*optimizer.learning_rate 0.1 → 0.0001*"])


def accept_command(result):
    """The command in a failure that accepts the new figures, split as by a shell."""
    # In CI, pytest's short summary repeats it.
    (line,) = {line for line in result.stdout.lines if line.startswith("to accept the new figures: ")}
    program, *arguments = shlex.split(line.removeprefix("to accept the new figures: "))
    assert program == "pytest"
    return arguments


def test_the_command_of_the_message_accepts_the_new_figures(suite):
    suite.saved_earlier()
    suite.write(builder="slowed")
    arguments = accept_command(suite.run(*WIDE, "--dlbench-compare"))
    assert suite.run_exactly(*arguments).ret == 0
    relaxed = suite.run(*WIDE)
    relaxed.stdout.fnmatch_lines(["  numpy-softmax-digits-cpu: since the reference session: step_time *suspect *"])
    relaxed.stdout.no_fnmatch_line("  numpy-softmax-digits-cpu: step_time *suspect *")


def test_an_accepted_change_is_no_longer_suspect_once_it_is_the_reference_session(suite):
    suite.saved_earlier()
    suite.write(builder="slowed")
    suite.save()
    assert main(["baseline", "anchor", suite.baseline().stem, "--last"]) == 0
    suite.run(*WIDE).stdout.no_fnmatch_line("*since the reference session: *")


def test_the_command_of_the_message_repeats_the_options_that_identify_the_case(suite):
    suite.save("--dlbench-baselines=figures")
    suite.write(builder="slowed")
    arguments = accept_command(suite.run(*WIDE, "--dlbench-baselines=figures", "--dlbench-compare"))
    assert {"--dlbench-scale=smoke", "--dlbench-baselines=figures"} <= set(arguments)


def test_fewer_runs_than_a_comparison_needs_are_inconclusive(suite):
    suite.saved_earlier()
    result = suite.run("--dlbench-runs=1", "--dlbench-compare", "--dlbench-allow=inconclusive")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["inconclusive: *", "  numpy-softmax-digits-cpu: 1 of the 3 runs that a comparison needs: --dlbench-runs 3"]
    )


def test_an_improvement_is_reported_and_fails_only_when_strict(suite):
    suite.saved_earlier()
    suite.write(builder="hurried")
    relaxed = suite.run(*WIDE)
    assert relaxed.ret == 0
    relaxed.stdout.fnmatch_lines(["improved: *", "  numpy-softmax-digits-cpu: step_time *improved *ms → *ms, ratio *"])
    assert suite.run(*WIDE, "--dlbench-strict").ret == 1


def test_the_gate_fails_without_a_baseline_unless_allowed(suite):
    assert suite.run("--dlbench-compare").ret == 1
    assert suite.run("--dlbench-compare", "--dlbench-allow=no_baseline").ret == 0


def test_a_baseline_of_another_network_is_incomparable(suite):
    suite.saved_earlier()
    path = suite.baseline()
    baseline = read_file(path)
    path.write_bytes(encode(replace(baseline, context=replace(baseline.context, network_digest="0"))))
    result = suite.run("--dlbench-compare")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["incomparable: *", "*measured under different conditions:", "  network 0 → *"])


def test_a_baseline_of_another_machine_is_incomparable(suite):
    suite.saved_earlier()
    folder = suite.baseline().parent
    folder.rename(folder.parent / "linux-abacus-1cores-1gib")
    result = suite.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["incomparable: *", "*only for linux-abacus-1cores-1gib*"])
    assert suite.run("--dlbench-compare").ret == 1


def test_a_damaged_baseline_is_named_and_the_other_cases_are_judged(suite):
    suite.write(models=("softmax", "two-layers"))
    suite.saved_earlier()
    path = suite.baseline()
    path.write_text(path.read_text()[:200])
    result = suite.run(*WIDE)
    result.stdout.fnmatch_lines(
        [
            "numpy-two-layers-digits-cpu *",
            "damaged_baseline: numpy-softmax-digits-cpu",
            f"*damaged: *{path.name}: line *: not complete JSON*",
            "*restore it from version control, or delete it*",
        ]
    )
    result.stdout.no_fnmatch_line("numpy-two-layers-digits-cpu *damaged_baseline")


def test_an_unfinished_case_is_not_saved(suite):
    suite.write(builder="diverges")
    assert suite.run("--dlbench-save", "--dlbench-reason=x").ret == 1
    assert not list(suite.path.glob("baselines/**/*.json"))


def test_divergences_are_compared_with_the_stored_runs(suite):
    suite.saved_earlier()
    suite.write(builder="diverges")
    result = suite.run()
    assert result.ret == 1
    counted = (
        "0 of 3 runs of the baseline diverged, 5 of 5 of the candidate: the probability of at least this many more *"
    )
    result.stdout.fnmatch_lines(["diverged: training-numpy-softmax-*", "run 1 (seed 1): *", counted])


def test_two_ways_to_train_one_cell_must_have_labels(suite):
    two = "def test_{name}(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits', recipe={recipe}{label})\n"
    head = "from pytest_dlbench.model import SGD, Recipe\n"
    other = "Recipe(batch_size=16, epochs=1, optimizer=SGD(0.1))"
    first = two.format(name="a", recipe="None", label="")
    suite.write(test=head + first + two.format(name="b", recipe=other, label=""))
    clash = suite.run()
    clash.assert_outcomes(passed=1, failed=1)
    clash.stdout.fnmatch_lines(["*give them labels: dlbench.train(..., label='big-batch')"])
    suite.write(test=head + first + two.format(name="b", recipe=other, label=", label='small-batch'"))
    suite.run().assert_outcomes(passed=2)


def test_a_worker_that_leaks_fails_its_test_without_any_baseline(suite):
    suite.write(builder="leaks")
    # Scale smoke has too few steps to detect it.
    result = suite.run(
        "--dlbench-scale=quick", "--dlbench-columns=leak,verdict", "--dlbench-allow=invalid", "--junitxml=junit.xml"
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "regressed: training-numpy-softmax-digits-cpu-quick",
            "leak *regressed *0.00 % → *%, +*pp [[]+*, +*[]], tolerance 2pp",
            "  resident memory grows with the steps, whatever the baseline shows",
            "no baseline",
            "case *leak *verdict",
            "numpy-softmax-digits-cpu * % *regressed",
        ]
    )
    assert 'name="dlbench_leak_verdict" value="regressed"' in (suite.path / "junit.xml").read_text()
