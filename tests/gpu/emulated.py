"""``python -m tests.gpu.emulated COMMAND…``: a command on a machine with two GPUs, which this one need not have.

NVIDIA's driver is the library of tests/doubles/nvml and a file in a /dev of the command's own. Nothing computes on
these GPUs: it shows what a session, a command or a test decides where some exist. Needs gcc, and the right to mount,
as root or in a namespace of users.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.doubles.nvml import A100, Nvml, library

GPUS = {**A100, "uuid": "GPU-a"}, {**A100, "uuid": "GPU-b", "bus": "00000000:08:00.0"}
# The newest that an environment for GPUs needs: all of them are considered.
DRIVER = {"driver": "580.65.06", "cuda": 13000}
# A file cannot be added to the system's own /dev without other processes seeing it.
WITH_DRIVER = """
set -e
own=$1; shift
mount -t tmpfs tmpfs "$own"
for path in /dev/*; do
    copy=$own/${path##*/}
    if [ -L "$path" ]; then cp -P "$path" "$copy"
    elif [ -d "$path" ]; then mkdir "$copy"; mount --rbind "$path" "$copy"
    else : >"$copy"; mount --bind "$path" "$copy"
    fi
done
: >"$own/nvidiactl"
mount --rbind "$own" /dev
exec "$@"
"""


def with_gpus(folder: Path, *command: str) -> list[str]:
    """The command where two GPUs exist; their driver is written to a folder."""
    own = folder / "dev"
    own.mkdir()
    library(folder)
    Nvml(folder).write(*GPUS, **DRIVER)
    users = () if os.geteuid() == 0 else ("--map-root-user",)
    return ["unshare", "--mount", *users, "sh", "-c", WITH_DRIVER, "sh", str(own), *command]


def main(command: list[str]) -> int:
    """Run the command and return its status."""
    with TemporaryDirectory() as folder:
        return subprocess.run(
            with_gpus(Path(folder), *command), env=Nvml(Path(folder)).variables, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
