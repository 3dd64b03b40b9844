"""pytest-dlbench, asv and pytest-benchmark on the same commits, with the same time for each comparison.

    python -m tests.characteristics.tools --comparisons 20 >>tools.jsonl     # half an hour
    python -m tests.characteristics.tools --neighbours                       # a process that computes on each core
    python -m tests.characteristics.tools --summary tools.jsonl

The program is the loop of docs/tutorials/your-own-loop.md, whose steps take less than a millisecond and whose processes
start quickly. A comparison has each tool once with commits that change nothing, and once with commits of which the
second has 5 % more arithmetic in each step; who is first changes in turn. Each tool fails what is slower than half of
what is planted. asv makes its rounds of both commits in turn; pytest-benchmark measures one commit after the other and
compares by the smallest or by the median time. How long a tool takes for what it is asked is found in a rehearsal, so
that all end within the same time. Each result is a line of the output as soon as it is known, with the machine's load
then; --summary makes the table in docs/explanation/error-rates.md of such lines; tools.jsonl has those of the page.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import monotonic

import msgspec

from examples.test_examples import GIT, Example, Repository, regressed
from tests.characteristics.load import neighbours

FOLDER = Path(".dlbench") / "tools"
PAGE = Path("docs") / "tutorials" / "your-own-loop.md"
PROGRAM = "programs/loop.py"
PLANTED = 0.05
TOLERANCE = PLANTED / 2
STEPS, BATCH_SIZE = 600, 256
ROUNDS = 4
SHORTEST_SECONDS = 0.1

TEST = f"""
def test_loop(dlbench):
    dlbench.measure("{PROGRAM}", steps={STEPS}, batch_size={BATCH_SIZE})
"""
SETTINGS = """
[tool.pytest]
testpaths = ["tests"]
dlbench_threads = 1
"""
# What the other tools need in the repository: the program's step as a benchmark.
STEP = f"""
from types import SimpleNamespace

import loop


def made():
    return loop.build(SimpleNamespace(seed=0, parameters={{"batch_size": {BATCH_SIZE}}}))["step"]
"""
ASV = f"""
import os

from .step import made


class Steps:
    rounds = {ROUNDS}
    repeat = (2, 100_000, float(os.environ["SAMPLE_SECONDS"]))
    number = 1
    timeout = 600

    def setup(self):
        self.step = made()

    def time_step(self):
        self.step(0)
"""
PYTEST_BENCHMARK = """
from benchmarks.step import made


def test_step(benchmark):
    benchmark(made(), 0)
"""
FILES = {
    "tests/test_loop.py": TEST,
    "pyproject.toml": SETTINGS,
    "benchmarks/__init__.py": "",
    "benchmarks/step.py": STEP,
    "benchmarks/steps.py": ASV,
    "benchmarks/test_step.py": PYTEST_BENCHMARK,
    "README.md": "# A loop\n",
    ".gitignore": ".dlbench/\n__pycache__/\n*.json\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison of two commits by one tool.

    ``ratio`` is the change that it measured, None if it does not say. ``load`` is that of the machine over the last
    minute when the comparison began.
    """

    tool: str
    planted: float
    neighbours: int
    regressed: bool
    undecided: bool
    ratio: float | None
    seconds: float
    budget_seconds: float
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a tool says of two commits."""

    tool: str
    regressed: bool
    undecided: bool = False
    ratio: float | None = None


Tool = Callable[[float], Iterator[Found]]
"""Compares for a number of seconds."""


class Loop(Repository):
    """The tutorial's loop on the branch main, and on the branch change with what is planted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        line = "        inputs = random.normal(size=(size, 64))\n"
        self.example = Example(place=(PROGRAM, line), worse=(PROGRAM, "0.5 *", "0.005 *"))
        shutil.rmtree(folder, ignore_errors=True)
        program = PAGE.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
        for name, text in {**FILES, PROGRAM: program}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Add a loop and its benchmarks")

    def commands(self) -> tuple[str, str]:
        """As in the README of an example."""
        return "tests", "tests --dlbench-ab rev:main,rev:change"

    def change(self, planted: float) -> None:
        """Commit on the branch change."""
        # The output is for results.
        with redirect_stdout(sys.stderr):
            measured = self.alone() if planted else {}
        self.branch_off()
        if planted:
            self.slow_down(planted, measured)
        else:
            (self.folder / "README.md").write_text("# A loop that did not change\n", "utf-8")
            self.commit("Say that nothing changed")


