"""Reasons as text: each test checks one fact that a reader must find."""

from dataclasses import replace
from typing import get_args

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.sequential import Reason
from pytest_dlbench.records import CaseOutcome, OperatorTime, Pairing, RunOutcome, VerdictOutcome
from pytest_dlbench.records import reasons as of
from pytest_dlbench.records.problems import TimedOut, WorkerDied
from pytest_dlbench.reporting import explain, problems
from pytest_dlbench.storing.recorded import Recorded
from tests.doubles import records

AGAIN = "pytest 'bench/test_training.py::test_training[pytorch-mnist-cnn-digits28-cpu]' --dlbench-scale=smoke"
ACCEPT = f"{AGAIN} --dlbench-save --dlbench-reason"
PAIRS = (
    "pytest bench/test_training.py::test_training --dlbench-models=mnist-cnn --dlbench-datasets=digits28"
    " --dlbench-devices=cpu --dlbench-scale=smoke --dlbench-build --dlbench-ab=pytorch==2.12.0,pytorch==2.13.0"
)
ANCHOR = "dlbench baseline anchor training-pytorch-mnist-cnn-digits28-cpu-quick --last"
SUSPECT = records.verdict(outcome=VerdictOutcome.SUSPECT, change=1.5, lower=1.412, upper=1.593, sessions=1)


def compared(*verdicts, result=None, **reason):
    """The text of a comparison with a baseline that has these verdicts."""
    return of_case(records.compared(**reason), verdicts=verdicts, **(result or {}))


def of_case(*reasons, **result):
    """The text of a case with these reasons."""
    return explain.message(records.case_result(reasons=reasons, **result))


def line_of(metric, text):
    (line,) = [line for line in text.splitlines() if line.strip().startswith(metric)]
    return line


# Compared


def test_a_comparison_names_its_baseline():
    heading = "compared with the baseline of 2026-11-20T10:00:00+00:00 (first baseline):\n"
    assert compared(records.verdict()).startswith(heading)


def test_a_comparison_has_the_number_of_sessions():
    assert "(first baseline) and 2 sessions before it:\n" in compared(records.verdict(), sessions=3)


def test_a_metric_has_its_verdict():
    assert line_of("step_time", compared(SUSPECT)).split()[1] == "suspect"


def test_a_metric_has_both_figures():
    assert "10.0 ms → 12.0 ms" in line_of("step_time", compared(SUSPECT))


def test_a_metric_that_a_side_lost_says_so():
    lost = records.verdict(new=None, change=None, lower=None, upper=None)
    assert "10.0 ms → none, no change known" in line_of("step_time", compared(lost))


def test_a_metric_has_the_ratio_and_its_interval():
    assert "ratio 1.500 [1.412, 1.593]" in line_of("step_time", compared(SUSPECT))


def test_a_metric_has_its_tolerance():
    assert line_of("step_time", compared(SUSPECT)).endswith("tolerance 5%")


def test_accuracy_is_in_points():
    lost = records.verdict(metric="accuracy", old=0.95, new=0.9, change=-5.0, lower=-5.37, upper=-4.63, tolerance=1.0)
    assert "95.00 % → 90.00 %, -5.00 pp [-5.37, -4.63], tolerance 1pp" in line_of("accuracy", compared(lost))


def test_every_judged_metric_has_a_line():
    metrics = ("step_time", "accuracy", "peak_rss")
    text = compared(*(records.verdict(metric=metric) for metric in metrics))
    assert all(line_of(metric, text) for metric in metrics)


def test_a_version_that_changed_is_named():
    changed = of.Difference(name="torch", baseline="2.12.0", candidate="2.13.0")
    assert "what changed in between:\n  torch 2.12.0 → 2.13.0" in compared(records.verdict(), versions=(changed,))


def test_a_recipe_setting_that_changed_is_named():
    changed = of.Difference(name="optimizer.momentum", baseline=0.9)
    assert "\n  optimizer.momentum 0.9 → none" in compared(records.verdict(), recipe=(changed,))


