"""What becomes a baseline, what does not, and what is said then."""

import json
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import NotSaved
from pytest_dlbench.storing import Entry, read_journal
from pytest_dlbench.storing.baselines import encode, read_file
from tests.doubles import disks

SAVE = ("--dlbench-save", "--dlbench-reason=x")
WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%")
CASE = "training-numpy-softmax-digits-cpu-smoke"
HEAD = "import pytest\n"
TEST = "def test_training(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits')\n"


def baselines(suite):
    return list(suite.path.glob("baselines/**/*.json"))


def results(suite):
    """The results in the journals, in order."""
    journals = sorted(suite.path.glob(".dlbench/*.jsonl"))
    entries = [entry for path in journals for entry in read_journal(path) if isinstance(entry, Entry)]
    return [entry.result for entry in entries if entry.result]


# After the test


@pytest.mark.parametrize(
    ("test", "why", "status"),
    [
        (f"{TEST}    assert False, 'not good enough'\n", "failed", 1),
        (f"{HEAD}{TEST}    pytest.skip('later')\n", "skipped", 0),
        (f"{HEAD}@pytest.mark.xfail\n{TEST}    assert False\n", "skipped", 0),
        (f"{HEAD}@pytest.mark.xfail(strict=True)\n{TEST}", "failed", 1),
        (
            f"{TEST}    dlbench.train('numpy', 'unknown-to-the-double', 'digits')\n    assert False\n",
            "skipped",
            0,
        ),
    ],
    ids=["fails", "skips", "xfails", "xpasses", "second case"],
)
def test_a_case_whose_test_does_not_pass_is_not_saved(suite, test, why, status):
    suite.write(test=test)
    result = suite.run(*SAVE)
    assert result.ret == status
    assert baselines(suite) == []
    assert not any(found.saved for found in results(suite))
    refused = [reason for found in results(suite) for reason in found.reasons if isinstance(reason, NotSaved)]
    assert [reason.cause for reason in refused] == [why]
    # What it was judged to be: a case passes only while it waits for the end of its test.
    judged = CaseOutcome.FAILED if why == "failed" else CaseOutcome.NO_BASELINE
    assert [found.outcome for found in results(suite) if refused[0] in found.reasons] == [judged]


def test_the_terminal_says_that_a_failed_test_was_not_saved(suite):
    suite.write(test=f"{TEST}    assert False, 'not good enough'\n")
    result = suite.run(*SAVE, "--junitxml=junit.xml")
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu: not saved: the test failed"])
    (found,) = results(suite)
    assert (found.outcome, found.saved) == (CaseOutcome.FAILED, False)
    properties = {one.get("name"): one.get("value") for one in ET.parse(suite.path / "junit.xml").iter("property")}
    assert properties["dlbench_reason"] == "not_saved body_failed no_baseline"


def test_a_passed_test_saves_all_its_cases(suite):
    suite.write(test=f"{TEST}    dlbench.train('numpy', 'two-layers', 'digits')\n")
    result = suite.run(*SAVE, "--junitxml=junit.xml")
    assert result.ret == 0
    assert len(baselines(suite)) == 2
    assert [(found.outcome, found.saved) for found in results(suite)] == [(CaseOutcome.PASSED, True)] * 2
    cases = [
        one.get("value") for one in ET.parse(suite.path / "junit.xml").iter("property") if "case" in one.get("name")
    ]
    assert cases == [CASE, CASE.replace("softmax", "two-layers")]


@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_a_test_that_requests_the_fixture_as_it_runs_is_saved_and_reported(suite, processes):
    suite.write(
        test="def test_training(request):\n    request.getfixturevalue('dlbench').train('numpy', 'softmax', 'digits')\n"
    )
    result = suite.run(*SAVE, "--dlbench-json=all.json", processes)
    assert result.ret == 0
    assert [path.stem for path in baselines(suite)] == [CASE]
    (case,) = json.loads((suite.path / "all.json").read_text())["cases"]
    assert case["result"]["saved"]
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *saved"])
    assert result.outlines[-1] == "dlbench: 1 passed"


