"""The example of docs/how-to/add-a-framework.md, pasted unchanged: it trains, and learns."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-framework.md"
MODEL = """
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy

RECIPE = Recipe(batch_size=32, epochs=3, optimizer=SGD(0.1, momentum=0.9))

def pytest_dlbench_models():
    return [
        Model(name="softmax", family="fcn", input_shape=(1, 8, 8), layers=(Flatten(), Dense(10)),
              head=SoftmaxCrossEntropy(classes=10), recipe=RECIPE)
    ]
"""
TEST = """
def test_it(dlbench):
    result = dlbench.train("mine", "softmax", "digits")
    assert result.accuracy.mean > 0.8
"""


def example(suite):
    """A function that writes the builder, and a suite with one test that names it."""
    builder, name, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    suite.conftest = name + MODEL
    suite.pytester.makepyfile(test_suite=TEST)
    (suite.path / "builders").mkdir()
    return builder, suite.path / "builders"


def test_the_example_of_a_framework_trains(suite):
    builder, folder = example(suite)
    (folder / "mine.py").write_text(builder)
    result = suite.run_exactly("--dlbench-runs=1", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["mine-softmax-digits-cpu *"])


def test_the_example_may_be_a_folder_that_supports_the_layers_of_its_tables(suite):
    builder, folder = example(suite)
    (folder / "mine").mkdir()
    (folder / "mine" / "layers.py").write_text("LAYERS = {'flatten': None, 'dense': None}")
    tables = "from mine.layers import LAYERS\nSUPPORTS = {*LAYERS, 'sgd', 'softmax_cross_entropy'}\n"
    (folder / "mine" / "__init__.py").write_text(re.sub("SUPPORTS = .*\n", tables, builder))
    suite.run_exactly("--dlbench-runs=1").assert_outcomes(passed=1)
