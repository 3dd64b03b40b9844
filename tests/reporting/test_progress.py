import re
from dataclasses import replace

import pytest

from pytest_dlbench.records import CaseOutcome, RunOutcome
from pytest_dlbench.records.problems import Holder
from pytest_dlbench.reporting.progress import SHORTEST_NAME, SILENCE_SECONDS, Counted, Live, orphans
from pytest_dlbench.running.progress import phase
from pytest_dlbench.running.waits import Wait
from tests.doubles import records

CASE = records.case()
CLEARED = "\r\x1b[2K"


class Screen:
    """A screen that keeps what is written."""

    def __init__(self, *, is_rewritable, columns=200):
        self.is_rewritable, self.columns = is_rewritable, columns
        self.written = []

    def write(self, text):
        self.written.append(text)

    @property
    def last(self):
        return self.written[-1]


@pytest.fixture
def terminal():
    return Screen(is_rewritable=True)


@pytest.fixture
def pipe():
    return Screen(is_rewritable=False)


class Clock:
    """A clock that stands still until it is set."""

    seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("pytest_dlbench.reporting.progress.monotonic", clock)
    return clock


def live(screen, cases=2):
    return Live(screen, Counted(cases))


class Planned:
    """Cases of known lengths: seconds of a run and the number of runs, for each."""

    def __init__(self, *cases):
        self.cases, self.running = cases, 1

    @property
    def count(self):
        return len(self.cases)

    def number(self, case):  # noqa: ARG002 - as the agenda is asked
        return self.running

    def of_run(self, number):
        return self.cases[number - 1][0]

    def after(self, number, runs):  # noqa: ARG002
        return sum(seconds * runs for seconds, runs in self.cases[number:])


def finish(progress, case=CASE, runs=3):
    """All runs of a case."""
    for index in range(runs):
        progress.run_started(case, index, runs)
        progress.run_finished(case, records.run(index + 1, case=case.id), index, runs)


# On a terminal


def test_a_terminal_has_one_line_that_is_overwritten(terminal):
    finish(live(terminal))
    for text in terminal.written:
        assert text.startswith(CLEARED)
        assert "\n" not in text


def test_a_terminal_shows_a_run_when_it_starts(terminal):
    live(terminal).run_started(CASE, 0, 3)
    assert terminal.last == f"{CLEARED}case 1 of 2, run 1 of 3: {CASE.id}"


def test_the_line_can_be_erased(terminal):
    progress = live(terminal)
    progress.run_started(CASE, 0, 3)
    progress.clear()
    assert terminal.last == CLEARED


def test_a_line_is_no_longer_than_the_terminal():
    narrow = Screen(is_rewritable=True, columns=30)
    live(narrow).run_started(CASE, 0, 3)
    assert len(narrow.last.removeprefix(CLEARED)) == 29


def test_an_erased_line_is_not_erased_again(terminal):
    progress = live(terminal)
    progress.run_started(CASE, 0, 3)
    progress.clear()
    progress.clear()
    assert terminal.written.count(CLEARED) == 1


def test_on_a_terminal_that_is_gone_clearing_is_tried_once(terminal, monkeypatch):
    progress = live(terminal)
    progress.run_started(CASE, 0, 3)

    def fail(_):
        raise OSError("the terminal is gone")

    monkeypatch.setattr(terminal, "write", fail)
    with pytest.raises(OSError, match="gone"):
        progress.clear()
    progress.clear()


# Without a terminal


def test_without_a_terminal_each_finished_run_is_one_plain_line(pipe):
    finish(live(pipe))
    assert len(pipe.written) == 3
    for text in pipe.written:
        assert re.fullmatch(r"[^\r\x1b\n]+\n", text)


def test_without_a_terminal_nothing_is_written_before_a_run(pipe):
    live(pipe).run_started(CASE, 0, 3)
    assert pipe.written == []


def test_without_a_terminal_nothing_is_erased(pipe):
    live(pipe).clear()
    assert pipe.written == []


def test_without_a_terminal_a_long_line_is_not_cut():
    narrow = Screen(is_rewritable=False, columns=30)
    finish(live(narrow), runs=1)
    assert len(narrow.last) > 60


