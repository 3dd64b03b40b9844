"""What tests/gpu/check.sh would run, also on machines without a GPU."""

import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "check.sh"
ROOT = SCRIPT.parents[2]


def test_it_runs_the_tests_of_a_real_gpu():
    paths = re.findall(r"tests/\S+\.py", SCRIPT.read_text())
    # pytest collects a file that does not match its patterns only if the file itself is named, as here.
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for path in paths:
        assert path in collected


def test_a_machine_without_a_gpu_is_refused_before_anything_runs(tmp_path):
    nvidia_smi = tmp_path / "nvidia-smi"
    nvidia_smi.write_text("#!/bin/sh\nexit 9\n")
    nvidia_smi.chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    answer = subprocess.run(["bash", SCRIPT], env=path, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.endswith("nvidia-smi found no GPU: this script needs a machine with one\n")
