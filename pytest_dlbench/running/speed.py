"""The machine's own speed, measured in a fresh process: the driver must not compute or load a numerical library."""

import os
import subprocess
import sys
from pathlib import Path

from pytest_dlbench.records import MachineSpeed
from pytest_dlbench.running.launch import THREAD_VARIABLES

PROGRAM = Path(__file__).with_name("speed_program.py")
LONGEST_SECONDS = 60.0


def machine_speed(threads: int, precision: str) -> MachineSpeed | None:
    """Peak arithmetic, memory copy and launch time with ``threads`` threads; None if NumPy cannot measure them."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    command = [sys.executable, "-s", str(PROGRAM), precision]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=True,
            timeout=LONGEST_SECONDS,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    flops, copied, launch = map(float, done.stdout.split())
    return MachineSpeed(
        threads=threads,
        precision=precision,
        flops_per_second=flops,
        copied_bytes_per_second=copied,
        launch_seconds=launch,
    )
