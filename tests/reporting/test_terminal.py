import pytest

from pytest_dlbench.records import CaseOutcome, Pairing, VerdictOutcome
from pytest_dlbench.records.reasons import Difference, Portable, PortableUnused, Survivors, TooFew, Unavailable
from pytest_dlbench.reporting import terminal
from tests.doubles import records

EXPLAINED = sorted(terminal.EXPLAINED)


def result(name="training-pytorch-mnist-cnn-digits28-cpu-quick", **changes):
    return records.case_result(case=records.case(name), **changes)


# Notes


def test_missing_baselines_are_one_note_with_their_number():
    missing = [result(outcome=CaseOutcome.NO_BASELINE) for _ in range(4)]
    (note,) = terminal.notes(missing)
    assert "4 ×" in note
    assert "--dlbench-save --dlbench-reason" in note


def test_what_portable_baselines_say_is_a_note_for_each_case():
    verdicts = [records.verdict(metric=name, outcome=VerdictOutcome.EQUIVALENT) for name in ("first_loss", "accuracy")]
    used = Portable(path="p.json", saved="2026-11-20", why="the first figures")
    steps = Difference(name="steps", baseline=50, candidate=51)
    unused = PortableUnused(path="p.json", saved="2026-11-20", differences=(steps,))
    found = terminal.notes(
        [
            result(outcome=CaseOutcome.NO_BASELINE, verdicts=tuple(verdicts), reasons=(used,)),
            result(outcome=CaseOutcome.NO_BASELINE, reasons=(unused,)),
        ]
    )
    assert found[1:] == [
        "portable: pytorch-mnist-cnn-digits28-cpu: first_loss equivalent, accuracy equivalent",
        "portable: pytorch-mnist-cnn-digits28-cpu: not compared, because of other conditions: steps 50 → 51",
    ]


@pytest.mark.parametrize("outcome", EXPLAINED)
def test_an_outcome_that_fails_no_test_is_listed_with_its_reason(outcome):
    lines = terminal.notes([result(outcome=outcome, reasons=(Unavailable(problem="because\nof this"),))])
    assert lines[0].startswith(f"{outcome}: ")
    assert lines[1:] == ["  because", "  of this"]


@pytest.mark.parametrize("outcome", EXPLAINED)
def test_the_message_of_an_older_file_is_shown_unchanged(outcome):
    assert terminal.notes([result(outcome=outcome, message="because\n  of this")])[1:] == ["  because", "    of this"]


@pytest.mark.parametrize("outcome", EXPLAINED)
def test_cases_with_the_same_reason_are_listed_together(outcome):
    names = [f"training-net{number}-digits28-cpu-quick" for number in (1, 2)]
    results = [result(name, outcome=outcome, reasons=(Unavailable(problem="because"),)) for name in names]
    assert terminal.notes(results) == [f"{outcome}: net1-digits28-cpu, net2-digits28-cpu", "  because"]


def test_an_inconclusive_case_is_listed_with_its_undecided_metrics():
    verdicts = (
        records.verdict(metric="accuracy", outcome=VerdictOutcome.EQUIVALENT),
        records.verdict(metric="step_time", outcome=VerdictOutcome.INCONCLUSIVE),
    )
    heading, *lines = terminal.notes([result(outcome=CaseOutcome.INCONCLUSIVE, verdicts=verdicts)])
    assert heading.startswith("inconclusive: ")
    assert len(lines) == 1
    assert lines[0].startswith("  pytorch-mnist-cnn-digits28-cpu: step_time        inconclusive ")


def test_inconclusive_pairs_suggest_more_pairs_and_no_baseline():
    pairing = Pairing(old=records.case(), screened=6, confirmed=0, alpha=0.0, new_first=(True,) * 6, reasons={})
    undecided = {
        "outcome": CaseOutcome.INCONCLUSIVE,
        "verdicts": (records.verdict(outcome=VerdictOutcome.INCONCLUSIVE),),
    }
    heading, _ = terminal.notes([result(**undecided, pairing=pairing)])
    assert "--dlbench-max-runs" in heading
    assert "baseline" not in heading
    both, *_ = terminal.notes([result(**undecided, pairing=pairing), result(**undecided)])
    assert both.startswith(heading)
    assert "--dlbench-save" in both


def test_a_regression_is_listed_first_with_its_figures():
    results = [
        result(outcome=CaseOutcome.NO_BASELINE),
        result(outcome=CaseOutcome.REGRESSED, verdicts=(records.verdict(),)),
    ]
    heading, line, *_ = terminal.notes(results)
    assert heading.startswith("regressed: ")
    assert " ".join(line.split()).startswith("pytorch-mnist-cnn-digits28-cpu: step_time regressed 10.0 ms → 12.0 ms,")


def test_an_inconclusive_case_without_a_comparison_is_listed_with_its_reason():
    _, line = terminal.notes([result(outcome=CaseOutcome.INCONCLUSIVE, reasons=(TooFew(runs=1, needed=3),))])
    assert line.startswith("  pytorch-mnist-cnn-digits28-cpu: 1 of the 3 runs ")


