"""--dlbench-resume: a session that was killed goes on in its journal; nothing is run twice, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import datetime
from random import Random
from time import sleep

import psutil
import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.storing import Damage, Entry, read_journal
from pytest_dlbench.storing.history import History

# Each takes the start of a session: two seconds.
KILLS = 20 if os.environ.get("CI_FULL") == "1" else 5
# A process that kills itself after a number of entries in journals, as a crash of the machine at that point would.
DIES = """
import os, signal
from pytest_dlbench.storing import Journal
appended, entries = Journal.append, []

def append(self, entry):
    appended(self, entry)
    entries.append(entry)
    if len(entries) == {after}:
        os.kill(os.getpid(), signal.SIGKILL)

Journal.append = append
"""
# The same in the moment after a baseline was saved, before the journal says so.
DIES_AFTER_SAVING = """
import os, signal
from pytest_dlbench.storing import BaselineStore
written = BaselineStore.write

def write(self, *arguments, **more):
    written(self, *arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)

BaselineStore.write = write
"""


def start(suite, *arguments, plugin=""):
    """Start a session in its own process, with this code as a plugin."""
    (suite.path / "dies.py").write_text(plugin)
    command = [sys.executable, "-m", "pytest", "-p", "dies", "--dlbench-scale=smoke", *arguments]
    return subprocess.Popen(command, cwd=suite.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def killed(suite, after, *arguments):
    """A session that dies after this number of entries in its journal."""
    with start(suite, *arguments, plugin=DIES.format(after=after)) as process:
        assert process.wait(120) == -signal.SIGKILL
    return suite


def journals(suite):
    return sorted((suite.path / ".dlbench").glob("*.jsonl"))


def entries(suite):
    (path,) = journals(suite)
    found = list(read_journal(path))
    assert not any(isinstance(entry, Damage) for entry in found)
    return found


def runs(suite):
    return [entry.run for entry in entries(suite) if entry.run]


def counts(suite):
    """How often the run of each seed of each case is in the journal."""
    return Counter((run.case, run.seed) for run in runs(suite))


def shape(tree):
    """All fields of a list of records; what these have in common, because a busy machine may leave a list empty."""
    fields = [set(paths(run)) for run in tree]
    return set.intersection(*fields)


def paths(tree, path=""):
    for key, value in tree.items():
        yield f"{path}.{key}"
        if isinstance(value, dict):
            yield from paths(value, f"{path}.{key}")


@pytest.fixture
def small(suite):
    """Two cases."""
    suite.write(models=("softmax", "two-layers"))
    return suite


def test_after_random_kills_every_run_is_there_once_and_the_record_is_like_an_undisturbed_one(suite):
    suite.write(models=("softmax", "two-layers", "three-layers"), more={"other": "clocked"})
    options = ("--dlbench-runs=5", "--dlbench-allow=invalid")
    assert suite.run("--dlbench-json=undisturbed.json", "--dlbench-journals=undisturbed", *options).ret == 0
    undisturbed = json.loads((suite.path / "undisturbed.json").read_text())["cases"]
    began = sorted(datetime.fromisoformat(run["began"]).timestamp() for run in runs_of(undisturbed))
    each = (began[-1] - began[0]) / (len(began) - 1)
    (journal,) = (suite.path / "undisturbed").glob("*.jsonl")
    a_run = journal.stat().st_size / len(began)

    resuming, random = ("--dlbench-resume=newest", "--dlbench-json=session.json", *options), Random(16)
    killings = 0
    # While it starts, or after some more runs.
    while was_killed_after(suite, a_run * random.uniform(-0.5, 2), random.uniform(0, each), *resuming):
        killings += 1
        if killings == KILLS:
            assert suite.run(*resuming).ret == 0
            break
    expected = sorted((run["case"], run["seed"]) for run in runs_of(undisturbed))
    assert counts(suite) == dict.fromkeys(expected, 1)
    assert killings >= KILLS // 4
    assert parts(suite) >= 3

    cases = json.loads((suite.path / "session.json").read_text())["cases"]
    assert sorted((run["case"], run["seed"]) for run in runs_of(cases)) == expected
    assert [case["record"]["case"] for case in cases] == [case["record"]["case"] for case in undisturbed]
    for part in ("context", "recipe", "metrics"):
        assert [case["record"][part] for case in cases] == [case["record"][part] for case in undisturbed]
    assert shape(runs_of(cases)) == shape(runs_of(undisturbed))
    assert [case["result"]["figures"].keys() for case in cases] == [
        case["result"]["figures"].keys() for case in undisturbed
    ]


def runs_of(cases):
    """The runs of a document, without what a busy machine adds to some of them."""
    return [run for case in cases for run in case["record"]["runs"]]


def was_killed_after(suite, more_bytes, seconds, *arguments):
    """Whether a session was still running when its journal had grown so much, and some time later, and was killed."""
    enough = size(suite) + more_bytes
    with start(suite, *arguments) as process:
        while size(suite) < enough and process.poll() is None:
            sleep(0.01)
        try:
            assert process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def size(suite):
    return sum(path.stat().st_size for path in journals(suite))


def parts(suite):
    """How many of the processes of a session made runs of it."""
    marks = [entry for entry in entries(suite) if entry.run or entry.resumed]
    return sum(
        bool(mark.run) for mark, before in zip(marks, [None, *marks], strict=False) if not (before and before.run)
    )


@pytest.mark.parametrize("after", [1, 3, 4, 5, 8])
def test_a_session_killed_after_any_entry_makes_only_the_missing_runs(small, after, capsys):
    killed(small, after, "--dlbench-runs=3")
    before = runs(small)
    page = ["--dlbench-html=page.html"] if after == 5 else []
    result = small.run("--dlbench-runs=3", "--dlbench-json=all.json", *page, "--dlbench-resume")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"resumed: the journal had {len(before)} finished run*"])
    assert set(counts(small).values()) == {1}
    assert len(runs(small)) == 6
    assert runs(small)[: len(before)] == before
    cases = json.loads((small.path / "all.json").read_text())["cases"]
    assert [len(case["record"]["runs"]) for case in cases] == [3, 3]
    capsys.readouterr()
    main(["runs", "journal", *map(str, journals(small))])
    assert sum("digits-cpu" in line for line in capsys.readouterr().out.splitlines()) == 2


def test_a_line_that_was_being_written_is_removed_and_its_run_made_again(small):
    killed(small, 2, "--dlbench-runs=3")
    (path,) = journals(small)
    path.write_bytes(path.read_bytes()[:-100])
    assert small.run("--dlbench-resume", "--dlbench-runs=3").ret == 0
    assert set(counts(small).values()) == {1}


def test_a_finished_session_is_not_resumed(small):
    assert small.run("--dlbench-runs=1").ret == 0
    result = small.run("--dlbench-runs=1", "--dlbench-resume")
    result.stdout.fnmatch_lines(["resumed: nothing, because no session was interrupted; all runs are new"])
    assert len(journals(small)) == 2


def test_without_a_journal_there_is_a_new_session(small):
    assert small.run("--dlbench-runs=1", "--dlbench-resume").ret == 0


def test_a_resumed_session_that_ended_cannot_be_resumed_again(small):
    killed(small, 1, "--dlbench-runs=1")
    assert small.run("--dlbench-runs=1", "--dlbench-resume").ret == 0
    (path,) = journals(small)
    result = small.run("--dlbench-runs=1", f"--dlbench-resume={path}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--dlbench-resume: the session of {path} ended, there is nothing left to run"])


def test_a_session_that_stopped_at_a_failure_is_resumed(small):
    small.write(models=("softmax", "two-layers"), test=FAILS_AT_FIRST)
    assert small.run("--dlbench-runs=1", "-x").ret != 0
    (small.path / "mended").touch()
    assert small.run("--dlbench-runs=1", "--dlbench-resume").ret == 0
    assert set(counts(small).values()) == {1}


FAILS_AT_FIRST = """
from pathlib import Path