def test_a_comparison_without_changes_says_so():
    assert "what changed in between:\n  no version and no recipe setting" in compared(records.verdict())


@pytest.mark.parametrize("outcome", [VerdictOutcome.REGRESSED, VerdictOutcome.SUSPECT, VerdictOutcome.IMPROVED])
def test_a_finding_can_be_accepted(outcome):
    assert f"to accept the new figures: {ACCEPT}" in compared(records.verdict(outcome=outcome))


@pytest.mark.parametrize("outcome", [VerdictOutcome.EQUIVALENT, VerdictOutcome.INCONCLUSIVE])
def test_an_unchanged_metric_suggests_no_command(outcome):
    text = compared(records.verdict(outcome=outcome))
    assert "to accept" not in text
    assert "paired runs" not in text


@pytest.fixture
def undecided():
    """The text of an inconclusive comparison."""
    return compared(records.verdict(outcome=VerdictOutcome.INCONCLUSIVE, sessions=2))


def test_an_inconclusive_metric_has_the_sessions_and_runs_compared(undecided):
    assert "\ninconclusive (step_time): 2 sessions then and 3 runs now cannot resolve the tolerance" in undecided


def test_an_inconclusive_metric_has_remedies(undecided):
    assert "five or more sessions in the baseline (--dlbench-save) show how much sessions vary" in undecided
    assert undecided.endswith("or widen --dlbench-tolerance")


def test_an_inconclusive_metric_has_the_history_that_would_decide_it():
    def text(**needed):
        one = of.UndecidedSessions(**{"metric": "step_time", "sessions": None, "resolved": 0.0812, **needed})
        return compared(records.verdict(outcome=VerdictOutcome.INCONCLUSIVE, sessions=5), undecided=(one,))

    resolved = "this one resolves a tolerance of 8.2%"
    assert f"\n  step_time: 7 stored sessions that differ like these would decide it; {resolved}\n" in text(sessions=7)
    assert f"\n  step_time: no history that differs like this would decide it; {resolved}\n" in text()
    assert f"\n  peak_rss: {resolved}\n" in text(metric="peak_rss")


def test_more_sessions_are_not_suggested_if_sessions_vary_too_much():
    text = compared(records.verdict(outcome=VerdictOutcome.INCONCLUSIVE, sessions=5))
    assert "--dlbench-save" not in text
    assert "--dlbench-ab needs no baseline" in text


def test_a_metric_judged_without_a_baseline_is_not_reported_as_compared():
    leak = records.verdict(metric="leak", old=0.0, new=0.03, tolerance=2.0)
    text = of_case(of.Leaking(), records.compared(), verdicts=(records.verdict(), leak))
    assert text.startswith("leak ")
    assert text.count("leak ") == 1
    assert "resident memory grows with the steps" in text.splitlines()[1]


def test_a_saved_session_has_its_number_file_and_reason():
    first, later = (of.Saved(path="baselines/m/a.json", session=session, why="cudnn 9") for session in (1, 4))
    assert explain.text(first) == "saved as the first session of the baseline baselines/m/a.json (cudnn 9)"
    assert explain.text(later) == "saved as session 4 of the baseline baselines/m/a.json (cudnn 9)"


# Suspected


@pytest.fixture
def suspected():
    """The text of a suspicion."""
    return compared(SUSPECT, pairs=records.in_pairs())


def test_a_suspicion_has_its_number_of_sessions(suspected):
    assert "\nsuspect (step_time): 1 session cannot show how much sessions of this machine vary" in suspected


def test_a_suspicion_among_many_cases_says_so():
    many = compared(records.verdict(outcome=VerdictOutcome.SUSPECT, sessions=8))
    assert "suspect (step_time): in a session of as many cases, one is as much worse by chance too often" not in many
    settled = compared(records.verdict(outcome=VerdictOutcome.SUSPECT, sessions=8), pairs=records.in_pairs())
    assert "suspect (step_time): in a session of as many cases, one is as much worse by chance too often" in settled


