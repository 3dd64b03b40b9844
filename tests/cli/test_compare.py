"""``dlbench compare``, as a user calls it."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.records import CaseOutcome, RunOutcome, Timeline
from pytest_dlbench.reporting.exports import FORMATS
from pytest_dlbench.storing.recorded import read
from tests.doubles import records, repositories, sessions

# Two sessions of three runs each cannot resolve 5 %.
WIDE = ("--tolerance", "step_time:10%")
OTHER = records.case("training-jax-mnist-cnn-digits28-cpu-quick", framework="jax")


@pytest.fixture
def compare(tmp_path, capsys):
    """Compare two sessions, by default of the same runs; returns the exit status and the output."""

    def call(*options, old=(), new=(), **new_changes):
        sides = [sessions.write(tmp_path / "a", "a", old), sessions.write(tmp_path / "b", "b", new, **new_changes)]
        return main(["compare", *map(str, sides), *options]), capsys.readouterr().out

    return call


def test_the_same_runs_pass(compare):
    status, out = compare(*WIDE)
    assert status == 0
    assert out.splitlines()[-1] == "1 passed"


def test_slower_runs_are_suspect_and_exit_with_3(compare):
    status, out = compare(new=records.runs(steps=(0.02, 0.02, 0.02)))
    assert (status, out.splitlines()[-1]) == (3, "1 suspect")
    assert "step_time suspect 10.0 ms → 20.0 ms," in " ".join(out.split())


def test_less_accurate_runs_are_a_regression_and_exit_with_1(compare):
    status, out = compare(new=records.runs(accuracies=(0.9, 0.9, 0.9)))
    assert (status, out.splitlines()[-1]) == (1, "1 regressed")
    assert "accuracy regressed 95.00 % → 90.00 %," in " ".join(out.split())


def leaking():
    """Three runs whose memory grows from 400 to 600 MiB."""
    moments = [number / 4 for number in range(49)]
    grown = tuple(400 * 2**20 + int(moment * 200 * 2**20 / 12) for moment in moments)
    timeline = Timeline(seconds=tuple(moments), rss_bytes=grown, cpu_seconds=tuple(moments))
    trained = replace(records.training((0.1,) * 100), began_seconds=1.0)
    return [records.run(seed, training=trained, timeline=timeline) for seed in (1, 2, 3)]


def test_a_leak_is_a_regression_even_if_the_baseline_leaks_too(compare):
    status, out = compare(*WIDE, old=leaking(), new=leaking())
    assert (status, out.splitlines()[-1]) == (1, "1 regressed")
    assert "leak regressed 0.00 % → 29.51 %, +29.51 pp" in " ".join(out.split())


def test_a_tolerance_can_be_given(compare):
    status, _ = compare("--tolerance", "step_time:300%", new=records.runs(steps=(0.02, 0.02, 0.02)))
    assert status == 0


def test_runs_with_a_large_spread_are_inconclusive_and_exit_with_3(compare):
    status, out = compare(*WIDE, new=records.runs(steps=(0.009, 0.0105, 0.012)))
    assert (status, out.splitlines()[-1]) == (3, "1 inconclusive")


def test_too_few_runs_are_incomparable_and_exit_with_3(compare):
    status, out = compare(new=records.runs()[:2])
    assert status == 3
    assert "2 of the 3 runs that a comparison needs" in out


def test_invalid_runs_are_incomparable_and_exit_with_3(compare):
    invalid = [replace(run, invalid=("others used 1.7 CPUs",)) for run in records.runs()]
    status, out = compare(new=invalid)
    assert status == 3
    assert "candidate, run 1 (seed 1): others used 1.7 CPUs" in out


TEXT = ("--tolerance", "perplexity:50%")
OF_TOKENS = tuple(
    replace(run, evaluation=replace(records.evaluation(), answers="tokens", loss=2.0)) for run in records.runs()
)
LACKING = (*OF_TOKENS[:2], records.runs()[2])


def test_a_metric_that_a_run_of_the_candidate_lost_is_not_passed(compare):
    assert compare(*WIDE, *TEXT, old=OF_TOKENS, new=OF_TOKENS)[0] == 0
    status, out = compare(*WIDE, *TEXT, old=OF_TOKENS, new=LACKING)
    assert (status, out.splitlines()[-1]) == (3, "1 inconclusive")
    assert "the baseline has what some run of the candidate has not: perplexity" in out
    assert "step_time        equivalent" in out


def test_a_metric_that_only_the_candidate_has_is_incomparable(compare):
    status, out = compare(*WIDE, *TEXT, old=LACKING, new=OF_TOKENS)
    assert (status, out.splitlines()[-1]) == (3, "1 incomparable")
    assert "the candidate has what some run of the baseline has not: perplexity" in out


def test_a_lost_metric_hides_no_regression(compare):
    worse = [replace(run, evaluation=records.evaluation(0.9)) for run in OF_TOKENS]
    assert compare(*TEXT, old=OF_TOKENS, new=worse)[0] == 1


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_figure_that_cannot_be_compared_ends_no_other_case(compare, side):
    nothing = [replace(run, usage={"train": records.usage(rss_peak_bytes=0)}) for run in records.runs()]
    status, out = compare(*WIDE, **{side: nothing})
    assert (status, out.splitlines()[-1]) == (3, "1 incomparable")
    assert "cannot be compared: peak_rss is 0" in out
    assert "restore" not in out


def test_other_conditions_are_incomparable_and_listed(compare):
    status, out = compare(context=records.context(batch_size=128))
    assert status == 3
    assert "batch size 64 → 128" in out


def test_a_candidate_that_did_not_finish_exits_with_1(compare):
    status, out = compare(new=[records.unfinished(RunOutcome.CRASHED)], outcome=CaseOutcome.CRASHED)
    assert (status, out.splitlines()[-1]) == (1, "1 crashed")


def test_a_case_of_one_side_only_is_listed_and_exits_with_3(tmp_path, capsys):
    old, new = tmp_path / "a", tmp_path / "b"
    sessions.write(old, "a")
    sessions.write(new, "a")
    sessions.write(new, "b", case=OTHER)
    assert main(["compare", str(old), str(new)]) == 3
    assert f"only in B: {OTHER.id}" in capsys.readouterr().out


def test_nothing_in_common_is_a_usage_error(compare, tmp_path, capsys):
    old, new = sessions.write(tmp_path, "a"), sessions.write(tmp_path, "b", case=OTHER)
    assert main(["compare", str(old), str(new)]) == 2
    assert "no case in common" in capsys.readouterr().err


def test_the_newest_recording_of_a_folder_counts(tmp_path, capsys):
    old, new = tmp_path / "a", tmp_path / "b"
    sessions.write(old, "a")
    sessions.write(new, "a", records.runs(steps=(0.02, 0.02, 0.02)))
    sessions.write(new, "b")
    assert main(["compare", str(old), str(new), *WIDE]) == 0


def write_on(folder, name, step=0.01, began="2026-11-20T02:00:00+00:00"):
    """A recording on a machine class of this name."""
    runs = [replace(run, began=began) for run in records.runs(steps=(step,) * 3)]
    return sessions.write(folder, f"{name}-{began[8:10]}", runs, records.context(machine=records.machine(name=name)))


def test_the_newest_recording_is_the_one_that_began_last_whatever_its_name(tmp_path):
    old, new = sessions.write(tmp_path / "a", "a"), tmp_path / "b"
    late = [replace(run, began="2026-11-22T02:00:00+00:00") for run in records.runs()]
    sessions.write(new, "run-10", late)
    sessions.write(new, "run-9", records.runs(steps=(0.02, 0.02, 0.02)))
    assert main(["compare", str(old), str(new), *WIDE]) == 0


def test_recordings_of_one_machine_class_are_compared(tmp_path, capsys):
    for side, names in (("a", ("amd", "intel")), ("b", ("intel", "amd"))):
        for day, name in enumerate(names, start=20):
            write_on(tmp_path / side, name, 0.01 if name == "amd" else 0.03, f"2026-11-{day}T02:00:00+00:00")
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), *WIDE]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "2 passed"
    assert all(f"{records.case().id} on {name}: passed" in out for name in ("amd", "intel"))


def test_a_machine_class_of_one_side_only_is_listed(tmp_path, capsys):
    for name in ("amd", "intel"):
        write_on(tmp_path / "a", name)
    new = write_on(tmp_path / "b", "intel")
    assert main(["compare", str(tmp_path / "a"), str(new), *WIDE]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [f"only in A: {records.case().id} on amd", "1 passed"]


def test_a_case_on_other_machine_classes_says_so(tmp_path, capsys):
    old, new = (write_on(tmp_path, name) for name in ("amd", "intel"))
    assert main(["compare", str(old), str(new)]) == 3
    out = capsys.readouterr().out
    assert f"{records.case().id}: incomparable" in out
    assert "amd → intel" in out
    assert "only in" not in out


def test_a_damaged_recording_is_named_and_an_older_one_is_no_success(tmp_path, capsys):
    old, new = sessions.write(tmp_path / "a", "a"), tmp_path / "b"
    sessions.write(new, "a")
    damaged = sessions.write(new, "b")
    damaged.write_bytes(damaged.read_bytes()[:-40] + b"\n")
    assert main(["compare", str(old), str(new), *WIDE]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "1 passed"
    assert str(damaged) in captured.err


def test_damage_is_named_where_it_leaves_nothing_to_compare(tmp_path, capsys):
    old, damaged = sessions.write(tmp_path, "a"), tmp_path / "b.jsonl"
    damaged.write_text("no JSON\n")
    assert main(["compare", str(old), str(damaged)]) == 2
    assert f"{damaged}, line 1" in capsys.readouterr().err


def test_verdicts_are_reported_as_json(compare):
    _, out = compare("--json", new=records.runs(steps=(0.02, 0.02, 0.02)))
    (case,) = json.loads(out)["cases"]
    found = {verdict["metric"]: verdict["outcome"] for verdict in case["verdicts"]}
    assert (case["outcome"], found["step_time"], found["accuracy"]) == ("suspect", "suspect", "equivalent")


def test_a_missing_path_is_a_usage_error(tmp_path, capsys):
    assert main(["compare", str(tmp_path / "none"), str(tmp_path)]) == 2
    assert "none does not exist" in capsys.readouterr().err


# Files of pytest-benchmark


@pytest.fixture
def benchmarked(pytester, monkeypatch):
    """Two files written by the real pytest-benchmark, which would measure nothing as an xdist worker."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile("def test_sum(benchmark):\n    benchmark.pedantic(sum, args=([1, 2],), rounds=5)\n")
    for _ in range(2):
        pytester.runpytest_subprocess("--benchmark-save=it", "--benchmark-storage=stored")
    return sorted(pytester.path.glob("stored/*/*.json"))


