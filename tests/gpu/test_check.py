"""What tests/gpu/check.sh would run, on machines without a card too."""

import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "check.sh"
ROOT = SCRIPT.parents[2]


def test_the_tests_of_a_real_card_are_among_what_it_runs():
    paths = re.findall(r"tests/\S+\.py", SCRIPT.read_text())
    # pytest leaves a file that is named no test out where its folder is named, too: it collects them as here.
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for path in paths:
        assert path in collected


def test_a_machine_without_a_card_is_told_before_anything_is_run(tmp_path):
    no_card = tmp_path / "nvidia-smi"
    no_card.write_text("#!/bin/sh\nexit 9\n")
    no_card.chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    answer = subprocess.run(["bash", SCRIPT], env=path, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.endswith("nvidia-smi finds no card: this script is for a machine with one\n")