def test_a_failed_test_leaves_the_baseline_as_it_was(suite):
    suite.saved_earlier()
    before = suite.baseline().read_bytes()
    suite.write(test=f"{TEST}    assert False\n")
    assert suite.run(*SAVE).ret == 1
    assert suite.baseline().read_bytes() == before


def test_a_test_that_ctrl_c_ends_is_not_saved(suite):
    suite.has_own_process = True
    suite.write(test=f"{TEST}    raise KeyboardInterrupt\n")
    assert suite.run(*SAVE).ret == 2
    assert baselines(suite) == []
    (found,) = results(suite)
    assert found.reasons[0] == NotSaved(cause="interrupted")


def test_workers_of_xdist_save_passed_tests_only(suite):
    suite.write(
        test=f"{TEST}\ndef test_other(dlbench):\n    dlbench.train('numpy', 'two-layers', 'digits')\n    assert 0\n"
    )
    result = suite.run(*SAVE, "-n2")
    assert [path.stem for path in baselines(suite)] == [CASE]
    result.stdout.fnmatch_lines(["numpy-two-layers-digits-cpu: not saved: the test failed"])


# Damage


def spoiled(suite, how):
    """The damaged baseline and its content."""
    path = suite.baseline()
    text = path.read_text()
    path.write_text(how(text))
    assert path.read_text() != text
    return path, path.read_bytes()


DAMAGES = {
    "conflict": lambda text: f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> other\n",
    "edited": lambda text: text.replace('"step_time":', '"step_tame":'),
    "not a number": lambda text: text.replace('"step_time":', '"step_time":NaN,"x":'),
}


@pytest.mark.parametrize(
    ("damage", "modes"),
    [
        ("conflict", [("--dlbench-compare",), ("--dlbench-shadow",), SAVE]),
        ("edited", [()]),
        ("not a number", [SAVE]),
    ],
)
def test_a_damaged_baseline_fails_its_case_in_every_mode_and_is_never_overwritten(suite, damage, modes):
    suite.saved_earlier()
    path, content = spoiled(suite, DAMAGES[damage])
    for mode in modes:
        result = suite.run(*WIDE, *mode)
        assert result.ret == 1, mode
        result.stdout.fnmatch_lines([f"damaged_baseline: {CASE}", f"the baseline is damaged: {path}: line *"])
        assert path.read_bytes() == content
    assert {found.outcome for found in results(suite)[1:]} == {CaseOutcome.DAMAGED_BASELINE}


def test_all_reports_name_a_damaged_baseline(suite, monkeypatch):
    suite.saved_earlier()
    path, _ = spoiled(suite, DAMAGES["conflict"])
    shown = reports(suite, monkeypatch)
    for text in shown.values():
        assert "damaged_baseline" in text or "damaged baseline" in text
    for name in ("terminal", "junit", "page", "summary"):
        assert "dlbench baseline repair" in shown[name], name
    assert path.name in shown["page"]


def reports(suite, monkeypatch, *arguments):
    """What a session without --dlbench-compare says in the terminal and in all its files."""
    files = {"junit": "junit.xml", "page": "page.html", "summary": "summary.md", "json": "session.json"}
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / files["summary"]))
    asked = (f"--junitxml={files['junit']}", f"--dlbench-html={files['page']}", f"--dlbench-json={files['json']}")
    result = suite.run(*WIDE, *asked, *arguments)
    return {"terminal": result.stdout.str()} | {name: (suite.path / file).read_text() for name, file in files.items()}


