"""What a session prints, and where."""

import os

import pexpect
import pytest


def test_without_a_terminal_every_run_is_a_line(suite):
    result = suite.run()
    result.stdout.fnmatch_lines(
        [
            "case 1 of 1, run 1 of 3: training-numpy-softmax-digits-cpu-smoke: * samples/s, *",
            "case 1 of 1, run 2 of 3: *left",
            "case 1 of 1, run 3 of 3: *",
            "*= dlbench =*",
            "machine linux-*thread*, scale smoke",
            "case *samples/s *step median *step 10 % *first step *accuracy *peak RSS *CPUs *verdict",
            "journal: *.dlbench*.jsonl",
        ]
    )


def test_cases_are_counted_by_test_from_the_start(suite):
    suite.write(
        models=("softmax", "two-layers"),
        test="""
import pytest

@pytest.mark.skip(reason="not today")
def test_skipped(dlbench, framework, model):
    raise AssertionError

def test_two_series(dlbench, framework, model):
    dlbench.run(framework, model, "digits", steps=2, label="first")
    dlbench.run(framework, model, "digits", steps=2, label="second")
""",
    )
    suite.run().stdout.fnmatch_lines(
        [
            "case 1 of 2, run 1 of 1: first-numpy-softmax-*",
            "case 1 of 2, run 1 of 1: second-numpy-softmax-*",
            "case 2 of 2, run 1 of 1: first-numpy-two-layers-*",
            "case 2 of 2, run 1 of 1: second-numpy-two-layers-*",
        ]
    )


def test_quiet_prints_no_line_per_run(suite):
    result = suite.run("-q")
    result.stdout.no_fnmatch_line("*run 1 of 3*")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *"])


def test_the_captured_output_of_a_test_has_no_progress(suite):
    suite.write(test="def test_it(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits')\n    assert False\n")
    result = suite.run("-rA")
    result.stdout.no_fnmatch_line("*Captured stdout*")


@pytest.mark.parametrize("flag", ["-rs", "-ra", "-v"])
def test_skipped_cells_are_listed_with_reasons_where_pytest_lists_skips(suite, flag):
    suite.write(models=("softmax", "hkbu-resnet-56"))
    suite.run("--dlbench-runs=1", flag).stdout.fnmatch_lines(["skipped: 1 × hkbu-resnet-56 takes 3×32×32, *"])


def spawned(suite, **environment):
    # pytester switches colours off, and with them pytest's detection of terminals.
    # These variables would override the terminal's own size.
    usual = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS", "LINES")}
    terminal = {**usual, "TERM": "xterm", "PY_COLORS": "1", **environment}
    command, size = "python -m pytest --dlbench-scale=smoke --dlbench-runs=2", (24, 160)
    return pexpect.spawn(command, cwd=str(suite.path), env=terminal, timeout=60, encoding="utf-8", dimensions=size)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pexpect forks; this process has no threads then
def test_on_a_terminal_one_line_is_overwritten_phase_by_phase(suite):
    child = spawned(suite)
    begins = r"\r\x1b\[2Kcase 1 of 1, run {} of 2: training-numpy-softmax-digits-cpu-smoke"
    child.expect(begins.format(1))
    for phase in ("import", "build", "first step and 19 more", "evaluation"):
        child.expect(begins.format(1) + f", {phase}")
    child.expect(begins.format(2) + r", import, last .* samples/s, about \d+ s left")
    child.expect("1 passed")
    child.expect(pexpect.EOF)
    assert child.wait() == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as above
def test_in_ci_a_terminal_gets_plain_lines_too(suite):
    child = spawned(suite, CI="true")
    child.expect(r"case 1 of 1, run 1 of 2: .* samples/s")
    assert "\x1b[2K" not in child.before
    child.expect(pexpect.EOF)
    assert "\x1b[2K" not in child.before
    assert child.wait() == 0


def test_colours_alone_do_not_make_a_file_a_terminal(suite):
    result = suite.run("--color=yes", "--dlbench-runs=1")
    assert "\x1b[2K" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*case 1 of 1, run 1 of 1: * samples/s, *"])


def test_the_ini_file_sets_options(suite):
    suite.pytester.makeini("[pytest]\ndlbench_runs = 1\n")
    result = suite.run()
    result.stdout.fnmatch_lines(["case 1 of 1, run 1 of 1: *"])
    suite.pytester.makeini("[pytest]\ndlbench_runs = many\n")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini key dlbench_runs: expected a whole number, 1 or more, got 'many'"])


TALKING = """
import logging

def test_it(dlbench):
    dlbench.train('numpy', 'softmax', 'digits')
    print('said aloud')
    logging.getLogger().warning('logged aloud')

def test_other(dlbench):
    dlbench.train('numpy', 'softmax', 'digits', label='other')
"""


def test_output_and_logs_of_a_test_are_shown_alongside_the_lines_of_runs(suite):
    suite.write(test=TALKING)
    result = suite.run("-v", "-s", "--log-cli-level=WARNING", "--dlbench-runs=1")
    result.stdout.fnmatch_lines(
        [
            "case 1 of 2, run 1 of 1: training-numpy-*",
            "said aloud",
            "WARNING *logged aloud",
            "*PASSED*",
            "case 2 of 2, run 1 of 1: other-numpy-*",
            "*PASSED*",
        ]
    )


def test_each_test_function_has_its_table_with_the_requested_columns(suite):
    suite.write(test=TALKING)
    result = suite.run("-q", "--dlbench-runs=1", "--dlbench-group-by=model", "--dlbench-columns=runs,verdict")
    result.stdout.fnmatch_lines(
        [
            "test_suite.py::test_it, model softmax",
            "case * runs *verdict",
            "numpy-softmax-digits-cpu * 1 *no_baseline",
            "test_suite.py::test_other, model softmax",
            "other-numpy-softmax-digits-cpu * 1 *no_baseline",
        ]
    )
    result.stdout.no_fnmatch_line("*samples/s*")


def test_without_tracebacks_no_line_is_empty_between_heading_and_machine(suite):
    result = suite.run("--tb=no", "--no-header", "--dlbench-runs=1")
    heading = next(number for number, line in enumerate(result.outlines) if "= dlbench =" in line)
    assert result.outlines[heading + 1].startswith("machine ")
