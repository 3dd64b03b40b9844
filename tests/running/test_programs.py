"""One run of a program in a real worker process: what is recorded of it, and every way in which it can be wrong."""

import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.judging.readings import throughput
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.records import Case, Program, Run, RunOutcome
from pytest_dlbench.records.problems import NotFinite
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import alternating
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import ProgramSpec
from pytest_dlbench.running.training import train_once

STEPS = 24
LINE = """
import numpy as np
from helper import gradient

def build(run):
    values = np.random.default_rng(run.seed).normal(size=(32, 4))
    weights = np.zeros(4)

    def step(number):
        error = values @ weights - values.sum(1)
        weights[:] -= run.parameters["rate"] * gradient(values, error)
        return (error ** 2).mean()

    def evaluate():
        run.report(largest=weights.max())
        return {"accuracy": 0.75, "loss": ((values @ weights - values.sum(1)) ** 2).mean()}

    return {"step": step, "evaluate": evaluate, "samples_per_step": 32, "flops_per_step": 512}
"""
HELPER = "def gradient(values, error):\n    return values.T @ error / len(values)\n"
LOOP = """
def main(run):
    loss = 8.0
    for batch in run.steps([3, 4, 5]):
        loss *= 0.9
        run.report(loss=loss)
    run.report(accuracy=0.5, tokens=99)
"""


def not_finite(value: str, step: int) -> NotFinite:
    return NotFinite(figure="loss", value=value, step=step, steps=STEPS)


@pytest.fixture
def run(tmp_path):
    """Write a program and run it once."""

    def run(text: str, *, function: str = "build", **changes) -> Run:
        return train_once(spec(tmp_path, text, function, **changes), 0, changes.get("hooks", RunHooks()))

    return run


def spec(folder: Path, text: str, function: str = "build", **changes) -> ProgramSpec:
    root = folder / "repository"
    (root / "programs").mkdir(parents=True, exist_ok=True)
    (root / "programs" / "ours.py").write_text(dedent(text))
    (root / "programs" / "helper.py").write_text(HELPER)
    place = Place(python=Path(sys.executable), environment=CURRENT, caches=folder / "caches")
    case = Case(
        id="program-ours", framework=CURRENT, model="ours", dataset="", device="cpu", scale="", threads=1, settings={}
    )
    program = Program(source="programs/ours.py", function=function, parameters={"rate": 0.1})
    usual = {
        "case": case,
        "framework": Framework(name=CURRENT),
        "place": place,
        "program": program,
        "root": root,
        "steps": STEPS,
        "seed": 1,
        "timeout_seconds": 60.0,
    }
    return ProgramSpec(**{**usual, **{name: value for name, value in changes.items() if name != "hooks"}})


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Run:
    return train_once(spec(tmp_path_factory.mktemp("line"), LINE), 0)


class TestBuild:
    def test_has_every_step_apart_from_import_and_build(self, finished):
        assert (finished.outcome, finished.message) == (RunOutcome.FINISHED, "")
        assert len(finished.training.step_seconds) == len(finished.training.losses) == STEPS
        assert finished.import_seconds > 0
        assert finished.build_seconds > 0
        assert list(finished.usage) == ["hello", "build", "train", "evaluate", "close"]

    def test_learns(self, finished):
        assert finished.training.losses[-1] < finished.training.losses[0] / 2

    def test_counts_the_samples_that_it_says(self, finished):
        assert (finished.training.batch_size, finished.training.examples) == (32, 32 * STEPS)

    def test_has_what_its_evaluation_and_run_report_reported(self, finished):
        assert finished.reported.values.keys() == {"accuracy", "loss", "largest"}
        assert finished.reported.values["accuracy"] == 0.75
        assert (finished.reported.flops_per_step, finished.evaluation) == (512, None)

    def test_names_its_own_files_and_what_it_imported_as_versions(self, finished):
        files = {name for name in finished.versions if name.startswith("file ")}
        assert files == {"file programs/ours.py", "file programs/helper.py"}
        assert {"python", "numpy", "environment"} <= finished.versions.keys()

    def test_steps_alternate_with_those_of_another_run(self, tmp_path):
        one = spec(tmp_path, LINE, alternates=True)
        runs = alternating.train_pair(one, replace(one, case=replace(one.case, id="other")), 0, Random(1))
        assert [run.outcome for run in runs] == [RunOutcome.FINISHED] * 2
        assert runs[0].training.losses == runs[1].training.losses
        assert all(len(run.training.alternation.cpu_seconds) > STEPS / 2 for run in runs)
        # Where the kernel says how long they waited for a processor.
        assert all(bool(run.training.alternation.computing) == Path("/proc/self/schedstat").exists() for run in runs)

    def test_a_planted_slowdown_lengthens_its_steps(self, run):
        slow = "import time\ndef build(run):\n    return {'step': lambda number: time.sleep(0.002) or number + 1.0}\n"
        before, after = run(slow), run(slow, slowdown=1.0)
        assert sum(after.training.step_seconds) > 1.6 * sum(before.training.step_seconds)

    def test_may_return_no_evaluation(self, run):
        found = run("def build(run):\n    return {'step': lambda number: number + 1.0}\n")
        assert found.outcome is RunOutcome.FINISHED
        assert (found.reported.values, found.reported.evaluation_seconds) == ({}, None)

    def test_knows_its_run(self, run):
        found = run(
            """
            import os
            def build(run):
                assert (run.device, run.threads, run.seed, run.total_steps) == ("cpu", 1, 1, 24)
                assert os.listdir(run.folder) == []
                run.wait()
                return {"step": lambda number: number + 1.0}
            """
        )
        assert found.message == ""

    def test_gets_the_data_set_that_its_test_asked_for(self, run, tmp_path):
        found = run(
            """
            def build(run):
                data = run.data("digits")
                run.report(examples=len(data["train_labels"]))
                return {"step": lambda number: number + 1.0}
            """,
            data={"digits": prepare(DATASETS["digits"], tmp_path)},
        )
        assert found.reported.values == {"examples": DATASETS["digits"].train_examples}

    def test_may_be_a_module(self, run):
        program = Program(source="programs.ours", function="main")
        assert run(LOOP, program=program).outcome is RunOutcome.FINISHED


