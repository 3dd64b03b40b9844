"""The example of docs/how-to/add-a-sampler.md: a third-party sampler joins the record, the table and the gate."""

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-sampler.md"
# A meter of 36 watts, in place of the file of a real one. It keeps what it has shown.
METER = """
from pathlib import Path as File
from time import monotonic

class Path:
    def __init__(self, path): pass

    def read_text(self):
        shown = str(36 * FACTOR * monotonic() / 3600)
        with File(__file__).with_suffix(".shown").open("a") as lines:
            print(shown, file=lines)
        return shown

FACTOR = {factor}
"""


@pytest.fixture
def example():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return code


@pytest.fixture
def metered(suite, example):
    """The suite with the example in its conftest, and a function that sets the meter."""
    # The wattmeter needs real time.
    suite.write(builder="paced")
    before = suite.conftest

    def metered(factor):
        (suite.path / "meter.py").write_text(METER.format(factor=factor))
        code = example.replace("from pathlib import Path", "from meter import Path")
        suite.conftest = f"import sys\nsys.path.insert(0, {str(suite.path)!r})\n{code}\n{before}"
        return suite

    return metered


def test_the_example_has_less_than_30_lines(example):
    assert len([line for line in example.splitlines() if line.strip()]) < 30


def test_a_samplers_figure_is_in_the_record_and_in_the_table(metered):
    result = metered(1).run("--dlbench-runs=1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["case * plug_energy *verdict", "numpy-softmax-digits-cpu * J *no_baseline"])


INFERENCE = """
import pytest

@pytest.mark.inference
def test_inference(dlbench, framework, model, dataset, device):
    dlbench.infer(framework, model, dataset, device)
"""


def inferred(suite):
    """The run of a session that infers."""
    suite.pytester.makepyfile(test_suite=INFERENCE)
    result = suite.run("--dlbench-runs=1")
    assert result.ret == 0, result.stdout.str()
    (journal,) = (suite.path / ".dlbench").glob("*.jsonl")
    return json.loads(journal.read_text().splitlines()[0])["run"]


def test_inference_has_no_value_of_a_metric_of_training(metered):
    run = inferred(metered(1))
    assert run["usage"]["infer"]["readings"]["plug_joules"] > 0
    assert run["hooked"] == {}
    assert "plug_energy" not in run["absent"]


def test_a_metric_that_raises_costs_no_run(metered):
    suite = metered(1)
    suite.conftest = suite.conftest.replace('"purpose": "training", ', "")
    assert inferred(suite)["absent"]["plug_energy"] == "KeyError: 'train'"


def test_each_phase_has_what_the_meter_showed_at_its_ends(metered):
    suite = metered(1)
    suite.run("--dlbench-runs=1")
    shown = [3600 * float(line) for line in (suite.path / "meter.shown").read_text().splitlines()]
    phases = [end - begin for begin, end in zip(shown[::2], shown[1::2], strict=True)]
    (journal,) = (suite.path / ".dlbench").glob("*.jsonl")
    run = json.loads(journal.read_text().splitlines()[0])["run"]
    joules = [usage["readings"]["plug_joules"] for usage in run["usage"].values()]
    assert sorted(joules) == pytest.approx(sorted(phases))
    # The meter is read before training begins and after it ends.
    assert run["usage"]["train"]["readings"]["plug_joules"] > 36 * sum(run["training"]["step_seconds"])


def test_a_samplers_figure_is_in_the_document_and_in_junit(metered):
    suite = metered(1)
    assert suite.run("--dlbench-runs=1", "--dlbench-json=all.json", "--junitxml=all.xml").ret == 0
    document = json.loads((suite.path / "all.json").read_text())
    assert "plug_energy" in json.dumps(document)
    assert 'name="dlbench_plug_energy"' in (suite.path / "all.xml").read_text()


def test_a_metric_with_a_tolerance_is_judged(metered):
    metered(1).save("--dlbench-tolerance=step_time:400%")
    tolerances = ("--dlbench-tolerance=step_time:400%", "--dlbench-tolerance=plug_energy:200%")
    result = metered(20).run("--dlbench-compare", *tolerances)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["suspect: training-numpy-softmax-digits-cpu-smoke", "*plug_energy *suspect *200%"])


def test_a_metric_name_that_is_taken_is_a_usage_error(metered):
    suite = metered(1)
    suite.conftest = suite.conftest.replace('name="plug_energy"', 'name="accuracy"')
    result = suite.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*there is a metric 'accuracy' already*"])


def test_a_metric_of_a_hook_is_exported_later_without_the_hook(metered):
    suite = metered(1)
    suite.run("--dlbench-runs=1", "--dlbench-json=session.json")
    (suite.path / "conftest.py").unlink()
    result = suite.pytester.run("dlbench", "export", "csv", "session.json")
    heading, row = result.outlines
    assert float(row.rpartition(",")[2]) > 0
    assert heading.endswith(",plug_energy")
