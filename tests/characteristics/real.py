"""The gate on real trainings of this machine: PyTorch against itself, and against itself with steps 10 % slower.

    python -m tests.characteristics.real [--max-runs 6] [--budget 6m] [--slower-budget 3m]

Twelve cases against themselves (four networks at three batch sizes, scale smoke) must end without ``regressed``; of
three cases that are 10 % slower, some must be detected, and none be called equivalent or improved. The results on real
trainings in docs/explanation/error-rates.md are from this. It takes minutes and PyTorch, and is not one of the tests.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.storing.recorded import read

BENCH = Path(__file__).parents[2] / "bench" / "test_training.py"
# Other load on the machine is part of the measurement.
USUAL = ("-p", "tests.doubles.pytorch_twice", "--dlbench-scale=smoke", "--dlbench-allow=invalid")
SELF = ("--dlbench-ab=pytorch,pytorch-again", "--dlbench-set=batch_size=16,32,64")
SLOWER = ("--dlbench-ab=pytorch,pytorch-slower", "--dlbench-models=gatech-lenet,tartu-mnist-cnn,hkbu-fcn-r")
TIMES = ("step_time", "step_time_median")


def session(name: str, budget: str, *arguments: str) -> list[CaseResult]:
    """The outcomes of the cases of one session."""
    folder = Path(".dlbench") / "real" / name
    before = set(folder.glob("*.jsonl"))
    asked = (*USUAL, *arguments, f"--dlbench-budget={budget}", f"--dlbench-journals={folder}")
    subprocess.run([sys.executable, "-m", "pytest", str(BENCH), *asked], check=False)
    return [case.result for case in read(sorted(set(folder.glob("*.jsonl")) - before)).cases]


def complaints(same: list[CaseResult], slower: list[CaseResult]) -> list[str]:
    """The wrong verdicts."""
    wrong = [f"{case.case.id}: regressed against itself" for case in same if case.outcome is CaseOutcome.REGRESSED]
    wrong += [] if len(same) >= 12 else [f"only {len(same)} cases against themselves"]
    times = [verdict for case in slower for verdict in case.verdicts if verdict.metric in TIMES]
    wrong += [f"10 % slower: {verdict}" for verdict in times if verdict.outcome in ("equivalent", "improved")]
    found = [case for case in slower if case.outcome is CaseOutcome.REGRESSED]
    return wrong if found else [*wrong, "no case that is 10 % slower was detected"]


def main() -> int:
    """Run both sessions; 1 if a verdict was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-runs", default="6", help="pairs a case and pass, against itself")
    parser.add_argument("--budget", default="6m")
    parser.add_argument("--slower-budget", default="3m")
    asked = parser.parse_args()
    same = session("same", asked.budget, *SELF, f"--dlbench-max-runs={asked.max_runs}")
    slower = session("slower", asked.slower_budget, *SLOWER)
    wrong = complaints(same, slower)
    print("\n".join(wrong or ["as promised"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
