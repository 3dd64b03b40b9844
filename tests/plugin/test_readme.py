"""The README's own example of a model, as somebody would paste it."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def snippets(heading):
    section = README.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_a_model_is_added_by_one_function_and_trained(pytester):
    conftest, test = snippets("Add a model")
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_small=test)
    result = pytester.runpytest_subprocess("--dlbench-frameworks=pytorch", "--dlbench-runs=1", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_small*pytorch*PASSED*"])