def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)
    assert Path("mended").exists()
"""


def test_runs_under_other_conditions_are_made_again(small):
    killed(small, 2, "--dlbench-runs=3")
    small.write(models=("softmax", "two-layers"), rate=0.2)
    result = small.run("--dlbench-resume", "--dlbench-runs=3", "--dlbench-json=all.json")
    result.stdout.fnmatch_lines(["resumed: the journal had 0 finished run*"])
    (case, _) = json.loads((small.path / "all.json").read_text())["cases"]
    assert [run["seed"] for run in case["record"]["runs"]] == [1, 2, 3]
    assert case["record"]["recipe"]["optimizer"]["learning_rate"] == 0.2


def test_a_changed_builder_makes_all_runs_again(small, tmp_path):
    conditions = []
    for change in ("", "# changed\n"):
        folder = tmp_path / "builders"
        folder.mkdir(exist_ok=True)
        (folder / "own.py").write_text(f"from clocked import *\n{change}")
        small.conftest = small.conftest.replace("folders=(Path(", f"folders=(Path({str(folder)!r}), Path(")
        small.run("--dlbench-runs=1", "-k", "softmax")
        conditions += [entry.conditions for entry in read_journal(journals(small)[-1]) if entry.run]
    assert len(set(conditions)) == 2


def test_another_value_of_an_inherited_variable_makes_all_runs_again(small, monkeypatch):
    killed(small, 3, "--dlbench-runs=2", "-k", "softmax")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    result = small.run("--dlbench-resume", "--dlbench-runs=2", "-k", "softmax")
    assert result.ret == 0
    assert len(runs(small)) > 3


def test_more_runs_than_before_take_the_recorded_ones(small):
    killed(small, 4, "--dlbench-runs=3", "-k", "softmax")
    assert small.run("--dlbench-resume", "--dlbench-runs=5", "-k", "softmax", "--dlbench-json=all.json").ret == 0
    assert [run.seed for run in runs(small)] == [1, 2, 3, 4, 5]
    (case,) = json.loads((small.path / "all.json").read_text())["cases"]
    assert len(case["record"]["runs"]) == 5


def test_a_session_that_still_runs_is_not_resumed(small):
    stops = DIES.format(after=1).replace("signal.SIGKILL", "signal.SIGSTOP")
    with start(small, "--dlbench-runs=1", plugin=stops) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        result = small.run("--dlbench-resume", "--dlbench-runs=1")
        process.kill()
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*is still running, in process {process.pid}; wait for it or end it"])


def test_a_journal_of_an_older_version_is_refused(small):
    (small.path / ".dlbench").mkdir()
    path = small.path / ".dlbench" / "20250101T000000-1.jsonl"
    path.write_bytes((small.pytester._request.config.rootpath / "tests/storing/before/journal.jsonl").read_bytes())
    result = small.run(f"--dlbench-resume={path}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*does not say under which conditions its runs were made: an older version or another command*"]
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [("test_suite.py", "expected a journal (.jsonl), got 'test_suite.py'"), ("none.jsonl", "there is no journal")],
)
def test_what_is_not_a_journal_is_refused(small, value, reason):
    (small.path / ".dlbench").mkdir()
    result = small.run(f"--dlbench-resume={value}")
    assert result.ret == 4
    assert f"--dlbench-resume: {reason}" in result.stderr.str()


def test_a_session_killed_after_it_saved_does_not_save_the_same_runs_twice(suite):
    suite.save("--dlbench-tolerance=step_time:400%")
    saving = ("--dlbench-save", "--dlbench-reason=second", "--dlbench-tolerance=step_time:400%")
    with start(suite, *saving, plugin=DIES_AFTER_SAVING) as process:
        assert process.wait(120) == -signal.SIGKILL
    assert len(json.loads(suite.baseline().read_text())["sessions"]) == 2
    result = suite.run("--dlbench-resume=newest", *saving)
    assert result.ret == 0
    assert len(json.loads(suite.baseline().read_text())["sessions"]) == 2
    result.stdout.fnmatch_lines(["resumed: the journal had 3 finished run*"])


def test_a_session_killed_after_it_wrote_the_history_does_not_add_its_runs_twice(small):
    killed(small, 3, "--dlbench-runs=1", "--dlbench-history=history")
    arguments = ("--dlbench-runs=1", "--dlbench-history=history", "--dlbench-resume=newest")
    with start(small, *arguments, "--dlbench-html=page.html", plugin=DIES_IN_THE_REPORT) as process:
        assert process.wait(120) == -signal.SIGKILL
    assert len(list((small.path / "history").rglob("*.parquet"))) == 1
    result = small.run(*arguments)
    assert result.ret == 0
    (path,) = (small.path / "history").rglob("*.parquet")
    result.stdout.fnmatch_lines([f"history: {path}"])


def test_a_resumed_session_adds_to_the_history_what_was_missing(small):
    # Unlike SIGINT, no shell makes its background jobs ignore it.
    stops = DIES.format(after=3).replace("SIGKILL", "SIGTERM")
    arguments = ("--dlbench-runs=2", "--dlbench-history=history")
    with start(small, *arguments, plugin=stops) as process:
        assert process.wait(120) == 128 + signal.SIGTERM
    (before,) = (small.path / "history").rglob("*.parquet")
    assert small.run(*arguments, "--dlbench-resume").ret == 0
    (after,) = (small.path / "history").rglob("*.parquet")
    assert after != before
    rows = History(address=str(small.path / "history")).read().rows
    assert sorted(zip(rows["model"], rows["seed"], strict=True)) == [
        *(("softmax", seed) for seed in (1, 2)),
        *(("two-layers", seed) for seed in (1, 2)),
    ]
    assert set(rows["case_outcome"]) == {"no_baseline"}


DIES_IN_THE_REPORT = """
import os, signal
from pytest_dlbench.reporting.page import page
page.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


