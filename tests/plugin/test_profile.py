"""--dlbench-profile on real processes: what a regression's message says of operators."""

import json

WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")


def lines_of(suite):
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    return [json.loads(line) for line in journal.read_text().splitlines()]


def test_a_regression_lists_the_operators_that_changed_most(suite):
    suite.write(builder="profiled_before", more={"slow": "profiled"})
    result = suite.run("--dlbench-ab=numpy,slow", "--dlbench-profile", *WIDE)
    assert result.ret == 1
    # Ten steps were profiled.
    result.stdout.fnmatch_lines(
        [
            "operators that changed most, time per step under the framework's own profiler:",
            "*wait *none → 4.00 ms, +4.00 ms",
            "*copy *1.00 ms → none, -1.00 ms",
        ]
    )
    # After the result, the end of the session.
    *others, last, _ = lines_of(suite)
    assert [one["name"] for one in last["result"]["operators"]] == ["wait", "copy"]
    # Profiled runs are not among the measured ones.
    assert not any(line["run"].get("operator_seconds") for line in others if line.get("run"))


def test_a_builder_without_a_profiler_is_reported(suite):
    suite.write(more={"slow": "slowed"})
    result = suite.run("--dlbench-ab=numpy,slow", "--dlbench-profile", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*not profiled: the builder clocked has no function profile(run, trainer, device)"])