def test_a_suspicion_has_the_command_that_settles_it(suspected):
    assert f"\npaired runs would settle it: {PAIRS}\n" in suspected


def test_without_a_version_change_the_sides_are_two_requirements_files():
    text = compared(SUSPECT, pairs=records.in_pairs(versions=None))
    assert "--dlbench-frameworks=pytorch " in text
    assert " --dlbench-ab=old.txt,new.txt\n" in text


def test_of_a_program_two_revisions_of_the_users_code_would_settle_it():
    again = records.again(node="test_ours.py::test_ours[32]", flags=("--dlbench-runs=9", "--dlbench-threads=2"))
    text = compared(SUSPECT, again=again, pairs=records.in_pairs(is_of_program=True))
    assert " pytest 'test_ours.py::test_ours[32]' --dlbench-threads=2 --dlbench-ab=rev:OLD,rev:HEAD\n" in text


def test_pairs_have_the_tolerance_that_was_typed():
    assert " --dlbench-tolerance=step_time:40% " in compared(
        SUSPECT, pairs=records.in_pairs(tolerances={"step_time": 0.4})
    )


def test_the_command_for_pairs_selects_its_cell_itself():
    flags = ("--dlbench-frameworks=a", "--dlbench-runs=9", "--dlbench-threads=2")
    text = compared(SUSPECT, again=records.again(flags=flags), pairs=records.in_pairs())
    command = text.partition("paired runs would settle it: ")[2].splitlines()[0]
    assert [flag in command for flag in flags] == [False, False, True]


def test_the_reference_session_has_its_date_and_how_to_move_it():
    text = compared(reference=records.reference(), result={"since_anchor": (SUSPECT,)})
    heading = "\nsince the reference session of 2026-11-01T10:00:00+00:00 (the start):\n  step_time        suspect"
    assert heading in text
    assert f"\nto accept what has added up: {ANCHOR}\n" in text


def test_a_baseline_elsewhere_is_named_in_the_command_that_moves_its_reference_session():
    moved = records.reference(move=of.MoveReference(baselines="figures"))
    assert f"{ANCHOR} --baselines figures\n" in compared(reference=moved, result={"since_anchor": (SUSPECT,)})


def test_a_reference_session_without_findings_need_not_move():
    same = records.verdict(outcome=VerdictOutcome.EQUIVALENT)
    assert ANCHOR not in compared(reference=records.reference(), result={"since_anchor": (same,)})


@pytest.mark.parametrize(("metric", "direction"), [("step_time", "up"), ("accuracy", "down")])
def test_a_drift_has_its_direction_and_its_length(metric, direction):
    text = compared(pairs=records.in_pairs(), result={"drifting": {metric: 3}})
    assert f"\n{metric} has drifted {direction} for 3 sessions" in text
    assert "suspect: not visible against the newest sessions" in text


# In pairs


@pytest.fixture
def pairing():
    """Six pairs, and three to confirm."""
    return Pairing(
        old=records.case(framework="mlx"),
        screened=6,
        confirmed=3,
        alpha=0.001,
        new_first=(True,) * 9,
        reasons={"step_time": "exhausted", "accuracy": "decided"},
        spreads={"step_time": 0.01},
    )


def paired(pairing, *verdicts, **changes):
    return of_case(of.Paired(again=records.again(), **changes), pairing=pairing, verdicts=verdicts)


def test_pairs_have_their_baseline_and_their_number(pairing):
    text = paired(pairing, records.verdict())
    heading = "compared with mlx in 6 pairs, and 3 fresh ones to confirm what those flagged:\n  step_time"
    assert text.startswith(heading)
    assert text.endswith(f"\nto run it again: {AGAIN}")