def test_files_of_pytest_benchmark_are_compared_as_ratios_without_a_verdict(benchmarked, capsys):
    assert main(["compare", *map(str, benchmarked)]) == 3
    out = capsys.readouterr().out
    assert "test_sum" in out
    assert "no verdict" in out


def test_the_newest_file_of_a_pytest_benchmark_folder_counts(benchmarked, capsys):
    folder = benchmarked[0].parent
    assert main(["compare", str(folder), str(benchmarked[1]), "--json"]) == 3
    (row,) = json.loads(capsys.readouterr().out)["benchmarks"]
    assert row["ratios"] == {"min": 1.0, "median": 1.0}


def test_files_exported_for_pytest_benchmark_can_be_compared(tmp_path, capsys):
    paths = []
    for name, seconds in (("a", 0.01), ("b", 0.02)):
        journal = sessions.write(tmp_path, name, records.runs(steps=(seconds,) * 3))
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_bytes(FORMATS["pytest-benchmark"].write(read([journal]).cases))
    assert main(["compare", *map(str, paths), "--json"]) == 3
    (row,) = json.loads(capsys.readouterr().out)["benchmarks"]
    assert row["ratios"]["median"] == pytest.approx(2)


# Revisions


def test_revisions_are_run_by_pytest_with_its_exit_status(tmp_path):
    (tmp_path / "bench").mkdir()
    test = """
def test_ours(pytestconfig):
    assert pytestconfig.getoption("dlbench_ab") == "rev:HEAD,worktree"
    assert pytestconfig.getoption("dlbench_compare") == "true"
    assert pytestconfig.getoption("dlbench_tolerance") == ["step_time:3%"]

def test_ours_that_fails():
    assert False

def test_other():
    pass
"""
    (tmp_path / "bench" / "test_it.py").write_text(test)
    repositories.create(tmp_path)
    repositories.commit(tmp_path, "Add it", {})
    program = "from pytest_dlbench.cli.main import main; main()"
    command = [sys.executable, "-c", program, "compare", "rev:HEAD", "worktree", "--tolerance"]
    for expression, status, counts in (("ours and not fails", 0, "1 passed"), ("ours", 1, "1 failed, 1 passed")):
        done = subprocess.run(
            [*command, "step_time:3%", "-k", expression], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert counts in done.stdout
        assert "running: pytest bench -k" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rev:a", "rev:b", "--json"], "--dlbench-json PATH writes it"),
        ([".", ".", "-k", "ours"], "recordings have none"),
    ],
)
def test_options_of_the_other_kind_are_a_usage_error(arguments, message, capsys):
    assert main(["compare", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