def test_a_finished_run_is_shown_with_its_figures(pipe):
    live(pipe).run_finished(CASE, records.run(), 0, 3)
    assert f"{CASE.id}: 6,400 samples/s, 10.0 ms, 95.00 %" in pipe.last


def test_an_unfinished_run_is_shown_with_its_outcome_and_first_line(pipe):
    failed = records.unfinished(RunOutcome.FAILED, "ValueError: no such layer\nTraceback")
    live(pipe).run_finished(CASE, failed, 0, 3)
    assert "failed (ValueError: no such layer)" in pipe.last


def test_an_unfinished_run_without_a_message_is_shown_with_its_outcome(pipe):
    live(pipe).run_finished(CASE, records.unfinished(RunOutcome.FAILED, ""), 0, 3)
    assert f"{CASE.id}: failed ()" in pipe.last


@pytest.mark.parametrize("outcome", sorted(set(RunOutcome) - {RunOutcome.FINISHED}))
def test_every_outcome_of_an_unfinished_run_is_shown(pipe, outcome):
    live(pipe).run_finished(CASE, records.unfinished(outcome), 0, 3)
    assert f"{outcome} (it went wrong)" in pipe.last


# Position and time


@pytest.mark.parametrize("is_rewritable", [True, False])
def test_a_line_has_the_numbers_of_the_case_and_the_run(is_rewritable):
    screen = Screen(is_rewritable=is_rewritable)
    finish(live(screen, cases=7))
    assert "case 1 of 7, run 3 of 3:" in screen.last


def test_the_second_case_is_the_second(pipe):
    progress = live(pipe)
    finish(progress)
    finish(progress, records.case("training-jax"))
    assert "case 2 of 2, run 3 of 3: training-jax:" in pipe.last


def test_a_case_keeps_its_number(pipe):
    progress = live(pipe)
    finish(progress)
    finish(progress, records.case("training-jax"))
    finish(progress, runs=1)
    assert pipe.last.startswith("case 1 of 2,")


def test_the_number_of_cases_grows_with_tests_that_have_several(pipe):
    progress = live(pipe, cases=1)
    finish(progress)
    finish(progress, records.case("training-jax"))
    assert pipe.last.startswith("case 2 of 2,")


def test_before_the_first_run_no_time_left_is_shown(terminal):
    live(terminal).run_started(CASE, 0, 3)
    assert "left" not in terminal.last


@pytest.mark.parametrize("is_rewritable", [True, False])
def test_after_the_first_run_the_time_left_is_shown(is_rewritable):
    screen = Screen(is_rewritable=is_rewritable)
    progress = live(screen)
    finish(progress)
    progress.run_started(records.case("training-jax"), 0, 3)
    assert re.search(r", about \d+ s left", screen.last)


def test_time_before_the_first_run_does_not_count_towards_the_time_left(terminal, clock):
    progress = live(terminal, cases=1)
    clock.seconds += 500
    progress.run_started(CASE, 0, 3)
    clock.seconds += 10
    progress.run_finished(CASE, records.run(), 0, 3)
    progress.run_started(CASE, 1, 3)
    assert terminal.last.endswith(", about 20 s left")


def test_the_time_left_is_at_most_that_of_the_budget(pipe, clock):
    progress = Live(pipe, Counted(1), 60)
    progress.run_started(CASE, 0, 20)
    clock.seconds += 50
    progress.run_finished(CASE, records.run(), 0, 20)
    assert pipe.last.rstrip().endswith(", about 10 s left")
    progress.run_started(CASE, 1, 20)
    clock.seconds += 50
    progress.run_finished(CASE, records.run(), 1, 20)
    assert pipe.last.rstrip().endswith(", budget spent")


def test_after_the_last_run_of_the_last_case_no_time_is_left(pipe):
    finish(live(pipe, cases=1))
    assert "left" not in pipe.last


def estimates(screen):
    """The times left of all lines, in seconds."""
    found = re.findall(r"about (?:(\d+) min )?(\d+) s left", "".join(screen.written))
    return [60 * int(minutes or 0) + int(seconds) for minutes, seconds in found]