def test_pairs_have_the_reason_for_an_undecided_metric(pairing):
    undecided = records.verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    assert "\n  step_time: all pairs are used\n" in paired(pairing, undecided)


def test_pairs_have_what_would_decide_an_undecided_metric(pairing):
    verdict = records.verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    some = of.UndecidedPairs(metric="step_time", pairs=14, seconds=340.0, resolved=0.0712)
    none = of.UndecidedPairs(metric="step_time", pairs=None, seconds=None, resolved=None)
    assert (
        "\n  step_time: all pairs are used; about 14 pairs would decide it (6 min; --dlbench-max-runs,"
        " --dlbench-budget), or these pairs resolve a tolerance of 7.2% (--dlbench-tolerance=step_time:7.2%)\n"
    ) in paired(pairing, verdict, undecided=(some,))
    assert (
        "\n  step_time: all pairs are used; not even 20 pairs like these would decide it:"
        " repeat the case when the machine is less busy\n"
    ) in paired(pairing, verdict, undecided=(none,))


def test_pairs_that_nothing_decides_have_the_tolerance_that_they_resolve(pairing):
    verdict = records.verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    wide = of.UndecidedPairs(metric="step_time", pairs=None, seconds=None, resolved=0.0712)
    text = paired(pairing, verdict, undecided=(wide,))
    assert "; not even 20 pairs like these would decide it; these pairs resolve a tolerance of 7.2%" in text
    held = of.UndecidedPairs(metric="step_time", pairs=None, seconds=None, resolved=None, resolvable=0.0712)
    assert (
        "; not even 20 pairs like these would decide it; 20 would resolve a tolerance of 7.2%"
        " (--dlbench-tolerance=step_time:7.2%)\n"
    ) in paired(pairing, verdict, undecided=(held,))


def test_an_open_confirmation_says_that_its_pairs_are_fresh(pairing):
    verdict = records.verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    one = of.UndecidedPairs(metric="step_time", pairs=9, seconds=600.0, resolved=None, is_confirmation=True)
    assert "; about 9 fresh pairs after the first ones would decide it (10 min; " in paired(
        pairing, verdict, undecided=(one,)
    )


def test_what_was_not_confirmed_asks_for_time_or_for_a_session_of_its_own(pairing):
    verdict = records.verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    one = of.UndecidedPairs(metric="step_time", pairs=5, seconds=300.0, resolved=None, is_confirmation=True)
    unconfirmed = replace(pairing, reasons={"step_time": "unconfirmed"})
    assert "would decide it (5 min; --dlbench-budget, or this case in a session of its own)\n" in paired(
        unconfirmed, verdict, undecided=(one,)
    )


def test_a_figure_that_is_not_finite_says_where_the_figures_are(pairing):
    lost = replace(pairing, reasons={"step_time": "not_finite"})
    text = paired(lost, records.verdict(outcome=VerdictOutcome.INCONCLUSIVE))
    assert "; no number of pairs would decide it: dlbench runs show has the figures of each run\n" in text


def test_what_was_decided_at_once_is_said(pairing):
    early = replace(pairing, screened=4, confirmed=0, reasons={"step_time": "at_once"})
    text = paired(early, records.verdict(outcome=VerdictOutcome.REGRESSED))
    assert (
        "\n  step_time: decided at once: every pair is beyond the tolerance by more than earlier runs differ\n" in text
    )


def test_pairs_that_contradict_each_other_are_to_be_repeated(pairing):
    verdict = records.verdict(outcome=VerdictOutcome.INCONCLUSIVE)
    one = of.UndecidedPairs(metric="step_time", pairs=None, seconds=None, resolved=None, is_contradictory=True)
    assert "; later pairs contradict earlier ones, as if the machine had changed: repeat the case\n" in paired(
        pairing, verdict, undecided=(one,)
    )