class TestMain:
    def test_marks_its_own_steps_and_reports(self, run):
        found = run(LOOP, function="main")
        assert found.outcome is RunOutcome.FINISHED
        assert len(found.training.step_seconds) == len(found.training.input_seconds) == STEPS
        assert found.training.losses[:2] == pytest.approx((7.2, 6.48))
        assert found.reported.values == {"accuracy": 0.5, "tokens": 99}

    def test_says_how_many_samples_its_steps_have(self, run):
        said = run(LOOP.replace("tokens=99", "tokens=99, samples_per_step=32"), function="main")
        assert (said.training.batch_size, said.training.examples) == (32, 32 * STEPS)
        assert throughput(said) == pytest.approx(32 * (STEPS - 1) / sum(said.training.step_seconds[1:]))
        # It is no figure of the training.
        assert said.reported.values == {"accuracy": 0.5, "tokens": 99}

    def test_has_one_sample_in_a_step_unless_it_says_more(self, run):
        assert run(LOOP, function="main").training.batch_size == 1

    def test_builds_until_its_first_step(self, run):
        slow = "import time\ndef main(run):\n    time.sleep(0.1)\n    for _ in run.steps(): pass\n"
        assert run(slow, function="main").build_seconds > 0.1

    def test_diverges_by_a_loss_that_is_not_finite(self, run):
        nan = "def main(run):\n  for number in run.steps():\n    run.report(loss=float('inf') if number == 4 else 1)"
        found = run(nan, function="main")
        assert (found.outcome, found.problem) == (RunOutcome.DIVERGED, not_finite("inf", 5))