def test_the_time_left_does_not_climb_from_quick_cases_to_slow_ones(terminal, clock):
    planned = Planned((2.0, 1), (2.0, 1), (10.0, 3), (40.0, 3))
    progress = Live(terminal, planned)
    for number, (seconds, runs) in enumerate(planned.cases, start=1):
        planned.running = number
        for index in range(runs):
            progress.run_started(CASE, index, runs)
            # This machine takes three times as long as planned.
            clock.seconds += 3 * seconds / 2
            progress.phase_began("evaluation")
            clock.seconds += 3 * seconds / 2
            progress.run_finished(CASE, records.run(index + 1), index, runs)
    shown = estimates(terminal)
    assert shown[0] == 3 * (2 + 30 + 120)
    assert len(shown) == 14
    assert shown == sorted(shown, reverse=True)


def test_waiting_between_two_runs_does_not_change_the_time_left(terminal, clock):
    progress = live(terminal, cases=1)
    progress.run_started(CASE, 0, 3)
    clock.seconds += 10
    progress.run_finished(CASE, records.run(), 0, 3)
    progress.waiting(CASE, Wait(device="cpu", holders=(), seconds=0.5))
    clock.seconds += 600
    progress.run_started(CASE, 1, 3)
    assert terminal.last.endswith(", about 20 s left")


# Other processes


HOLDER = Holder(user="ann", pid=4711, command="pytest bench --dlbench-scale=full", since=1.8e9)


@pytest.mark.parametrize("is_rewritable", [True, False])
def test_waiting_is_shown_with_holder_command_and_way_out_however_narrow_the_screen(is_rewritable):
    screen = Screen(is_rewritable=is_rewritable, columns=80)
    live(screen).waiting(CASE, Wait(device="cpu", holders=(HOLDER,), seconds=0.5))
    assert screen.last.startswith("waiting for cpu now: ann uses it since ")
    assert "(process 4711: pytest bench --dlbench-scale=full)" in screen.last
    assert "Ctrl-C, or --dlbench-wait=TIME" in screen.last
    assert screen.last.endswith(f"case: {CASE.id}\n")


def test_a_longer_wait_is_shown_with_its_time_and_limit(terminal):
    live(terminal).waiting(CASE, Wait(device="cpu", holders=(HOLDER,), seconds=120.0, limit_seconds=600.0))
    assert terminal.last.startswith("waiting for cpu for 2 min 00 s, at most 10 min 00 s: ann uses it since ")


def test_waiting_for_nobody_known_is_shown(pipe):
    live(pipe).waiting(CASE, Wait(device="gpu", holders=(), seconds=0.5))
    assert pipe.last.startswith("waiting for gpu now: another session uses it, whose name is not known")


def test_what_a_killed_session_left_running_is_shown_in_one_line():
    text = orphans({12: "python3", 7: "sleep"})
    assert text == "dlbench: ended what a killed session had left running: sleep (7), python3 (12)"


def test_a_case_of_another_process_is_one_line_with_its_outcome(pipe):
    progress = live(pipe)
    progress.case_finished(records.case_result())
    assert pipe.last == f"\ncase 1: {CASE.id}: passed, 5,800 samples/s\n"


def test_a_case_of_another_process_without_figures_is_shown(pipe):
    live(pipe).case_finished(records.case_result(figures={}, outcome=CaseOutcome.TIMEOUT))
    assert pipe.last == f"\ncase 1: {CASE.id}: timeout, nothing measured\n"


def test_each_case_of_a_cluster_is_shown_with_the_hosts_that_ran_it(pipe, terminal):
    live(pipe).case_finished(records.case_result(), ["one", "two"])
    assert pipe.last == f"\ncase 1: {CASE.id}: passed, 5,800 samples/s on one, two\n"
    run = replace(records.inferred(), host="one")
    live(pipe).run_finished(CASE, run, 0, 1)
    assert pipe.last.endswith(": 80.0 samples/s, 100 ms on one\n")
    progress = live(terminal)
    progress.run_finished(CASE, run, 0, 2)
    progress.run_started(CASE, 1, 2)
    assert ", last 80.0 samples/s on one" in terminal.last