def test_a_metric_that_too_few_runs_have_asks_for_longer_ones(pairing):
    few = replace(pairing, reasons={"leak": "few_pairs"})
    text = paired(few, records.verdict(metric="leak", outcome=VerdictOutcome.INCONCLUSIVE))
    assert "\n  leak: too few pairs; 3 would decide it whose runs are long enough to show it (a larger " in text


def test_a_metric_that_does_not_decide_says_so(pairing):
    text = paired(pairing, records.verdict(outcome=VerdictOutcome.INCONCLUSIVE, decides=False))
    assert ", does not decide\n" in text
    assert "all pairs are used" not in text


def test_pairs_list_the_phases_that_changed(pairing):
    phase = of.PhaseChange(phase="import", baseline=1.0, candidate=0.75)
    assert "longer or shorter:\n  import     1.00 s → 750 ms, 250 ms shorter\n" in paired(pairing, phases=(phase,))
    assert "longer or shorter:\n  nothing\n" in paired(pairing)


def test_pairs_list_the_differences_of_the_sides(pairing):
    changed = of.Difference(name="torch", baseline="2.12.0", candidate="2.13.0")
    assert "baseline and candidate:\n  torch 2.12.0 → 2.13.0\n" in paired(pairing, versions=(changed,))
    assert "baseline and candidate:\n  nothing\n" in paired(pairing)


@pytest.mark.parametrize(("kind", "words"), [("worse", "now delays some"), ("better", "fewer steps")])
def test_pairs_report_stalls(pairing, kind, words):
    verdicts = [records.verdict(metric=metric) for metric in ("step_time", "step_time_median")]
    text = paired(pairing, *verdicts, stall=kind)
    assert "the median step regressed, the 10 % quantile regressed; " in text
    assert words in text


def test_pairs_report_the_time_to_the_target(pairing):
    times = of.TimeToTarget(
        target=0.9,
        baseline=10.0,
        candidate=12.0,
        horizon=20.0,
        longer=2.0,
        lower=1.0,
        upper=None,
        p_value=0.04,
        missed=(0, 1),
        runs=(5, 6),
    )
    text = paired(pairing, time_to_target=times)
    assert "time to an accuracy of 90 %: 10.0 s → 12.0 s of the first 20.0 s, +2 s [+1, unknown], " in text
    assert "log-rank p 0.04; 0 of 5 and 1 of 6 runs never reached it" in text


def test_a_measured_spread_has_its_number_of_runs(pairing):
    known = Pairing(**{name: getattr(pairing, name) for name in pairing.__slots__} | {"reference_runs": 10})
    assert "(two consecutive runs of 10 earlier ones differ by 1% in step_time)" in paired(known)


def test_a_profile_has_the_operators_that_changed():
    operators = (OperatorTime(name="wait", old=0.0, new=0.004), OperatorTime(name="copy", old=0.001, new=0.0))
    _, first, second = of_case(of.Profiled(), operators=operators).splitlines()
    assert first.split(maxsplit=1) == ["wait", "none → 4.00 ms, +4.00 ms"]
    assert second.split(maxsplit=1) == ["copy", "1.00 ms → none, -1.00 ms"]


def test_a_profile_that_failed_has_the_reason():
    assert explain.text(of.NotProfiled(problem="it has none")) == "not profiled: it has none"
    died = WorkerDied(request="profile", cause="memory")
    assert explain.text(of.NotProfiled(problem="", run_problem=died)) == f"not profiled: {problems.text(died)}"
    only = "only trainings of networks are, and this case is of the kind program"
    assert explain.text(of.NotProfiled(problem="", purpose="program")) == f"not profiled: {only}"


# No comparison


def test_too_few_runs_have_both_numbers_and_the_flag():
    assert explain.text(of.TooFew(runs=1, needed=3)) == "1 of the 3 runs that a comparison needs: --dlbench-runs 3"


def test_a_session_of_a_failed_test_was_not_saved():
    assert of_case(of.NotSaved(cause="failed")) == "not saved: the test failed"