# Pairs

WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")


@pytest.fixture
def paired(suite):
    suite.write(more={"same": "clocked"})
    return suite


def test_a_pair_counts_only_if_both_of_its_sides_finished(paired):
    killed(paired, 3, "--dlbench-ab=numpy,same", *WIDE)
    first = runs(paired)
    result = paired.run("--dlbench-ab=numpy,same", "--dlbench-resume", "--dlbench-json=all.json", *WIDE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["resumed: the journal had 2 finished run*"])
    made = runs(paired)[3:]
    # The pair that was interrupted is run again, in the same order.
    assert [(run.case, run.seed) for run in made[:1]] == [(first[2].case, first[2].seed)]
    (case,) = json.loads((paired.path / "all.json").read_text())["cases"]
    pairs = case["result"]["pairing"]["screened"] + case["result"]["pairing"]["confirmed"]
    for side in ("record", "old"):
        assert [run["seed"] for run in case[side]["runs"]] == list(range(1, pairs + 1))
    kept = [run["began"] for side in ("record", "old") for run in case[side]["runs"]]
    assert len(set(kept)) == 2 * pairs
    assert first[2].began not in kept
    assert {first[0].began, first[1].began} <= set(kept)


def test_pairs_that_decided_a_case_decide_it_again(paired):
    # As a session that is resumed: nothing that the first computed is left in its process.
    paired.has_own_process = True
    assert paired.run("--dlbench-ab=numpy,same", *WIDE).ret == 0
    (before,) = [entry.result for entry in entries(paired) if entry.result]
    number = len(runs(paired))
    (path,) = journals(paired)
    # As if it had been killed before the session ended.
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert paired.run("--dlbench-ab=numpy,same", "--dlbench-resume", *WIDE).ret == 0
    assert len(runs(paired)) == number
    after = [entry.result for entry in entries(paired) if entry.result][-1]
    assert (after.outcome, after.verdicts, after.pairing) == (before.outcome, before.verdicts, before.pairing)


