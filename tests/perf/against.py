"""This checkout against another revision, interleaved: the median ratios of wall and processor time, with intervals.

    python -m tests.perf.against main collection
    python -m tests.perf.against HEAD~20 main-job --rounds 5
    python -m tests.perf.against HEAD~1 alternating --rounds 20
    python -m tests.perf.against main main-job -- bench -m "training and cpu" --dlbench-scale quick

The revision is checked out in a temporary worktree. Both sides run in this environment, each with its own package and
plugin; a round has both, in alternating order, after one uncounted run of each. Below 1 this checkout, with its
uncommitted changes, is faster; processor time, of all processes of a side, varies less if others use the machine.
Arguments after -- are passed to pytest for the main job.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic

from tests.perf import collecting
from tests.perf.pairs import interleaved, median_ratio

ROOT = Path(__file__).parents[2]
THIS = "this checkout"
MAIN_JOB = (
    "bench/test_training.py",
    "--dlbench-frameworks=pytorch,jax",
    "--dlbench-models=lenet,mnist-cnn",
    "--dlbench-scale=smoke",
)


@contextmanager
def worktree(revision: str, root: Path = ROOT) -> Iterator[Path]:
    """A checkout of the revision, removed after the block."""
    with tempfile.TemporaryDirectory(prefix="against-") as name:
        folder = Path(name) / "checkout"
        git = ("git", "-C", str(root), "worktree")
        done = subprocess.run(
            [*git, "add", "--quiet", "--detach", str(folder), revision], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"cannot check out {revision!r}: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def pytest_of(checkout: Path) -> list[str]:
    """pytest with the plugin of that checkout, instead of the installed entry point."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    return [sys.executable, "-m", "pytest", "-p", "no:dlbench", "-p", project["entry-points"]["pytest11"]["dlbench"]]


def environment_of(checkout: Path) -> dict[str, str]:
    """The environment in which that checkout's package is imported."""
    return {**os.environ, "PYTHONPATH": str(checkout)}


def collection(checkout: Path, scratch: Path, _: Sequence[str]) -> float:
    """Seconds to collect 10,000 cases."""
    suite = scratch / "suite" if (scratch / "suite").exists() else collecting.write(scratch)[0]
    return collecting.seconds(pytest_of(checkout), suite, environment_of(checkout))


def main_job(checkout: Path, scratch: Path, arguments: Sequence[str]) -> float:
    """Seconds of a session, without stored baselines."""
    outputs = (f"--dlbench-baselines={scratch / 'baselines'}", f"--dlbench-journals={scratch / 'journals'}")
    command = [*pytest_of(checkout), *(arguments or MAIN_JOB), *outputs, "-p", "no:cacheprovider"]
    began = monotonic()
    done = subprocess.run(
        command, cwd=checkout, env=environment_of(checkout), capture_output=True, text=True, check=False
    )
    seconds = monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-4000:]}{done.stderr[-2000:]}")
    return seconds


def alternating(checkout: Path, scratch: Path, _: Sequence[str]) -> float:
    """Seconds between two steps of a pair: the median of bench_alternating.py, of one pair."""
    scratch.mkdir(exist_ok=True)
    command = (sys.executable, "-m", "tests.perf.bench_alternating", str(scratch))
    found = subprocess.run(
        command, cwd=checkout, env=environment_of(checkout), capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise SystemExit(f"{' '.join(command)}: {found.stderr[-4000:]}")
    return float(found.stdout)


def children_seconds() -> float:
    """Processor time of all child processes that have ended, and of their children."""
    times = os.times()
    return times.children_user + times.children_system


JOBS: Mapping[str, Callable[[Path, Path, Sequence[str]], float]] = {
    "collection": collection,
    "main-job": main_job,
    "alternating": alternating,
}


def main() -> None:
    """Run both sides alternately and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="anything that git can check out")
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="pairs [10]")
    # Not argparse's own handling, which accepts no option between positional arguments and these.
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    asked, arguments = parser.parse_args(words[:end]), words[end + 1 :]

    def run(side: str, checkout: Path, scratch: Path) -> dict[str, float]:
        before = children_seconds()
        wall = JOBS[asked.job](checkout, scratch / side.replace("/", "-"), arguments)
        found = {"wall": wall, "processor": children_seconds() - before}
        print(f"{side}: {found['wall']:.3g} s, {found['processor']:.2f} s on the processor", flush=True)
        return found

    with worktree(asked.revision) as other, tempfile.TemporaryDirectory() as folder:
        sides = {
            side: partial(run, side, checkout, Path(folder))
            for side, checkout in ((THIS, ROOT), (asked.revision, other))
        }
        interleaved(sides, 1)
        found = interleaved(sides, asked.rounds)
    for clock in ("wall", "processor"):
        of = {side: [one[clock] for one in runs] for side, runs in found.items()}
        medians = ", ".join(f"{side} {median(seconds):.3g} s" for side, seconds in of.items())
        ratio = median_ratio(of[THIS], of[asked.revision])
        print(f"{asked.job}, {clock} time, {THIS} / {asked.revision}: {ratio} (medians: {medians})")


if __name__ == "__main__":
    main()