def test_a_session_that_could_not_be_saved_has_the_problem():
    assert of_case(of.NotSaved(cause="problem", problem="a.json cannot be written\n  do this")).splitlines() == [
        "not saved: a.json cannot be written",
        "  do this",
    ]


def test_a_session_that_replaces_others_says_how_many():
    saved = of.Saved(path="a.json", session=1, why="x", replaced=11)
    assert of_case(saved).endswith("(x), instead of 11 sessions of other conditions")


def test_a_gain_that_is_too_good_to_be_true_lists_what_to_check():
    gain = of.Gain(metric="step_time", times=165.2)
    first, *others = of_case(of.TooGood(gains=(gain,), limit=3.0)).splitlines()
    assert first.startswith("suspect, too good to be true: step_time is 165 times as good as before")
    assert others == [f"  {line}" for line in explain.TO_CHECK]


def test_a_gain_that_could_be_saved_has_the_command():
    gain = of.Gain(metric="step_time", times=4.0)
    shown = of_case(of.TooGood(gains=(gain,), limit=3.0, again=records.again())).splitlines()
    assert shown[-1].startswith(f"to save it if all that is right: {ACCEPT} ")
    assert shown[-1].endswith(" --dlbench-allow=suspect")


def test_a_gain_is_not_called_a_suspicion_of_few_sessions():
    gain = records.verdict(outcome=VerdictOutcome.SUSPECT, metric="peak_rss", change=0.2)
    found = compared(SUSPECT, gain, pairs=records.in_pairs())
    assert "suspect (step_time): 1 session cannot show" in found


def test_no_baseline_has_the_command_that_saves_one():
    text = explain.text(of.NoBaseline(machine="linux-acme", again=records.again()))
    assert text == f'no baseline\nto save one: {ACCEPT} "first baseline"'


def test_a_missing_baseline_lists_the_machines_that_have_one():
    reason = of.NoBaseline(machine="linux-acme", others=("linux-beta", "linux-zeta"), again=records.again())
    text = explain.text(reason)
    assert text.startswith("no baseline for linux-acme, only for linux-beta, linux-zeta: ")
    assert ACCEPT in text


def portable(*verdicts):
    reason = of.Portable(path="baselines/portable/case.json", saved="2026-11-20", why="the first figures")
    return explain.message(records.case_result(verdicts=verdicts, reasons=(reason,)))


def test_a_portable_baseline_says_what_it_judged_and_what_has_nothing_to_compare_with():
    text = portable(records.verdict(metric="accuracy", outcome=VerdictOutcome.EQUIVALENT, change=0.0, tolerance=1.0))
    assert text.startswith("what does not depend on the machine, compared with the portable baseline of 2026-11-20")
    assert "  accuracy         equivalent " in text
    assert text.endswith("time, memory and whatever else depends on the machine: nothing to compare with")
    assert "to accept" not in text


def test_a_change_against_a_portable_baseline_has_the_command_that_accepts_it_on_every_machine():
    lost = records.verdict(metric="accuracy", outcome=VerdictOutcome.REGRESSED, change=-5.0, tolerance=1.0)
    command = f"dlbench baseline portable .dlbench --case {records.case().id} --reason"
    assert f"to accept the new figures on every machine: {command}" in portable(lost)


def test_an_unused_portable_baseline_lists_what_differs(differences):
    text = explain.text(of.PortableUnused(path="p.json", saved="2026-11-20", differences=differences))
    assert text == (
        "the portable baseline of 2026-11-20 is not used: it was made under different conditions:\n"
        "  steps 50 → 51\n"
        "  batch size 64 → 128"
    )


@pytest.fixture
def differences():
    """The differences of two contexts."""
    return (
        of.Difference(name="steps", baseline=50, candidate=51),
        of.Difference(name="batch size", baseline=64, candidate=128),
    )


