"""Each example as a repository of its own: by its README's commands its test passes, and what is planted is found.

    pytest -c examples/pytest.ini --rootdir . examples/test_examples.py

EXAMPLES_FULL=1 adds commits that change nothing, cost 5 % more time, more memory, or accuracy.

The examples run with the pytest-dlbench that is installed for this Python. One that the plan of .ci/stamps.py skips is
skipped. Several may run at once, with pytest-xdist, unless 5 % are to be found.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).parent
# Commits are this script's own, whatever the user's settings are.
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "planted@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
# Neighbours on a machine of CI disturb a run; what is planted in a quick check is large enough to be seen through them.
# Usually three pairs find it, and three confirm it. Where pairs are back to back and lie far apart, the gate waits for
# eight.
QUICK = ("--dlbench-max-runs=8", "--dlbench-allow=invalid", "--dlbench-tolerance=step_time:40%")
THOROUGH = ("--dlbench-allow=invalid",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Where changes are planted in an example.

    ``place`` is a file and a line of it that runs ``calls`` times in each step. ``worse`` is a file, a text and what
    replaces it so that less is learned. ``step`` is the metric that a planted delay is a share of. A comparison ends
    with the first confirmed regression, so that a slower step may be found by the other figure of a step's time.
    ``growth`` is the share of the peak memory that all steps together keep.
    """

    place: tuple[str, str]
    worse: tuple[str, str, str]
    calls: int = 1
    step: str = "step_time"
    growth: float = 0.2


STEP_TIMES = frozenset({"step_time", "step_time_median"})
PREPARED = ("programs/inputs.py", "    return images / 8 - 1\n")
EXAMPLES: Mapping[str, Example] = {
    "pytorch": Example(place=PREPARED, worse=("programs/digits.py", 'run.parameters["rate"]', "1e-4")),
    "lightning": Example(place=PREPARED, worse=("programs/digits.py", "lr=self.rate", "lr=self.rate / 100")),
    "transformers": Example(
        place=("programs/letters.py", "    scores = outputs.logits[:, :-1].flatten(0, 1)\n"),
        worse=("programs/letters.py", 'run.parameters["rate"]', "1e-5"),
    ),
    "keras": Example(
        place=("programs/digits.py", '        loss = float(logs["loss"])\n'),
        worse=("programs/digits.py", 'run.parameters["rate"]', "1e-3"),
    ),
    "flax": Example(place=PREPARED, worse=("programs/digits.py", 'run.parameters["rate"]', "1e-3")),
    "scikit-learn": Example(place=PREPARED, worse=("programs/digits.py", 'run.parameters["rate"]', "1e-4")),
    # Some batches are prepared while the loop is delayed: a quantile of the shortest steps has these.
    "data-loading": Example(
        place=PREPARED,
        worse=("programs/digits.py", 'run.parameters["rate"]', "1e-4"),
        calls=32,
        step="step_time_median",
    ),
    # What it keeps first fits into what its training has freed.
    "inference-server": Example(place=PREPARED, worse=("programs/server.py", "epochs=15", "epochs=1"), growth=0.6),
}
# They take longest.
SLOW = frozenset({"lightning", "data-loading", "transformers", "keras"})


class Compared(NamedTuple):
    """pytest's exit status of a comparison, what it found of the case, and what it printed."""

    status: int
    case: Mapping[str, Any]
    output: str


class Repository:
    """An example with a history of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.example, self.folder = EXAMPLES[name], folder
        # Not what sessions in the checkout left there.
        shutil.copytree(HERE / name, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / ".gitignore").write_text(".dlbench/\n__pycache__/\nsession.json\n")
        self.commit("Add the example")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, env={**os.environ, **GIT}, check=True)

    def commit(self, subject: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace the only occurrence of a text in a file."""
        file = self.folder / name
        text = file.read_text()
        assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
        file.write_text(text.replace(old, new))

    def branch_off(self) -> None:
        """What is committed from here on is compared with what was before."""
        self.git("switch", "--quiet", "--create", "change")

    def plant(self, statement: str, more: str = "") -> None:
        """Insert a statement where each step passes, and append to that file."""
        name, line = self.example.place
        indent = re.match(" *", line)[0]
        self.replace(name, line, f"{indent}{statement}\n{line}")
        with (self.folder / name).open("a") as file:
            file.write(more)

    def edit_test(self, pattern: str, new: str) -> None:
        """Commit the example's test with a change."""
        (file,) = self.folder.glob("tests/test_*.py")
        text, count = re.subn(pattern, new, file.read_text())
        assert count == 1, f"{file.name} has {pattern} {count} times"
        file.write_text(text)
        self.commit("Change the test")

    def ask_for_nothing(self) -> None:
        """Commit a test without the accuracy that it requires."""
        self.edit_test(r"\n    result\.require\(.*\)", "")

    def slow_down(self, share: float, measured: Mapping[str, Any]) -> None:
        """Commit arithmetic that takes this share of a step more."""
        amount = round(share * figure(measured, self.example.step) / self.example.calls / seconds_per_addend())
        self.plant(f"sum(range({amount}))")
        self.commit(f"Add up {amount} numbers in each step")

    def compare(self, *options: str) -> Compared:
        """The branch and main in pairs."""
        _, compared = self.commands()
        return self.run(compared, *options)

    def compare_quickly(self) -> Compared:
        """The same, for large changes."""
        return self.compare(*QUICK, f"--dlbench-tolerance={self.example.step}:40%")

    def alone(self) -> Mapping[str, Any]:
        """The case of one run of the example's own test, which must pass."""
        measured, _ = self.commands()
        status, case, output = self.run(measured, "--dlbench-runs=1", "--dlbench-allow=invalid")
        print(output)
        assert status == 0
        return case

    def commands(self) -> tuple[str, str]:
        """What the example's README says: how it is measured, and how a branch is compared with main."""
        text = (self.folder / "README.md").read_text()
        measured, compared = re.findall(r"(?m)^pytest ([^#\n]*)", text)
        return measured, compared

    def run(self, arguments: str, *options: str) -> Compared:
        command = [sys.executable, "-m", "pytest", *arguments.split(), "--dlbench-json=session.json", *options]
        # This may itself be a test of the main suite, whose pytest has options of its own.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        # With the same locks, sessions wait for each other.
        own = {**inherited, "DLBENCH_LOCKS": str(self.folder.parent / "locks")}
        done = subprocess.run(command, cwd=self.folder, env=own, capture_output=True, text=True, check=False)
        (case,) = json.loads((self.folder / "session.json").read_text())["cases"] if done.returncode < 2 else ({},)
        return Compared(done.returncode, case, done.stdout + done.stderr)