def test_inference_is_shown_with_its_latency(pipe):
    live(pipe).run_finished(CASE, records.inferred(), 0, 1)
    assert pipe.last.endswith(": 80.0 samples/s, 100 ms\n")


def test_a_terminal_shows_the_last_throughput_and_the_outcomes_so_far(terminal):
    progress = live(terminal)
    finish(progress)
    for outcome in (CaseOutcome.PASSED, CaseOutcome.REGRESSED, CaseOutcome.PASSED):
        progress.case_judged(outcome)
    progress.run_started(records.case("another"), 0, 3)
    assert re.search(r": another, last 6,400 samples/s, about \d+ s left, so far 2 passed, 1 regressed$", terminal.last)


# Phases


def test_a_terminal_shows_each_phase_after_the_case(terminal):
    progress = live(terminal)
    progress.run_started(CASE, 0, 3)
    progress.phase_began("import")
    assert terminal.last == f"{CLEARED}case 1 of 2, run 1 of 3: {CASE.id}, import"
    progress.phase_began("evaluation")
    assert terminal.last == f"{CLEARED}case 1 of 2, run 1 of 3: {CASE.id}, evaluation"


def test_a_phase_of_a_pair_has_the_pair_and_the_side(terminal):
    progress = live(terminal)
    progress.run_started(CASE, 3, 8, "baseline, jax")
    progress.phase_began("build")
    assert terminal.last == f"{CLEARED}case 1 of 2, pair 2 of 4: {CASE.id} (baseline, jax), build"


def test_a_long_name_is_shortened_to_make_room_for_the_phase():
    screen = Screen(is_rewritable=True, columns=78)
    progress = live(screen)
    case = records.case("x" * 60)
    progress.run_started(case, 0, 3)
    progress.phase_began("first step and 19 more")
    assert screen.last == f"{CLEARED}case 1 of 2, run 1 of 3: {'x' * 27}…, first step and 19 more"
    assert len(screen.last.removeprefix(CLEARED)) == 77


def test_a_name_is_not_shortened_beyond_recognition():
    narrow = Screen(is_rewritable=True, columns=60)
    progress = live(narrow)
    progress.run_started(records.case("x" * 60), 0, 3)
    progress.phase_began("first step and 19 more")
    assert f"{'x' * (SHORTEST_NAME - 1)}…" in narrow.last
    assert len(narrow.last.removeprefix(CLEARED)) == 59


def test_without_a_terminal_phases_are_not_printed(pipe):
    progress = live(pipe)
    for index in range(3):
        progress.run_started(CASE, index, 3)
        for doing in ("import", "build", "evaluation"):
            progress.phase_began(doing)
        progress.run_finished(CASE, records.run(index + 1), index, 3)
    assert len(pipe.written) == 3


def test_without_a_terminal_a_phase_is_printed_once_after_minutes_of_silence(pipe, clock):
    progress = live(pipe)
    progress.run_started(CASE, 0, 3)
    progress.phase_began("import")
    clock.seconds += SILENCE_SECONDS + 1
    progress.phase_began("steps 1,001 to 2,000 of 9,000")
    progress.phase_began("evaluation")
    assert pipe.written == [f"case 1 of 2, run 1 of 3: {CASE.id}, steps 1,001 to 2,000 of 9,000\n"]


def test_a_phase_without_a_run_is_not_shown(terminal):
    live(terminal).phase_began("import")
    assert terminal.written == []


@pytest.mark.parametrize(
    ("op", "fields", "shown"),
    [
        ("hello", {}, "import"),
        ("build", {}, "build"),
        ("train", {"steps": 1}, "first step of 20"),
        ("train", {"steps": 20}, "first step and 19 more"),
        ("train", {"steps": 1000}, "first step and 999 more of 9,000"),
        ("train_on", {"first": 1000, "steps": 500}, "steps 1,001 to 1,500 of 9,000"),
        ("infer", {}, "inference"),
        ("evaluate", {}, "evaluation"),
        ("check_steps", {"steps": 4}, "check of steps"),
    ],
)
def test_a_request_is_shown_as_what_the_worker_does(op, fields, shown):
    steps = 9000 if fields.get("steps", 0) > 100 else 20
    assert phase(op, fields, steps) == shown