def test_an_incomparable_baseline_lists_every_difference_and_how_to_replace_it(differences):
    text = explain.text(of.Incomparable(saved="2026-11-20", differences=differences, again=records.again()))
    assert text.startswith("the baseline of 2026-11-20 was measured under different conditions:\n")
    assert "\n  steps 50 → 51\n  batch size 64 → 128\n" in text
    assert f"to replace it: {ACCEPT}" in text


def test_two_incomparable_records_list_every_difference(differences):
    text = explain.text(of.Incomparable(differences=differences))
    assert text.endswith(" different conditions:\n  steps 50 → 51\n  batch size 64 → 128")


def test_a_damaged_baseline_has_its_path_the_problem_and_the_advice():
    text = explain.text(of.DamagedBaseline(path="b/a.json", problem="not JSON @ $.a\n  restore it"))
    assert text == "the baseline is damaged: b/a.json: not JSON @ $.a\n  restore it"


def test_invalid_runs_have_their_reasons_and_advice():
    runs = (of.InvalidRun(index=0, seed=1, reasons=(of.OnBattery(), "hot"), side="candidate"),)
    text = explain.text(of.Invalid(runs=runs, repeats=2))
    assert text.startswith("invalid, as were 2 repetitions; neither compared nor saved:\n")
    assert "\n  candidate, run 1 (seed 1): the machine ran on its battery\n  candidate, run 1 (seed 1): hot\n" in text
    assert "--dlbench-allow invalid" in text


# Runs that did not finish


def unfinished(outcome=RunOutcome.TIMEOUT, message="no answer in time", **changes):
    return of.Unfinished(index=1, seed=8, outcome=outcome, message=message, **changes)


def test_an_unfinished_run_has_its_number_and_seed():
    assert explain.text(unfinished()) == "run 2 (seed 8): no answer in time"


def test_an_unfinished_run_has_the_sentence_about_its_problem():
    late = TimedOut(request="train", limit_seconds=30.0)
    assert explain.text(unfinished(message="", problem=late)) == f"run 2 (seed 8): {problems.text(late)}"


def test_an_unfinished_run_quotes_the_last_output_of_the_worker():
    text = explain.text(unfinished(log=("loading", "Segmentation fault")))
    assert text.endswith("\nthe worker's last output:\n  | loading\n  | Segmentation fault")


def test_a_traceback_is_quoted_as_it_is():
    text = explain.text(unfinished(message="KeyError: 1\nTraceback:\n  File 'a'"))
    assert text == "run 2 (seed 8): KeyError: 1\nTraceback:\n  File 'a'"


def test_an_unfinished_run_of_a_pair_has_its_side():
    text = explain.text(unfinished(side="candidate", framework="mlx"))
    assert text == "the candidate, mlx, did not finish (timeout):\nrun 2 (seed 8): no answer in time"


@pytest.mark.parametrize("outcome", [RunOutcome.MISSING_FRAMEWORK, RunOutcome.MISSING_DATA])
def test_a_missing_framework_or_data_set_is_described_by_its_own_message(outcome):
    message = "not built\n  to build it: dlbench env build mxnet"
    assert explain.text(unfinished(outcome, message)) == message


def test_divergences_are_counted_on_both_sides():
    reason = of.Diverged(baseline=0, baseline_runs=3, candidate=5, candidate_runs=6, chance=0.012)
    text = "0 of 3 runs of the baseline diverged, 5 of 6 of the candidate: the probability of at least this many more "
    assert explain.text(reason) == f"{text}by chance is 1.2%"


# Tolerances


def too_tight(**changes):
    metrics = (of.TightTolerance(metric="step_time", asked=0.001, smallest=0.0165),)
    return of.ToleranceTooTight(metrics=metrics, **{"basis": "any", **changes})