# pytest-xdist


def test_a_distributed_session_is_resumed_by_any_number_of_workers(suite):
    suite.write(models=("softmax", "two-layers", "three-layers"), more={"other": "clocked"})
    arguments = ("-n2", "-p", "xdist", "--dlbench-runs=2")
    with start(suite, *arguments, plugin=CONTROLLER_DIES) as process:
        assert process.wait(120) == -signal.SIGKILL
    for path in journals(suite):
        worker = int(path.name.split("-")[1])
        if psutil.pid_exists(worker):
            psutil.Process(worker).wait(60)
    assert len(journals(suite)) == 2
    before = sum(
        entry.run is not None for path in journals(suite) for entry in read_journal(path) if isinstance(entry, Entry)
    )
    result = suite.run("-n3", "--dlbench-runs=2", "--dlbench-resume=newest", "--dlbench-json=all.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"resumed: the journal had {before} finished run*"])
    assert set(counts(suite).values()) == {1}
    assert len(runs(suite)) == 12
    cases = json.loads((suite.path / "all.json").read_text())["cases"]
    assert sorted(len(case["record"]["runs"]) for case in cases) == [2] * 6


# As soon as two workers have ended a test.
CONTROLLER_DIES = """
import os, signal
workers = set()

def pytest_runtest_logreport(report):
    # Only in the controller does a report have a node.
    if report.when == "call" and hasattr(report, "node"):
        workers.add(report.node.gateway.id)
        if len(workers) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
"""
