"""This checkout against another revision, in turn: the median ratio of seconds with its interval.

    python -m tests.perf.against main collection
    python -m tests.perf.against HEAD~20 main-job --rounds 5
    python -m tests.perf.against main main-job -- bench -m "training and cpu" --dlbench-scale quick

The revision is checked out in a temporary worktree. Both sides run in this environment, each with its own package and
its own plugin; a round has both, in alternating order, after one of each that does not count. Below 1 this checkout,
with its uncommitted changes, is the faster one. What is behind -- are pytest's arguments of the main job.
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
from tests.perf.pairs import in_turn, median_ratio

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
    """A checkout of the revision, which is gone after the block."""
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


JOBS: Mapping[str, Callable[[Path, Path, Sequence[str]], float]] = {"collection": collection, "main-job": main_job}


def main() -> None:
    """Run both in turn and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="anything that git can check out")
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="pairs [10]")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGUMENT", help="after --: the main job's [smoke]")
    asked = parser.parse_args()

    def run(side: str, checkout: Path, scratch: Path) -> float:
        seconds = JOBS[asked.job](checkout, scratch / side.replace("/", "-"), asked.arguments)
        print(f"{side}: {seconds:.2f} s", flush=True)
        return seconds

    with worktree(asked.revision) as other, tempfile.TemporaryDirectory() as folder:
        sides = {
            side: partial(run, side, checkout, Path(folder))
            for side, checkout in ((THIS, ROOT), (asked.revision, other))
        }
        in_turn(sides, 1)
        found = in_turn(sides, asked.rounds)
    for side, seconds in found.items():
        print(f"{asked.job}, {side}: {median(seconds):.2f} s (median)")
    print(f"{asked.job}, {THIS} / {asked.revision}: {median_ratio(found[THIS], found[asked.revision])}")


if __name__ == "__main__":
    main()