def test_a_tolerance_that_is_too_tight_has_the_smallest_and_the_option():
    text = explain.error(of.ToleranceTooTightError("a-case", too_tight(pairs=20)))
    first, second, third = text.splitlines()
    assert first == "a-case: tolerance too tight: 20 pairs cannot resolve it:"
    detectable = "the minimum detectable change is 1.7% (90 % power), on any machine"
    assert second == f"  step_time: 0.1% was requested, {detectable}"
    assert third.endswith(" --dlbench-tolerance=step_time:1.7%")


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        ("sessions", "given how sessions and runs vary here"),
        ("runs", "given how 10 consecutive runs vary here"),
        ("calibration", "given how runs varied in dlbench calibrate"),
        ("any", "on any machine"),
    ],
)
def test_a_tolerance_that_is_too_tight_has_the_basis_of_that(basis, words):
    assert words in explain.too_tight("a", too_tight(basis=basis, reference_runs=10))


# Everything


def test_every_reason_has_a_text():
    kinds = {*get_args(of.Reason), *get_args(of.NotPlanted)}
    assert kinds <= explain._explained.registry.keys()


def test_every_way_in_which_pairs_end_has_a_text():
    assert explain.STOPPED.keys() == {*Reason}


def test_the_reasons_of_a_case_keep_their_order():
    text = of_case(of.Saved(path="p", session=1, why="w"), of.TooFew(runs=1, needed=3))
    assert [line.split()[0] for line in text.splitlines()] == ["saved", "1"]


def test_an_error_without_a_reason_is_its_own_text():
    assert explain.error(DlbenchError("what\n  to do")) == "what\n  to do"


def test_an_error_that_carries_a_run_has_its_text():
    assert explain.error(of.NotFinishedError(unfinished())) == "run 2 (seed 8): no answer in time"


def test_an_error_of_a_worker_that_makes_no_run_has_its_problem_and_its_last_output():
    died = WorkerDied(request="build", cause="status", number=3)
    assert explain.error(of.ProblemError(died, ("loading", "giving up"))).splitlines() == [
        "the worker died during 'build' (exit status 3)",
        "loading",
        "giving up",
    ]


def test_two_tests_of_one_case_are_named_with_the_remedy():
    text = explain.error(of.SharedCaseError("a-case", ("t.py::a", "t.py::b")))
    assert text.startswith("t.py::a and t.py::b train the case 'a-case' differently")
    assert "label='big-batch'" in text


def test_golden_losses_of_other_conditions_list_the_differences():
    steps = of.Difference(name="steps", baseline=10, candidate=20)
    text = explain.error(of.OtherGoldenError("a-case", (steps,)))
    assert "\n  steps 10 → 20\n  make new golden losses" in text


# For readers that do not render reasons themselves


def test_rendered_results_have_texts_alongside_the_data():
    found = records.case_result(
        outcome=CaseOutcome.SUSPECT,
        verdicts=(SUSPECT,),
        reasons=(records.compared(pairs=records.in_pairs()),),
        cautions=(of.Survivors(names=("a",)),),
    )
    shown = explain.rendered(found)
    assert (shown.message, shown.settled_by) == (explain.message(found), PAIRS)
    assert shown.warnings == ("workers left processes running, which were terminated: a",)


def test_runs_and_trials_have_texts_alongside_the_data():
    died = WorkerDied(request="train", cause="status", number=3)
    search = replace(records.search(), trials=(replace(records.search().trials[0], problem=died),))
    ended = records.unfinished(RunOutcome.CRASHED, "", problem=died, search=search)
    case = Recorded(record=records.record([ended]), result=records.case_result(), old=records.record([ended]))
    shown = explain.with_texts(case)
    (run,), (old,) = shown.record.runs, shown.old.runs
    assert run.message == old.message == run.search.trials[0].message == problems.text(died)
    assert explain.with_texts(shown) == shown


def test_the_message_of_an_older_file_is_unchanged():
    older = records.case_result(message="slower\n  by far", warnings=("busy",), settled_by="pytest")
    assert explain.message(older) == older.message
    assert explain.rendered(older) == older