STEP = "def build(run):\n    def step(number):\n        %s\n    return {'step': step}\n"
WRONG = {
    "defines neither build nor main": ("x = 1", ""),
    "SyntaxError": ("def build(run:\n", "build"),
    "ModuleNotFoundError: No module named 'not_there'\n  programs/ours.py:1 in <module>": ("import not_there", "build"),
    "build(run) returned nothing; expected a dictionary with 'step'": ("def build(run): pass", "build"),
    "a dictionary with the unknown key 'stop'": ("def build(run): return {'step': len, 'stop': 1}", "build"),
    "'samples_per_step' of build(run) is 0": ("def build(run): return {'step': len, 'samples_per_step': 0}", "build"),
    "step(0) returned nothing; expected the loss": (STEP % "pass", "build"),
    "step(17): ValueError: bad batch\n  programs/ours.py:4 in step\n    if number == 17: raise": (
        "\n" + STEP % "if number == 17: raise ValueError('bad batch')\n        return number + 1.0",
        "build",
    ),
    "evaluate() returned a str; expected a dictionary": (
        "def build(run): return {'step': lambda n: n + 1.0, 'evaluate': lambda: 'good'}",
        "build",
    ),
    "evaluate(): accuracy is 'good'; expected a number": (
        "def build(run): return {'step': lambda n: n + 1.0, 'evaluate': lambda: {'accuracy': 'good'}}",
        "build",
    ),
    "the accuracy is 93.0; expected a share from 0 to 1": (
        "def build(run): return {'step': lambda n: n + 1.0, 'evaluate': lambda: {'accuracy': 93}}",
        "build",
    ),
    "main(run) reported samples_per_step=0.5; expected a whole number of at least 1": (
        "def main(run):\n    for _ in run.steps(): pass\n    run.report(samples_per_step=0.5)",
        "main",
    ),
    "main(run) ended without a step; mark them": ("def main(run): pass", "main"),
    "the batches of run.steps ended after 5 of 24 steps": (
        "def main(run):\n    for batch in run.steps(iter(range(5))): pass",
        "main",
    ),
    "main(run) ended after 3 of 24 steps": (
        "def main(run):\n    for number in run.steps():\n        if number == 3: break",
        "main",
    ),
    "asks for the parameter 'batch', which the test does not give (rate)": (
        STEP % "return run.parameters['batch']",
        "build",
    ),
    "run.data('digits'): the test has not asked for it": ("def build(run): run.data('digits')", "build"),
    "it called sys.exit(3), which would end the worker": (STEP % "raise SystemExit(3)", "build"),
    "a process that the program forked returned into the worker": (
        "import os\n" + STEP % "if number == 3:\n            os.fork() and os.wait()\n        return 1.0 + number",
        "build",
    ),
    "run.callback('fastai'): expected one of": ("def main(run): run.callback('fastai')", "main"),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_program_fails_and_is_told_so(run, said):
    text, function = WRONG[said]
    found = run(text, function=function)
    assert found.outcome is RunOutcome.FAILED
    assert said in problems.of_run(found)
    # Frames of the worker are of no use to its author.
    assert "dlworker" not in problems.of_run(found)


def test_a_program_that_prints_is_not_disturbed(run):
    found = run(STEP % "print('{}\\n[]')\n        return number + 1.0")
    assert found.outcome is RunOutcome.FINISHED


def test_a_program_whose_memory_does_not_suffice_is_out_of_memory(run):
    found = run("import numpy as np\n" + STEP % "return np.ones((2**40, 2**10)).sum()")
    assert found.outcome is RunOutcome.OUT_OF_MEMORY
    assert "programs/ours.py:4 in step" in found.message


def test_a_loss_that_is_not_a_number_diverges(run):
    found = run(STEP % "return float('nan') if number == 5 else 1.0 + number")
    assert (found.outcome, found.problem) == (RunOutcome.DIVERGED, not_finite("nan", 6))


def test_steps_that_are_not_awaited_are_suspicious(run):
    found = run(
        """
        from dlworker import checking, training
        from dlworker.programs import operations

        # A clock that only steps and evaluations advance, however busy the machine is.
        clock = [operations.monotonic()]
        operations.monotonic = training.monotonic = lambda: clock[0]
        checking.monotonic = checking.process_time = operations.monotonic

        def build(run):
            queue = []

            def step(number):
                clock[0] += 1e-5
                queue.append(number)
                return 1.0 + number

            def evaluate():
                clock[0] += 1e-5 + 0.01 * len(queue)
                queue.clear()
                return {"accuracy": 0.5}

            return {"step": step, "evaluate": evaluate}
        """,
        hooks=RunHooks(is_suspicious=lambda check: bool(suspicion(check, "cpu"))),
    )
    assert suspicion(found.step_checks[-1], "cpu").unit == "steps"


class TestCounts:
    def test_of_a_step_are_unknown_without_a_library_that_reports_it(self, finished):
        assert finished.absent["operations"] == "of a program, only PyTorch and JAX report what a step does"
        assert ("instructions" in finished.counts) != ("instructions" in finished.absent)

    def test_of_a_loop_are_what_it_compiled(self, run):
        found = run(LOOP, function="main")
        assert found.counts == {}
        reason = "a loop of its own takes no steps that are not timed"
        assert (found.absent["operations"], found.absent["instructions"]) == (reason, reason)

    def test_are_in_no_step_of_the_measurement(self, run):
        steps = "seen = []\ndef build(run):\n  def step(number):\n    seen.append(number)\n    return len(seen) + 0.5\n"
        found = run(f"{steps}  return {{'step': step}}\n")
        assert found.training.losses == tuple(number + 1.5 for number in range(STEPS))
        assert "count" not in found.usage


def test_a_program_without_further_batches_is_not_checked(run):
    found = run(
        """
        def build(run):
            batches = iter(range(24))
            return {"step": lambda number: next(batches) + 1.0, "evaluate": lambda: {"accuracy": 0.5}}
        """,
        hooks=RunHooks(is_suspicious=lambda _: False),
    )
    assert found.outcome is RunOutcome.FINISHED
    assert found.absent["step check"].startswith("no more steps: step(0): StopIteration")
    assert found.absent["counts"].startswith("no more steps: step(0): StopIteration")


SPINS = """
from time import monotonic

def main(run):
    for number in run.steps():
        until = monotonic() + 0.004
        while monotonic() < until:
            pass
"""


def test_a_planted_slowdown_prolongs_the_steps_of_a_loop(tmp_path):
    slower = replace(spec(tmp_path, SPINS, "main"), slowdown=1.0)
    found = train_once(slower, 0)
    assert found.outcome == RunOutcome.FINISHED
    # As long again as the step itself took, which is 4 ms at least.
    assert min(found.training.step_seconds) >= 0.008
