"""Leases hosts by SLURM: each lease is an allocation of a whole node, and srun carries the lines of its process.

salloc allocates: ``srun --exclusive`` by itself would bind the process to a single processor of its node. srun says
nothing for a minute once the daemon of its step is killed: the beats of the conversation notice it.
"""

import os
import shutil
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records.problems import MachineLost
from pytest_dlbench.running.hosts import lifeline
from pytest_dlbench.running.hosts.conversation import MODULE, ServerEndedError
from pytest_dlbench.running.hosts.host import MachineLostError
from pytest_dlbench.running.hosts.piped import Piped
from pytest_dlbench.running.waits import SOON_SECONDS, Patience, QueuedWait

# What a node says before its process does; its site may let srun print other lines first.
GRANTED = b"pytest-dlbench runs on "
ON_NODE = f'echo "{GRANTED.decode()}$SLURMD_NODENAME" && exec "$@"'
ONE_PROCESS = ("--nodes=1", "--ntasks=1", "--quiet")
# All processors and all memory, whatever the user's arguments are.
WHOLE_NODE = (*ONE_PROCESS, "--exclusive", "--mem=0")
# Workers choose their processors themselves.
AS_PIPE = (*ONE_PROCESS, "--cpu-bind=none", "--mpi=none", "--unbuffered")
EXCLUDE = ("--exclude=", "-x")


class SrunChannel:
    """The lines of the process that srun has started on a node."""

    def __init__(self, process: Piped, node: str, lines: Sequence[bytes]) -> None:
        self.node = self.name = node
        self._process, self._lines = process, deque(lines)

    def send(self, line: bytes) -> None:
        """Send without waiting: ``receive`` notices a lost host."""
        self._process.send(line)

    def receive(self, seconds: float) -> bytes | None:
        """The next line, None if there is none within that time."""
        if not self._lines:
            lines, ended = self._process.poll(seconds)
            if ended and not lines:
                raise ServerEndedError(ended)
            self._lines += lines
        return self._lines.popleft() if self._lines else None


class SrunEngine:
    """The nodes that SLURM allocates with these arguments, with one GPU if ``has_gpu``."""

    def __init__(self, arguments: Sequence[str] = (), *, has_gpu: bool = False) -> None:
        # Before the user's, which may name a kind: --gres=gpu:h100:1.
        self._arguments = (*(("--gres=gpu:1",) if has_gpu else ()), *arguments)

    @contextmanager
    def lease(self, patience: Patience, lost: frozenset[str]) -> Iterator[SrunChannel]:
        """A node of which an allocation has everything."""
        if missing := [program for program in ("salloc", "srun") if not shutil.which(program)]:
            raise DlbenchError(
                f"--dlbench-on srun: {missing[0]} is not installed: run pytest on a host that submits jobs to SLURM"
            )
        process = Piped([*_lifeline(), "salloc", *self._options(lost), "srun", *AS_PIPE, *_on_node()], _variables())
        try:
            yield _granted(process, patience, lost)
        finally:
            process.end()

    def _options(self, lost: frozenset[str]) -> tuple[str, ...]:
        # SLURM takes the last of several.
        given = [word[len(start) :] for word in self._arguments for start in EXCLUDE if word.startswith(start)]
        excluded = (f"--exclude={','.join((*given, *sorted(lost)))}",) if lost else ()
        return (*self._arguments, *excluded, *WHOLE_NODE)


def _granted(process: Piped, patience: Patience, lost: frozenset[str]) -> SrunChannel:
    """The channel to the node, once SLURM has given one."""
    waiting = QueuedWait("a node of SLURM", patience)
    while True:
        lines, ended = process.poll(SOON_SECONDS)
        for place, line in enumerate(lines):
            if line.startswith(GRANTED):
                return SrunChannel(process, line.removeprefix(GRANTED).decode().strip(), lines[place + 1 :])
        if ended and lost:
            raise MachineLostError(MachineLost(cause="none_left", engine="slurm", is_repetition=True, said=ended))
        if ended:
            raise DlbenchError(f"--dlbench-on srun: SLURM gives no node: {ended}; sinfo lists its nodes")
        waiting.check()


def _lifeline() -> tuple[str, ...]:
    # Isolated and without site-packages: it starts in 10 ms.
    return (sys.executable, "-I", "-S", str(Path(lifeline.__file__)))


def _on_node() -> tuple[str, ...]:
    return ("sh", "-c", ON_NODE, "sh", sys.executable, "-m", MODULE)


def _variables() -> Mapping[str, str]:
    """Those of this process, without those of a job that it runs in, which are not about the lease."""
    if not {"SLURM_JOB_ID", "SLURM_JOBID"} & os.environ.keys():
        return os.environ
    return {name: value for name, value in os.environ.items() if name == "SLURM_CONF" or not name.startswith("SLURM_")}