def others_python() -> Path:
    """A Python with the other tools, and with the NumPy that measures here."""
    python = FOLDER.resolve() / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        needs = ("asv==0.6.6", "virtualenv==21.15.11", "pytest-benchmark==5.3.1", f"numpy=={version('numpy')}")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *needs], check=True)
    return python


class Contest:
    """A repository with two commits, and the tools that compare them."""

    def __init__(self, seconds: float, planted: float) -> None:
        self.folder = FOLDER.resolve() / f"planted-{planted:.0%}"
        self.seconds, self.planted, self.python = seconds, planted, others_python()
        self.repository = Loop(self.folder / "repository")
        (self.repository.folder / "asv.conf.json").write_text(json.dumps(self.asv_settings()), "utf-8")
        self.repository.change(planted)
        subprocess.run(
            [str(self.python), "-m", "asv", "machine", "--yes"],
            cwd=self.repository.folder,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        tools = (self.pairs, self.asv, self.pytest_benchmark)
        self.asked: dict[Tool, float] = {tool: self.seconds_to_ask_for(tool) for tool in tools}
        asked = ", ".join(f"{tool.__name__} {seconds:.2f} s" for tool, seconds in self.asked.items())
        print(f"asked to measure for, with {planted:.0%} planted: {asked}", file=sys.stderr)

    def asv_settings(self) -> Mapping[str, object]:
        """Its configuration: one environment, into which each commit's module is copied."""
        copy = 'import shutil, sysconfig; shutil.copy("{build_dir}/programs/loop.py", sysconfig.get_path("purelib"))'
        return {
            "version": 1,
            "project": "loop",
            "repo": ".",
            "branches": ["main"],
            "environment_type": "virtualenv",
            "pythons": [f"{sys.version_info[0]}.{sys.version_info[1]}"],
            "matrix": {"req": {"numpy": [version("numpy")]}},
            "build_command": [],
            "install_command": [f"python -c '{copy}'"],
            # The next commit's module replaces it; asv's own command takes seconds.
            "uninstall_command": ["python -c pass"],
            "benchmark_dir": "benchmarks",
            **{f"{what}_dir": str(self.folder / "asv" / what) for what in ("env", "results", "html")},
        }

    def seconds_to_ask_for(self, tool: Tool) -> float:
        """For how long a tool is asked to measure, so that a comparison takes the time.

        A tool measures for some multiple of what it is asked for, and takes some seconds besides.
        """
        short, long = SHORTEST_SECONDS, self.seconds / (2 * ROUNDS)
        list(tool(short))  # What it installs once is not counted.
        if tool == self.pairs:
            # The budget is of all that it measures. It may decide before that is spent.
            return self.seconds - max(0.0, self.seconds_of(tool, self.seconds) - self.seconds)
        shortest, longer = (self.seconds_of(tool, asked) for asked in (short, long))
        multiple = (longer - shortest) / (long - short)
        return max(short + (self.seconds - shortest) / multiple, SHORTEST_SECONDS)

    def seconds_of(self, tool: Tool, asked: float) -> float:
        """How long a comparison takes."""
        began = monotonic()
        list(tool(asked))
        return monotonic() - began

    def run(self, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """A command in the repository, on one thread."""
        own = {**os.environ, **GIT, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **variables}
        return subprocess.run(command, cwd=self.repository.folder, env=own, capture_output=True, text=True, check=False)

    def asv(self, seconds: float) -> Iterator[Found]:
        """Whether asv finds the change slower."""
        words = ("continuous", f"--factor={1 + TOLERANCE}", "--interleave-rounds", "main", "change")
        done = self.run(str(self.python), "-m", "asv", *words, SAMPLE_SECONDS=str(seconds))
        if done.returncode not in (0, 1) or "failed" in done.stdout or "CHANGED" not in done.stdout.upper():
            raise RuntimeError(done.stdout + done.stderr)
        yield Found(tool="asv continuous", regressed=done.returncode == 1)

    def pytest_benchmark(self, seconds: float) -> Iterator[Found]:
        """Whether pytest-benchmark finds the change slower, by statistic."""
        before, after = (self.benchmarked(branch, seconds) for branch in ("main", "change"))
        for by in ("min", "median"):
            ratio = after[by] / before[by]
            yield Found(tool=f"pytest-benchmark, {by}", regressed=ratio > 1 + TOLERANCE, ratio=ratio)

    def benchmarked(self, branch: str, seconds: float) -> Mapping[str, float]:
        """The statistics of a branch in seconds."""
        self.repository.git("switch", "--quiet", branch)
        name = self.folder / f"{branch}.json"
        options = (f"--benchmark-max-time={seconds}", "--benchmark-warmup=on", f"--benchmark-json={name}")
        words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=.", *options)
        path = f"{self.repository.folder / 'programs'}:."
        done = self.run(str(self.python), *words, "benchmarks/test_step.py", PYTHONPATH=path)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        stats: Mapping[str, float] = json.loads(name.read_text("utf-8"))["benchmarks"][0]["stats"]
        return stats

    def pairs(self, seconds: float) -> Iterator[Found]:
        """Whether pytest-dlbench finds the change slower, and whether it is undecided."""
        options = (f"--dlbench-budget={max(seconds, 1):.0f}s", f"--dlbench-tolerance=step_time:{100 * TOLERANCE}%")
        status, case, output = self.repository.compare(*options, "--dlbench-allow=invalid")
        if status > 1:
            raise RuntimeError(output)
        verdicts = [one for one in case["result"]["verdicts"] if one["decides"]]
        # An alarm about memory or accuracy is one, too. Runs are invalid where the machine is busy, and judged anyway.
        found = bool(regressed(case))
        undecided = not found and (not verdicts or any(one["outcome"] == "inconclusive" for one in verdicts))
        changes = (one["change"] for one in verdicts if one["metric"] == "step_time")
        yield Found(tool="pytest-dlbench", regressed=found, undecided=undecided, ratio=next(changes, None))

    def all(self, first: int, count: int) -> Iterator[Comparison]:
        """Each tool once, with ``count`` neighbours."""
        tools = list(self.asked)
        for tool in (*tools[first:], *tools[:first]):
            began, load = monotonic(), os.getloadavg()[0]
            with neighbours(count) if count else nullcontext():
                found = list(tool(self.asked[tool]))
            seconds = monotonic() - began
            for one in found:
                yield Comparison(
                    **asdict(one),
                    planted=self.planted,
                    neighbours=count,
                    seconds=seconds,
                    budget_seconds=self.seconds,
                    load=load,
                )


def summary(comparisons: list[Comparison]) -> Iterator[str]:
    """A line of the documentation's table for each tool and kind of commit."""
    kinds = sorted({(one.neighbours, one.planted, one.tool) for one in comparisons})
    for kind in kinds:
        count, planted, tool = kind
        alike = [one for one in comparisons if (one.neighbours, one.planted, one.tool) == kind]
        ratios = [one.ratio for one in alike if one.ratio is not None]
        cells = (
            *([str(count)] if any(one.neighbours for one in comparisons) else []),
            f"+{100 * planted:g} %" if planted else "unchanged",
            tool,
            f"{sum(one.regressed for one in alike)} of {len(alike)}",
            str(sum(one.undecided for one in alike)) if tool == "pytest-dlbench" else "–",
            f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else "–",
            f"{median(one.seconds for one in alike):.0f}",
            f"{min(one.load for one in alike):.1f} to {max(one.load for one in alike):.1f}",
        )
        yield f"| {' | '.join(cells)} |"


def read(paths: list[Path]) -> list[Comparison]:
    """The results in files."""
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=Comparison) for line in lines]


def main() -> int:
    """Run the comparisons, or summarise earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20, help="Of each tool, unchanged and planted.")
    parser.add_argument("--seconds", type=float, default=16, help="For each comparison of a tool.")
    parser.add_argument("--neighbours", action="store_true", help="A process that computes on each core.")
    parser.add_argument("--summary", type=Path, nargs="+", metavar="FILE", help="Files of such lines to summarise.")
    asked = parser.parse_args()
    if asked.summary:
        print("\n".join(summary(read(asked.summary))))
        return 0
    contests = [Contest(asked.seconds, planted) for planted in (0.0, PLANTED)]
    count = (os.cpu_count() or 1) if asked.neighbours else 0
    for number in range(asked.comparisons):
        for contest in contests:
            for one in contest.all(number % 3, count):
                print(msgspec.json.encode(one).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