def figure(case: Mapping[str, Any], metric: str) -> float:
    """What the runs of the baseline have, or in a session without pairs those of the case, in seconds or bytes."""
    record = case["old"] or case["record"]
    if metric == "peak_rss":
        return median(max(phase["rss_peak_bytes"] for phase in run["usage"].values()) for run in record["runs"])
    steps = [run["training"]["step_seconds"] for run in record["runs"]]
    if metric == "step_time_median":
        return median(median(times) for times in steps)
    # What the gate judges: on a busy machine the median step mostly waits for a processor.
    return median(quantiles(times, n=10)[0] for times in steps)


def seconds_per_addend() -> float:
    """How long Python takes to add up one more number, on this processor now."""
    times = []
    for _ in range(20):
        began = perf_counter()
        sum(range(200_000))
        times.append(perf_counter() - began)
    return min(times) / 200_000


def regressed(case: Mapping[str, Any]) -> set[str]:
    """The metrics that decided for a regression."""
    return {one["metric"] for one in case["result"]["verdicts"] if one["outcome"] == "regressed"}


def skipped_by_stamps() -> Mapping[str, Mapping[str, str]]:
    """What the plan of CI skips, by example."""
    plan = os.environ.get("DLBENCH_CI_PLAN")
    return json.loads(Path(plan).read_text())["skipped"].get("examples", {}) if plan else {}


@pytest.fixture(scope="session", autouse=True)
def own_core() -> None:
    """With pytest-xdist, each process has a core of its own: sessions with one thread would all choose the same one."""
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


# The slow ones first, so that two processes of pytest-xdist end together.
@pytest.fixture(params=sorted(EXAMPLES, key=lambda name: name not in SLOW))
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    if stamp := skipped_by_stamps().get(request.param):
        pytest.skip(stamp["reason"])
    return Repository(request.param, tmp_path / request.param)


def test_its_own_test_passes_and_a_slow_commit_is_found(repository: Repository) -> None:
    measured = repository.alone()
    # Most of what a run takes is what it imports; it need not learn again.
    repository.ask_for_nothing()
    repository.edit_test(r"steps=\d+", "steps=60")
    repository.branch_off()
    repository.slow_down(2.0, measured)
    status, case, output = repository.compare_quickly()
    print(output)
    assert status == 1
    assert regressed(case) & STEP_TIMES


def unchanged(repository: Repository) -> Compared:
    """A commit that changes nothing."""
    repository.branch_off()
    with (repository.folder / "README.md").open("a") as file:
        file.write("\nNothing else changed.\n")
    repository.commit("Say that nothing changed")
    return repository.compare_quickly()


def slower(repository: Repository) -> Compared:
    """A commit with 5 % more time in each step."""
    measured = repository.alone()
    repository.branch_off()
    repository.slow_down(0.05, measured)
    return repository.compare(*THOROUGH)


def grows(repository: Repository) -> Compared:
    """A commit whose memory grows with each step."""
    measured = repository.alone()
    calls = repository.example.calls * len(measured["record"]["runs"][0]["training"]["step_seconds"])
    amount = round(repository.example.growth * figure(measured, "peak_rss") / calls)
    repository.branch_off()
    repository.plant(f'kept.append(b"x" * {amount})', "\n\nkept = []\n")
    repository.commit(f"Keep {amount} bytes of each step")
    return repository.compare_quickly()


def learns_less(repository: Repository) -> Compared:
    """A commit with a lower accuracy."""
    file, old, new = repository.example.worse
    # The test of the example asks for an accuracy, too; here the comparison must find it.
    repository.ask_for_nothing()
    repository.branch_off()
    repository.replace(file, old, new)
    repository.commit("Learn less")
    return repository.compare_quickly()


# What each commit does, and the metrics of which one must have regressed: none where the case must pass.
COMMITS: Mapping[str, tuple[Callable[[Repository], Compared], frozenset[str]]] = {
    "changes nothing": (unchanged, frozenset()),
    "+5 % in each step": (slower, STEP_TIMES),
    "memory that grows": (grows, frozenset({"peak_rss", "leak"})),
    "learns less": (learns_less, frozenset({"accuracy"})),
}


def is_right(found: Compared, expected: frozenset[str]) -> bool:
    """Whether a comparison ended as its commit requires."""
    if not expected:
        return found.status == 0 and not regressed(found.case)
    return found.status == 1 and bool(regressed(found.case) & expected)


@pytest.mark.skipif(os.environ.get("EXAMPLES_FULL") != "1", reason="only with EXAMPLES_FULL=1")
@pytest.mark.parametrize("commit", COMMITS)
def test_a_commit_is_judged_by_what_it_does(repository: Repository, commit: str) -> None:
    compare, expected = COMMITS[commit]
    found = compare(repository)
    print(found.output)
    assert is_right(found, expected), found.case
