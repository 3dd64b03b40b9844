"""The README's example runs, and shows the real outputs, which ``python -m docs.readme_outputs`` updates."""

import re
from pathlib import Path

from docs import readme_outputs
from tests.plugin.conftest import run_here

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-benchmarks.md"
# The wording of a line, without its figures.
VALUES = re.compile(r"[-+]?\d[\d.,]*(?:e-?\d+)?\s?(?:[GM]iB|ms|s|pp|%)?|–")
# The machine may be busy, and one run is enough for the wording.
ONCE = ("--dlbench-runs=1", "--dlbench-threads=1", "--dlbench-allow=invalid")


def wording(line):
    return " ".join(VALUES.sub("#", line).split())


def columns(text):
    (heading,) = re.findall(r"^case  .*$", text, re.MULTILINE)
    return heading.split("  ")[0], [name.strip() for name in re.split(r"\s{2,}", heading)]


def test_the_readme_has_the_output_of_a_run_that_passes(pytester):
    pytester.makepyfile(test_training=readme_outputs.example())
    result = run_here(pytester, *readme_outputs.RUNS["passes"], *ONCE, "-q")
    result.assert_outcomes(passed=1)
    found = readme_outputs.SHOWN["passes"].search(result.stdout.str())
    printed, shown = readme_outputs.interesting(found[1]), readme_outputs.shown("passes")
    assert columns(shown) == columns(printed)
    assert "pytorch-gatech-lenet-digits28-cpu" in shown
    said = {wording(line) for line in printed.splitlines()}
    found = [wording(line) for line in shown.splitlines() if re.match(r"no_baseline: |scale |dlbench: ", line)]
    assert found
    assert set(found) <= said


def test_the_readme_has_the_output_of_a_run_that_regresses(suite):
    suite.write(more={"slow": "slowed"})
    # As in test_pairs: wide enough for three pairs to decide.
    wide = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")
    result = suite.run("--dlbench-ab=numpy,slow", *wide)
    assert result.ret == 1
    printed, shown = result.stdout.str(), readme_outputs.shown("regresses")
    assert "\nregressed: training-pytorch-slow-gatech-lenet-digits28-cpu" in f"\n{shown}"
    said = {wording(line).replace("numpy", "pytorch") for line in printed.splitlines()}
    for line in shown.splitlines():
        if re.match(r"compared with |  step_time\s+regressed|phases |what |  step ", line):
            assert wording(line) in said, f"{line!r}: run python -m docs.readme_outputs"


def test_the_example_of_a_model_trains(pytester):
    section = PAGE.read_text().split("\n## A model\n")[1].split("\n## ")[0]
    conftest, test = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_small=test)
    result = run_here(pytester, "--dlbench-frameworks=pytorch", *ONCE, "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_small*pytorch*PASSED*"])