def test_all_reports_say_that_a_baseline_is_incomparable(suite, monkeypatch):
    suite.saved_earlier()
    baseline = read_file(suite.baseline())
    suite.baseline().write_bytes(encode(replace(baseline, context=replace(baseline.context, batch_size=31))))
    shown = reports(suite, monkeypatch)
    assert "1 incomparable" in shown["terminal"].splitlines()[-1]
    for name, text in shown.items():
        assert "incomparable" in text, name
        assert "batch size" in text, name


# Too good to be true


def test_a_gain_that_is_too_good_to_be_true_is_suspect_and_no_baseline(suite):
    suite.saved_earlier()
    before = suite.baseline().read_bytes()
    suite.write(builder="implausible")
    looked = suite.run(*WIDE)
    assert looked.ret == 0
    looked.stdout.fnmatch_lines(
        [
            "numpy-softmax-digits-cpu: suspect, too good to be true: step_time is * times as good*",
            "*each step does all*",
        ]
    )
    looked.stdout.no_fnmatch_line("*improved*")
    refused = suite.run(*WIDE, *SAVE)
    assert refused.ret == 1
    refused.stdout.fnmatch_lines(["*not saved: *only with --dlbench-allow=suspect"])
    assert suite.baseline().read_bytes() == before
    assert suite.run(*WIDE, *SAVE, "--dlbench-allow=suspect").ret == 0
    assert len(read_file(suite.baseline()).sessions) == 2


# Disks that refuse


def run_on(suite, disk, *arguments):
    """A session whose disk refuses something."""
    return suite.pytester.run(*disk(sys.executable, "-m", "pytest", "--dlbench-scale=smoke", *arguments))


def read_only(*command):
    return disks.where_read_only_counts(*command)


def test_a_read_only_folder_of_baselines_fails_the_test_and_the_run_is_reported(suite):
    folder = suite.path / "baselines"
    folder.mkdir(mode=0o555)
    result = run_on(suite, read_only, *SAVE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"not saved: {folder}/* cannot be written (Permission denied): make the place writable*",
            "numpy-softmax-digits-cpu *no_baseline",
            "journal: *",
        ]
    )
    (found,) = results(suite)
    assert not found.saved
    assert found.figures["step_time"] > 0


def test_a_read_only_folder_of_journals_keeps_all_runs_elsewhere(suite):
    (suite.path / ".dlbench").mkdir(mode=0o555)
    result = run_on(suite, read_only, "--dlbench-json=session.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "numpy-softmax-digits-cpu *no_baseline",
            f"ERROR: {suite.path}/.dlbench/* cannot be written (Permission denied): make the place writable*",
        ]
    )
    (case,) = json.loads((suite.path / "session.json").read_text())["cases"]
    assert len(case["record"]["runs"]) == 3


def test_full_disks_name_the_file_and_the_run_is_reported(suite):
    result = suite.run("--dlbench-json=/dev/full", "--dlbench-html=/dev/full", "--dlbench-runs=1")
    assert result.ret == 1
    full = "/dev/full cannot be written (No space left on device): free space*; the journal has all results"
    result.stdout.fnmatch_lines(
        [
            "numpy-softmax-digits-cpu *no_baseline",
            f"ERROR: json not written: {full}",
            f"ERROR: report not written: {full}",
        ]
    )


def test_without_room_for_journals_the_terminal_still_reports_the_case(suite):
    suite.run("--dlbench-runs=1")
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    size = len(journal.read_bytes().splitlines()[0])

    def full(*command):
        return disks.with_files_up_to(size * 2, *command)

    result = run_on(suite, full)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["numpy-softmax-digits-cpu *no_baseline", "ERROR: *cannot be written (File too large)*some runs are in no file"]
    )


# Names


def test_a_model_with_a_long_name_is_saved_and_found(suite):
    suite.write(models=("l" * 300,))
    suite.conftest = suite.conftest.replace('name="softmax"', f'name="{"l" * 300}"')
    assert suite.run(*SAVE).ret == 0
    again = suite.run(*WIDE, "--dlbench-compare")
    assert again.ret == 0, again.stdout.str()