def test_a_warning_is_listed_with_its_case():
    lines = terminal.notes([result(outcome=CaseOutcome.PASSED, cautions=(Survivors(names=("a", "b")),))])
    assert lines == [
        "warning: pytorch-mnist-cnn-digits28-cpu: workers left processes running, which were terminated: a, b"
    ]


def test_a_warning_of_an_older_file_is_shown_unchanged():
    lines = terminal.notes([result(outcome=CaseOutcome.PASSED, warnings=("neighbours",))])
    assert lines == ["warning: pytorch-mnist-cnn-digits28-cpu: neighbours"]


@pytest.mark.parametrize("outcome", [CaseOutcome.PASSED, CaseOutcome.CRASHED])
def test_an_outcome_that_its_test_reports_has_no_note(outcome):
    assert terminal.notes([result(outcome=outcome)]) == []


def test_every_outcome_is_reported_by_a_failure_a_pass_or_a_note():
    spoken = {
        CaseOutcome.PASSED,
        CaseOutcome.DIVERGED,
        CaseOutcome.OUT_OF_MEMORY,
        CaseOutcome.TIMEOUT,
        CaseOutcome.CRASHED,
        CaseOutcome.BROKEN_PROTOCOL,
        CaseOutcome.WRONG_VERSION,
        CaseOutcome.FAILED,
        CaseOutcome.MACHINE_LOST,
    }
    silent = [outcome for outcome in CaseOutcome if not terminal.notes([result(outcome=outcome)])]
    assert set(silent) == spoken


# Machine and journals


def test_the_machine_is_one_line_with_threads_and_scale():
    line = terminal.machine(records.machine(), (1, 2), "quick")
    for part in (records.machine().name, records.machine().cpu_model, "1 and 2 threads", "scale quick"):
        assert part in line


def test_only_journals_that_were_written_are_listed(tmp_path):
    (tmp_path / "there.jsonl").touch()
    shown = terminal.journals([str(tmp_path / "there.jsonl"), str(tmp_path / "not.jsonl")])
    assert shown == [f"journal: {tmp_path / 'there.jsonl'}"]


def test_a_saved_session_is_listed_with_its_changes():
    verdicts = (
        records.verdict(metric="accuracy", outcome=VerdictOutcome.EQUIVALENT),
        records.verdict(metric="step_time", outcome=VerdictOutcome.REGRESSED),
    )
    (line,) = terminal.notes([result(outcome=CaseOutcome.PASSED, saved=True, verdicts=verdicts)])
    assert line.startswith("saved: pytorch-mnist-cnn-digits28-cpu: step_time        regressed ")


def test_trainings_that_the_scale_ended_early_are_counted():
    results = [
        result(steps=20, recipe_steps=88),
        result(steps=20, recipe_steps=88),
        result(steps=10, recipe_steps=1650),
    ]
    assert terminal.notes(results) == [
        "scale quick: 20 of the recipe's 88 steps trained in 2 of 3 cases",
        "scale quick: 10 of the recipe's 1,650 steps trained in 1 of 3 cases",
    ]


@pytest.mark.parametrize("changes", [{"steps": 88, "recipe_steps": 88}, {"steps": 88}, {}], ids=["all", "old", "older"])
def test_a_complete_training_has_no_note(changes):
    assert terminal.notes([result(**changes)]) == []


SLIPPED = (records.verdict(outcome=VerdictOutcome.SUSPECT, change=1.22),)


def test_a_suspicion_is_listed_with_the_command_that_would_settle_it():
    heading, *lines = terminal.notes(
        [result(outcome=CaseOutcome.SUSPECT, verdicts=SLIPPED, reasons=(records.compared(pairs=records.in_pairs()),))]
    )
    assert heading.startswith("suspect: ")
    assert [line.split(": ")[1].split()[0] for line in lines] == ["step_time", "to"]
    assert ": to settle it: pytest bench/test_training.py::test_training " in lines[-1]
    assert lines[-1].endswith(" --dlbench-ab=pytorch==2.12.0,pytorch==2.13.0")


def test_the_command_in_an_older_file_is_shown_unchanged():
    older = result(outcome=CaseOutcome.SUSPECT, verdicts=SLIPPED, settled_by="pytest --dlbench-ab=a,b")
    assert terminal.notes([older])[-1].endswith(": to settle it: pytest --dlbench-ab=a,b")


def test_accumulated_change_and_drift_are_listed():
    _, anchored, drifted = terminal.notes(
        [result(outcome=CaseOutcome.SUSPECT, since_anchor=SLIPPED, drifting={"accuracy": 4})]
    )
    assert "since the reference session: step_time        suspect      10.0 ms → 12.0 ms, ratio 1.220" in anchored
    assert "accuracy has drifted down for 4 sessions" in drifted


def test_a_saved_session_is_listed_with_its_accumulated_change():
    (line,) = terminal.notes([result(outcome=CaseOutcome.PASSED, saved=True, since_anchor=SLIPPED)])
    assert line.startswith("saved: pytorch-mnist-cnn-digits28-cpu: since the reference session: step_time")
